"""Runs a scenario with frames: a switch and hosts over DPDK, each in its network namespace.

The same scenario then runs in the simulator, and what came of the two is compared.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import compare
from namespaces import namespaces
from scenario import Scenario

HERE = Path(__file__).parent
SCENARIOS = [HERE / "burst.toml", HERE / "chain.toml"]
# To start programs, and what frames on their way at the end take to arrive.
READY_S, MARGIN_S = 60, 20
PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """A child does not survive `kill -9` of this program; Ctrl-C is for this program alone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setpgid(0, 0)


class Programs:
    """Programs in namespaces."""

    def __init__(self) -> None:
        self.running: list[tuple[str, subprocess.Popen[str]]] = []

    def start(self, namespace: str, name: str, command: list[str]) -> None:
        """Starts one; it waits for the instant 0."""
        process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=die_with_parent,
        )
        self.running.append((name, process))

    def started(self) -> None:
        """Waits until all are ready, and tells them the instant 0."""
        for name, process in self.running:
            if process.stdout is None or process.stdout.readline() != "ready\n":
                raise SystemExit(f"error: {name} does not start")
        epoch = time.monotonic_ns() + 500_000_000
        for _, process in self.running:
            if process.stdin is not None:
                process.stdin.write(f"{epoch}\n")
                process.stdin.flush()

    def reports(self, seconds: float) -> dict[str, dict]:
        """What each says at its end."""
        reports = {}
        end = time.monotonic() + seconds
        for name, process in self.running:
            try:
                said, _ = process.communicate(timeout=max(1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise SystemExit(f"error: {name} does not end") from None
            if process.returncode != 0:
                raise SystemExit(f"error: {name} has failed ({process.returncode})")
            reports[name] = json.loads(said)
        return reports

    def kill(self) -> None:
        """Ends those that still run."""
        for _, process in self.running:
            process.kill()
            process.wait()


def pipeline(scenario: Path, out: Path) -> list[str]:
    """Has the switch mark by the program of the data plane for the scenario's marking."""
    unpause = Path(sys.executable).with_name("unpause")
    command = [unpause, "dataplane", "build", scenario, "--out", out / "program"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise SystemExit("error: the program of the data plane is not made")
    (program,) = (out / "program").glob("*.spec")
    return [f"--pipeline={program}:{out}/program/entries.txt"]


def commands(
    scenario: Scenario, programs: Path, out: Path, stamps: bool, marking: list[str]
) -> dict[str, list[str]]:
    """What runs at each node."""
    fabric = scenario.fabric
    common = [
        f"--rate={scenario.rate_bps}",
        f"--delay={scenario.delay_ps}",
        f"--seconds={scenario.seconds}",
        *([] if stamps else ["--no-stamps"]),
    ]
    nodes = {}
    for switch, ports in fabric.ports.items():
        nodes[switch] = [
            str(programs / "switch"),
            *(f"--interface=port{port}" for port in range(len(ports))),
            *(f"--route={port}" for port in fabric.routes(switch)),
            *common,
            f"--xoff={scenario.xoff}",
            f"--xon={scenario.xon}",
            *marking,
            f"--log={out}/{switch}.csv",
        ]
    for host in fabric.hosts:
        flows = [
            f"--flow={fabric.number(flow.destination)}:{flow.start_ps // 1000}:{flow.packets}"
            for flow in scenario.flows
            if flow.source == host
        ]
        nodes[host] = [
            str(programs / "host"),
            f"--number={fabric.number(host)}",
            *common,
            *flows,
            f"--notification-point=pcn:period={scenario.period_ps}",
            f"--congestion-control=pcn:w_min={scenario.w_min_q32}",
            f"--log={out}/{host}.csv",
        ]
    return nodes


def capture(stack: ExitStack, namespace: str, ports: int, file: Path) -> None:
    """CNPs and PFC frames at a switch's ports."""
    wanted = "ether proto 0x8808 or (udp dst port 4791 and udp[8] = 0x81)"
    interfaces = [part for n in range(ports) for part in ("-i", f"port{n}", "-f", wanted)]
    process = subprocess.Popen(
        ["ip", "netns", "exec", namespace, "dumpcap", "-q", *interfaces, "-w", str(file)],
        stderr=subprocess.DEVNULL,
        preexec_fn=die_with_parent,
    )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    end = time.monotonic() + READY_S
    while not file.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
    if process.poll() is not None:
        raise SystemExit("error: dumpcap does not start")


def run(scenario: Scenario, nodes: dict[str, list[str]], out: Path) -> dict[str, dict]:
    """Runs the programs of the nodes; gives what each says at its end."""
    fabric = scenario.fabric
    with ExitStack() as stack:
        names = stack.enter_context(namespaces(list(nodes), fabric.links()))
        for switch, ports in fabric.ports.items():
            capture(stack, names[switch], len(ports), out / f"{switch}.pcapng")
        started = Programs()
        stack.callback(started.kill)
        for node, command in nodes.items():
            started.start(names[node], node, command)
        started.started()
        return started.reports(scenario.seconds + MARGIN_S)


def try_until_in_time(
    scenario: Scenario, nodes: dict[str, list[str]], out: Path, tries: int
) -> None:
    """Runs the programs until no frame was late, or so often."""
    for left in range(tries)[::-1]:
        for old in [*out.glob("*.csv"), *out.glob("*.pcapng"), out / "reports.json"]:
            old.unlink(missing_ok=True)
        reports = run(scenario, nodes, out)
        (out / "reports.json").write_text(json.dumps(reports, indent=1), "utf-8")
        late = sum(it["overdue"] for it in reports.values())
        if late == 0:
            break
        print(f"{late} frames came after their time{': once more' if left else ''}")


def main() -> int:
    """Runs and compares; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, required=True, help="folder of switch and host")
    parser.add_argument("--scenario", type=Path, nargs="+", default=SCENARIOS)
    parser.add_argument("--out", type=Path, help="folder of logs, by default that of the programs")
    parser.add_argument("--compare-only", action="store_true", help="judge the logs that are there")
    parser.add_argument(
        "--no-stamps", action="store_true", help="frames arrive when they are found, jitter and all"
    )
    parser.add_argument(
        "--marking",
        choices=["state-machine", "swx"],
        default="state-machine",
        help="what marks: the C library's state machine, or a program of the data plane",
    )
    parser.add_argument("--tries", type=int, default=3, help="runs until the machine is in time")
    arguments = parser.parse_args()
    if os.geteuid() != 0 and not arguments.compare_only:
        print("error: root is needed, for network namespaces and packet sockets", file=sys.stderr)
        return 2
    # So that what was made is taken away.
    for what in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(what, lambda number, _: sys.exit(128 + number))
    worst, stamps = 0, not arguments.no_stamps
    for file in arguments.scenario:
        out = ((arguments.out or arguments.programs / "out") / file.stem).resolve()
        out.mkdir(parents=True, exist_ok=True)
        scenario = Scenario.read(file)
        print(f"\n{file.stem}: {scenario.seconds} s of frames …", flush=True)
        if not arguments.compare_only:
            marking = pipeline(file, out) if arguments.marking == "swx" else []
            nodes = commands(scenario, arguments.programs.resolve(), out, stamps, marking)
            try_until_in_time(scenario, nodes, out, arguments.tries)
        worst = max(worst, compare.judge(scenario, file, out, stamps))
    return worst


if __name__ == "__main__":
    sys.exit(main())
