"""What `unpause validate --cost` says against what a run takes; `make bench-cost` calls it.

Each scenario is estimated and then run in processes of their own. Measured are the peak resident
memory, the bytes of the result directory and the CPU time. Ratios are measured / estimated; a
factor of 1.5 either way is within bounds.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNPAUSE = os.environ.get("UNPAUSE", ROOT / "target" / "release" / "unpause")
BOUND = 1.5

FAT_TREE = """duration = "{duration}"
seed = {seed}
[topology]
builder = "fat-tree"
k = {k}
host_rate = "{rate}"
delay = "1us"
"""

LEAF_SPINE = """duration = "{duration}"
seed = {seed}
[topology]
builder = "leaf-spine"
leaves = {leaves}
spines = {spines}
hosts_per_leaf = {hosts}
host_rate = "{rate}"
fabric_rate = "{fabric_rate}"
delay = "1us"
"""

FLOWS = """
[[traffic]]
name = "flows"
kind = "poisson"
size = "{size}"
load = {load}
"""

WEB = """
[[traffic]]
name = "web"
kind = "poisson"
cdf = "{cdf}"
load = {load}
"""

INCAST = """
[[traffic]]
name = "incast"
kind = "incast"
senders = {senders}
size = "{size}"
interval = "{interval}"
"""

LONG = """
[[traffic]]
name = "long"
kind = "permutation"
size = "{size}"
"""


def scheme(name):
    """One scheme."""
    control = "" if name == "pfc" else f'congestion_control = "{name}"\n'
    return f'[[scheme]]\nname = "{name}"\n{control}'


def storms(duration):
    """A fat-tree of 16 hosts in which NICs send PAUSE, with the causes of all PAUSEs."""
    return (
        FAT_TREE.format(duration=duration, seed=1, k=4, rate="100Gbps")
        + scheme("pfc")
        + WEB.format(cdf="websearch", load=0.7)
        + INCAST.format(senders=8, size="200KB", interval="200us")
        + '[slow_receiver]\nhosts = ["H1", "H6", "H11"]\ndrain_rate = "0Gbps"\n'
        + 'start = "1ms"\nstop = "3ms"\n'
        + '[probes]\ninterval = "100us"\ncauses = true\n'
    )


def packets(duration):
    """All packets at every port of a leaf-spine fabric."""
    return (
        LEAF_SPINE.format(
            duration=duration,
            seed=1,
            leaves=2,
            spines=2,
            hosts=4,
            rate="100Gbps",
            fabric_rate="100Gbps",
        )
        + scheme("dcqcn")
        + WEB.format(cdf="websearch", load=0.5)
        + '[probes]\ninterval = "100us"\npackets = ["*->*"]\n'
    )


def many(flows):
    """So many flows of 2 KB on average among 128 hosts at 100 Gb/s."""
    seconds = flows * 2_000 * 8 / (0.3 * 128 * 100e9)
    return (
        LEAF_SPINE.format(
            duration=f"{seconds * 1e6:.0f}us",
            seed=1,
            leaves=8,
            spines=4,
            hosts=16,
            rate="100Gbps",
            fabric_rate="400Gbps",
        )
        + scheme("dcqcn")
        + FLOWS.format(size="2KB", load=0.3)
    )


def trace(duration):
    """HPCC's trace of every node."""
    nodes = [f"H{host}" for host in range(16)] + ["leaf0", "leaf1", "spine0", "spine1"]
    return (
        LEAF_SPINE.format(
            duration=duration,
            seed=1,
            leaves=2,
            spines=2,
            hosts=8,
            rate="25Gbps",
            fabric_rate="100Gbps",
        )
        + scheme("hpcc")
        + WEB.format(cdf="websearch", load=0.5)
        + f"[hpcc]\nfct = true\npfc = true\ntrace = {json.dumps(nodes)}\n"
    )


def drawn(seed):
    """A random scenario of a realistic size."""
    dice = random.Random(seed)
    rate = dice.choice(["25Gbps", "100Gbps", "400Gbps"])
    gbps = int(rate[:-4])
    k, leaves, spines, hosts = dice.choice(
        [(4, 2, 2, 8), (4, 4, 2, 8), (8, 8, 4, 16), (8, 4, 4, 8)]
    )
    count = k**3 // 4
    is_tree = dice.random() < 0.4
    nodes = count if is_tree else leaves * hosts
    # So long that some millions of packet-hops come of it.
    hops = 10 ** dice.uniform(5.5, 7.3)
    load = dice.choice([0.2, 0.4, 0.6, 0.8])
    duration = f"{max(100, hops / (nodes * load * gbps)):.0f}us"
    text = (
        FAT_TREE.format(duration=duration, seed=seed, k=k, rate=rate)
        if is_tree
        else LEAF_SPINE.format(
            duration=duration,
            seed=seed,
            leaves=leaves,
            spines=spines,
            hosts=hosts,
            rate=rate,
            fabric_rate=dice.choice([rate, "400Gbps"]),
        )
    )
    for name in dice.sample(
        ["pfc", "dcqcn", "pcn", "hpcc", "timely", "dctcp", "qcn"], dice.choice([1, 1, 2])
    ):
        text += scheme(name)
    kinds = dice.sample(["web", "incast", "long", "small"], dice.choice([1, 2]))
    if "web" in kinds:
        text += WEB.format(cdf=dice.choice(["websearch", "fb_hadoop"]), load=load)
    if "incast" in kinds:
        text += INCAST.format(
            senders=dice.choice([4, 8, 15]),
            size=dice.choice(["20KB", "200KB"]),
            interval=dice.choice(["100us", "300us"]),
        )
    if "long" in kinds:
        text += LONG.format(size=dice.choice(["2MB", "50MB"]))
    if "small" in kinds:
        text += FLOWS.format(size=dice.choice(["4KB", "20KB"]), load=load)
    if dice.random() < 0.25:
        start, stop = (int(duration[:-2]) * fifths // 5 for fifths in [1, 3])
        text += '[slow_receiver]\nhosts = "H1"\ndrain_rate = "0Gbps"\n'
        text += f'start = "{start}us"\nstop = "{stop}us"\n'
    text += '[probes]\ninterval = "10us"\n'
    if dice.random() < 0.4:
        text += "causes = true\n"
    if dice.random() < 0.3:
        text += f"packets = {json.dumps(dice.choice([['*->*'], ['H0->*', '*->H0']]))}\n"
    if dice.random() < 0.3:
        text += 'ports = ["*->*"]\n'
    return text


def shipped():
    """Scenarios of the repository."""
    names = [
        "scenarios/incast.toml",
        "scenarios/nic-storm.toml",
        "scenarios/clos-websearch.toml",
        "scenarios/dctcp.toml",
        "scenarios/hpcc/replay.toml",
        "papers/pcn/scenarios/f2.toml",
        "papers/pcn/scenarios/f14-w1.toml",
        "papers/ecn-sharp/scenarios/t2.toml",
    ]
    return {name: ROOT / name for name in names}


def made():
    """Scenarios of this bench."""
    return {
        "storms 4 ms": storms("4ms"),
        "storms 8 ms": storms("8ms"),
        "storms 16 ms": storms("16ms"),
        "packets 1 ms": packets("1ms"),
        "packets 5 ms": packets("5ms"),
        "flows 10^4": many(10_000),
        "flows 10^5": many(100_000),
        "flows 10^6": many(1_000_000),
        "trace 2 ms": trace("2ms"),
        "trace 10 ms": trace("10ms"),
    }


def of_child(command):
    """Peak memory in bytes and CPU seconds of a command, and what it printed."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        printed = out.read().decode()
    if child.returncode:
        raise RuntimeError(f"{command}: {child.returncode}\n{printed[-1500:]}")
    return usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime, printed


def measure(file, place):
    """Estimate and measurement of one scenario."""
    said = subprocess.run(
        [UNPAUSE, "validate", "--cost", "--output", "json", file],
        check=True,
        stdout=subprocess.PIPE,
    )
    cost = json.loads(said.stdout)[0]["cost"]
    out = place / "out"
    shutil.rmtree(out, ignore_errors=True)
    memory, seconds, _ = of_child(
        [UNPAUSE, "run", "--force", "--no-report", "-q", "--out", out, file]
    )
    disk = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    shutil.rmtree(out)
    return {
        "memory": (cost["memory_bytes"], memory),
        "disk": (cost["disk_bytes"], disk),
        "cpu": (cost["core_s"], seconds),
    }


def is_within(estimate, measured, part):
    """True within the bound; what is too small to matter is."""
    least = {"memory": 20e6, "disk": 20e3, "cpu": 0.1}[part]
    return measured <= BOUND * estimate + least and estimate <= BOUND * measured + least


def main():
    """Measures all and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="names that contain one of these")
    parser.add_argument("--random", type=int, default=30, help="random scenarios")
    parser.add_argument("--from-seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write what was measured")
    parser.add_argument("--keep", type=Path, help="write the scenarios there, and run nothing")
    arguments = parser.parse_args()
    cases = shipped() | made()
    seeds = range(arguments.from_seed, arguments.from_seed + arguments.random)
    cases |= {f"random {seed}": drawn(seed) for seed in seeds}
    if arguments.only:
        cases = {n: c for n, c in cases.items() if any(part in n for part in arguments.only)}
    rows = {}
    print(f"{'scenario':36}{'memory':>22}{'disk':>22}{'CPU':>20}   measured / estimated")
    with tempfile.TemporaryDirectory() as folder:
        place = arguments.keep or Path(folder)
        for name, case in cases.items():
            file = case
            if isinstance(case, str):
                file = place / (name.replace(" ", "-").replace("^", "") + ".toml")
                file.write_text(case)
            if arguments.keep:
                continue
            try:
                rows[name] = measure(file, place)
            except (RuntimeError, subprocess.CalledProcessError) as error:
                print(f"{name:36}{error}"[:600])
                continue
            print(line(name, rows[name]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    for part in ["memory", "disk", "cpu"]:
        within = sum(is_within(*row[part], part) for row in rows.values())
        print(f"{part}: {within} of {len(rows)} within a factor of {BOUND}")
    return 0


def line(name, row):
    """Of a scenario, a line of the table."""
    (me, mm), (de, dm), (ce, cm) = row["memory"], row["disk"], row["cpu"]
    marks = ["" if is_within(*row[part], part) else "!" for part in ["memory", "disk", "cpu"]]
    return (
        f"{name:36}{mm / 1e6:8.0f}/{me / 1e6:<6.0f}{mm / me:5.2f}{marks[0]:1} "
        f"{dm / 1e3:9.0f}/{de / 1e3:<7.0f}{dm / de:5.2f}{marks[1]:1} "
        f"{cm:7.2f}/{ce:<6.2f}{cm / max(ce, 1e-9):5.2f}{marks[2]:1}"
    )


if __name__ == "__main__":
    sys.exit(main())
