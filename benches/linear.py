"""CPU time against packets simulated, over three decades; `make bench-linear` calls it.

Runs case (b), PCN, with 200 to 200,000 flows, writes linear.json and draws docs/img/linear.png.
With `--draw` it draws what was measured before.
"""

import argparse
import json
import subprocess
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "target" / "release" / "unpause-bench"
RECORD = ROOT / "benches" / "linear.json"
FLOWS = [200, 600, 2_000, 6_000, 20_000, 60_000, 200_000]


def main():
    """Measures and draws."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draw", action="store_true", help="draw only")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the fastest counts")
    arguments = parser.parse_args()
    if not arguments.draw:
        rows = [measure(flows, arguments.repeat) for flows in FLOWS]
        RECORD.write_text(json.dumps(rows, indent=2) + "\n")
    draw(json.loads(RECORD.read_text()))


def measure(flows, repeat):
    """The fastest of several runs."""
    command = [BENCH, "once", "clos-pcn", "--flows", str(flows)]
    runs = [
        json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        for _ in range(repeat)
    ]
    best = min(runs, key=lambda run: run["user_s"])
    print(f"{flows:>7} flows {best['packet_hops']:>12,} packet-hops {best['user_s']:>9.3f} s")
    keys = ["packet_hops", "user_s", "peak_memory_mb"]
    return {"flows": flows} | {key: best[key] for key in keys}


def draw(rows):
    """Time, and time per packet-hop."""
    hops = [row["packet_hops"] for row in rows]
    seconds = [row["user_s"] for row in rows]
    nanoseconds = [1e9 * s / h for s, h in zip(seconds, hops, strict=True)]
    memory = [row["peak_memory_mb"] for row in rows]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    left.loglog(hops, seconds, "o-", label="measured")
    slope = [seconds[-1] * h / hops[-1] for h in hops]
    left.loglog(hops, slope, "--", color="grey", label="proportional")
    left.set(xlabel="packet-hops", ylabel="user CPU time, s")
    left.legend(frameon=False)
    right.semilogx(hops, nanoseconds, "o-", label="ns per packet-hop")
    right.semilogx(hops, memory, "s-", label="peak memory, MB")
    right.set(xlabel="packet-hops", ylim=(0, None))
    right.legend(frameon=False)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    path = ROOT / "docs" / "img" / "linear.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
