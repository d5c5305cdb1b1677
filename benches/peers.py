"""Runs the same fabric and flows in unpause and in ns-3, and prints both figures and their ratio.

`make bench-peers` calls it. ns-3 comes from Debian's packages; the program that runs in it is
peers/ns3/clos.cc. Both are run one after the other on one core.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from validation import build_ns3

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "target" / "peers"
BENCH = ROOT / "target" / "release" / "unpause-bench"

# What runs in unpause beside what runs in ns-3.
PAIRS = [
    ("500 Mb/s a flow", "clos-constant", "constant"),
    ("closed loop", "clos-dcqcn", "dctcp"),
]

CAVEATS = """\
The same in both: 512 hosts, 32 ToRs, 16 leaves, 8 spines, 10 and 40 Gb/s, 5 us a link; flows, their
sizes and starts; 1000 B of payload a packet; shortest paths with ECMP by flow (in ns-3 by a routing
protocol of ours, which is faster than its own); a packet-hop is a packet that starts on a link.

Not the same:
* 500 Mb/s a flow: UDP in ns-3, RoCEv2 with one acknowledgement a flow in unpause, which also keeps
  account of ingress buffers for PFC. No queue overflows in either.
* closed loop: TCP with DCTCP, RED queue discs that mark, and no PFC in ns-3; DCQCN with PFC in
  unpause. An acknowledgement a packet in both. Different algorithms, about the same work.
* ns-3's packets have real headers and can carry bytes; its devices, sockets and queue discs are
  general. unpause models only what a RoCE fabric has.
* ns-3's CPU seconds leave out what it takes to set the fabric up; unpause's have it in them."""


def main():
    """Checks, builds, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flows", type=int, default=5000)
    parser.add_argument("--json", type=Path, help="write what was measured to this file")
    arguments = parser.parse_args()
    build_ns3.provide()
    program = build_ns3.build(ROOT / "benches" / "peers" / "ns3" / "clos.cc", BUILD)
    files = {}
    for what in ("topology", "flows"):
        command = [BENCH, what, "clos-constant"]
        if what == "flows":
            command += ["--flows", str(arguments.flows)]
        files[what] = BUILD / f"{what}.txt"
        files[what].write_bytes(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    rows = []
    for work, case, mode in PAIRS:
        ours = run([BENCH, "once", case, "--flows", str(arguments.flows)])
        theirs = run([program, files["topology"], files["flows"], mode])
        rows.append({"work": work, "flows": arguments.flows, "unpause": ours, "ns3": theirs})
    print_table(rows)
    print("\n" + CAVEATS)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


def run(command):
    """What the program measured."""
    words = " ".join(Path(word).name for word in command)
    print(f"running {words} ...", file=sys.stderr)
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return json.loads(output)


def print_table(rows):
    """Both figures and their ratio."""
    print(
        f"{'work':<16} {'flows':>6} {'in':<8} {'M hops':>7} {'user s':>8} {'M hops/s':>9} "
        f"{'MB':>6} {'dropped':>8} {'done':>6} {'ratio':>6}"
    )
    for row in rows:
        speed = {
            name: row[name]["packet_hops"] / row[name]["user_s"] / 1e6
            for name in ("unpause", "ns3")
        }
        for name in ("unpause", "ns3"):
            m = row[name]
            ratio = f"{speed['unpause'] / speed['ns3']:.1f}" if name == "ns3" else ""
            print(
                f"{row['work']:<16} {row['flows']:>6} {name:<8} {m['packet_hops'] / 1e6:>7.2f} "
                f"{m['user_s']:>8.3f} {speed[name]:>9.3f} {m['peak_memory_mb']:>6.0f} "
                f"{m['dropped_packets']:>8} {m['flows_completed']:>6} {ratio:>6}"
            )


if __name__ == "__main__":
    main()
