"""Counts the instructions of short benchmarks, and fails when one has grown by more than 5 %.

Instruction counts, unlike seconds, repeat: to within a few millionths from run to run on one
machine. Another processor may choose other variants of memcpy and the like, and another compiler
compiles differently, which is what the tolerance is for. The record, instructions.json, names the
compiler that it was made with.

A change that makes the engine slower on purpose changes the record in the same commit:
`make bench-gate-update`.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "benches" / "instructions.json"
CASES = ["gate-fig1", "gate-clos", "gate-leaf-spine", "ring-1k"]
TOLERANCE = 0.05


def main():
    """Compares with the record, or makes it anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="make the record anew")
    arguments = parser.parse_args()
    if not provide_valgrind():
        return 0
    program = build()
    compiler = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True)
    compiler = compiler.stdout.strip()
    # Each is one process on one core; their counts do not depend on one another.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = dict(zip(CASES, pool.map(lambda case: count(program, case), CASES), strict=True))
    if arguments.update:
        record = {"compiler": compiler, "cases": counts}
        RECORD.write_text(json.dumps(record, indent=2) + "\n")
        for case, now in counts.items():
            print(describe(case, now, now))
        return 0
    record = json.loads(RECORD.read_text())
    grown = []
    for case, now in counts.items():
        before = record["cases"][case]
        print(describe(case, now, before))
        if now["instructions"] > before["instructions"] * (1 + TOLERANCE):
            grown.append(case)
        if now["packet_hops"] != before["packet_hops"]:
            print(
                f"{case}: the simulation itself has changed: {now['packet_hops']} packet-hops, "
                f"{before['packet_hops']} in the record"
            )
    if compiler != record["compiler"]:
        print(f"note: the record was made with {record['compiler']}, this is {compiler}")
    if grown:
        print(
            f"error: {', '.join(grown)}: more than {TOLERANCE:.0%} above the record in\n"
            "benches/instructions.json. If that is the price of something worth it, run\n"
            "`make bench-gate-update` and commit the record with the change."
        )
        return 1
    return 0


def describe(case, now, before):
    """A line on one case."""
    change = now["instructions"] / before["instructions"] - 1
    per_hop = now["instructions"] / now["packet_hops"]
    return (
        f"{case}: {now['instructions'] / 1e6:.2f} M instructions, {per_hop:.0f} a packet-hop, "
        f"{change:+.2%} to the record"
    )


def provide_valgrind():
    """True if valgrind is there, or could be installed, which is tried where CI=true."""
    if shutil.which("valgrind"):
        return True
    in_ci = os.environ.get("CI") == "true"
    if in_ci and shutil.which("apt-get"):
        sudo = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
        install = [*sudo, "apt-get", "install", "--yes", "--no-install-recommends", "valgrind"]
        subprocess.run([*sudo, "apt-get", "update", "--quiet"], check=False)
        subprocess.run(install, check=False)
        if shutil.which("valgrind"):
            return True
    message = "valgrind is not installed: the gate on instruction counts has NOT been checked"
    if in_ci:
        sys.exit(f"error: {message}")
    stars = "*" * len(message)
    print(f"{stars}\n{message}\n{stars}", file=sys.stderr)
    return False


def build():
    """Compiles the benchmarks.

    Together with the extension module, whose dependencies then have the features that they have in
    `make install`: Cargo compiles the engine once for both.
    """
    command = ["cargo", "build", "--release", "--quiet"]
    command += ["--package", "unpause-bench", "--package", "unpause-python"]
    subprocess.run(command, check=True, cwd=ROOT)
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
    return Path(target) / "release" / "unpause-bench"


def count(program, case):
    """Instructions and packet-hops of one case."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program]
    command += ["once", case]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    refs = re.search(r"I\s+refs:\s+([\d,]+)", run.stderr)
    if not refs:
        sys.exit(f"error: cannot read what callgrind says:\n{run.stderr}")
    hops = json.loads(run.stdout)["packet_hops"]
    return {"instructions": int(refs.group(1).replace(",", "")), "packet_hops": hops}


if __name__ == "__main__":
    sys.exit(main())
