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
import tomllib
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import compare
from namespaces import star

HERE = Path(__file__).parent
SCENARIO = HERE / "burst.toml"
# To start programs, and what frames on their way at the end take to arrive.
READY_S, MARGIN_S = 60, 20
PR_SET_PDEATHSIG = 1
UNITS_PS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}


def quantity(text: str, units: dict[str, int]) -> int:
    """A whole number of the smallest unit."""
    for unit in sorted(units, key=len, reverse=True):
        if text.endswith(unit):
            return round(float(text.removesuffix(unit)) * units[unit])
    raise SystemExit(f"error: `{text}`: expected a number and one of {', '.join(units)}")


def time_ps(text: str) -> int:
    """Picoseconds."""
    return quantity(text, UNITS_PS)


def size(text: str) -> int:
    """Bytes."""
    return quantity(text, {"B": 1, "KB": 10**3, "MB": 10**6})


def rate(text: str) -> int:
    """Bits per second."""
    return quantity(text, {"kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9})


@dataclass
class Flow:
    """A flow: numbers of hosts from 0, payloads of 1000 bytes."""

    name: str
    source: int
    destination: int
    start_ps: int
    packets: int


@dataclass
class Scenario:
    """What the programs are told, from the file that the simulator reads."""

    hosts: int
    rate_bps: int
    delay_ps: int
    seconds: int
    xoff: int
    xon: int
    period_ps: int
    w_min: float
    flows: list[Flow]

    @classmethod
    def read(cls, path: Path) -> Scenario:
        """Reads it; what the programs cannot do is refused."""
        file = tomllib.loads(path.read_text("utf-8"))
        scheme, topology, host = file["scheme"][0], file["topology"], file["host"]
        shape = (
            topology["builder"],
            scheme["congestion_control"],
            file.keys() & {"sweep", "switch"},
        )
        if shape != ("single-switch", "pcn", set()) or len(file["scheme"]) != 1:
            raise SystemExit(f"error: {path}: one scheme of PCN on a single switch is expected")
        frame = size(host["payload"]) + size(host["header"])
        if (frame, host["framing"]) != (1062, "20B"):
            raise SystemExit(f"error: {path}: payload 1000B, header 62B, framing 20B are expected")
        xoff = size(file["pfc"]["xoff"])
        flows = [
            Flow(
                it["name"],
                int(it["from"].removeprefix("H")),
                int(it["to"].removeprefix("H")),
                time_ps(it.get("start", "0s")),
                size(it["size"]) // 1000 if "size" in it else 2**40,
            )
            for it in file["traffic"]
        ]
        pcn = scheme["pcn"]
        return cls(
            topology["hosts"],
            rate(topology["rate"]),
            time_ps(topology["delay"]),
            time_ps(file["duration"]) // UNITS_PS["s"],
            xoff,
            xoff - 2 * frame,
            time_ps(pcn["period"]),
            float(pcn["w_min"]),
            flows,
        )

    @property
    def w_min_q32(self) -> int:
        """As the C library takes it."""
        return round(self.w_min * 2**32)


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
    common = [
        f"--rate={scenario.rate_bps}",
        f"--delay={scenario.delay_ps}",
        f"--seconds={scenario.seconds}",
        *([] if stamps else ["--no-stamps"]),
    ]
    ports = [f"--interface=port{n}" for n in range(scenario.hosts)]
    thresholds = [f"--xoff={scenario.xoff}", f"--xon={scenario.xon}"]
    switch = [str(programs / "switch"), *ports, *common, *thresholds, *marking]
    switch.append(f"--log={out}/S0.csv")
    nodes = {"S0": switch}
    for host in range(scenario.hosts):
        flows = [
            f"--flow={flow.destination + 1}:{flow.start_ps // 1000}:{flow.packets}"
            for flow in scenario.flows
            if flow.source == host
        ]
        nodes[f"H{host}"] = [
            str(programs / "host"),
            f"--number={host + 1}",
            *common,
            *flows,
            f"--notification-point=pcn:period={scenario.period_ps}",
            f"--congestion-control=pcn:w_min={scenario.w_min_q32}",
            f"--log={out}/H{host}.csv",
        ]
    return nodes


def capture(stack: ExitStack, namespace: str, hosts: int, file: Path) -> subprocess.Popen[bytes]:
    """CNPs and PFC frames at the switch's ports."""
    wanted = "ether proto 0x8808 or (udp dst port 4791 and udp[8] = 0x81)"
    interfaces = [part for n in range(hosts) for part in ("-i", f"port{n}", "-f", wanted)]
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
    return process


def run(scenario: Scenario, nodes: dict[str, list[str]], out: Path) -> dict[str, dict]:
    """Runs the programs of the nodes; gives what each says at its end."""
    with ExitStack() as stack:
        switch, ends = stack.enter_context(star(scenario.hosts))
        capture(stack, switch, scenario.hosts, out / "control.pcapng")
        started = Programs()
        stack.callback(started.kill)
        for name, namespace in zip(nodes, [switch, *ends], strict=True):
            started.start(namespace, name, nodes[name])
        started.started()
        print(f"{scenario.seconds} s of frames …", flush=True)
        return started.reports(scenario.seconds + MARGIN_S)


def main() -> int:
    """Runs and compares; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, required=True, help="folder of switch and host")
    parser.add_argument("--scenario", type=Path, default=SCENARIO)
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
    out = (arguments.out or arguments.programs / "out").resolve()
    out.mkdir(parents=True, exist_ok=True)
    scenario = Scenario.read(arguments.scenario)
    stamps = not arguments.no_stamps
    swx = arguments.marking == "swx" and not arguments.compare_only
    marking = pipeline(arguments.scenario, out) if swx else []
    nodes = commands(scenario, arguments.programs.resolve(), out, stamps, marking)
    for left in range(0 if arguments.compare_only else arguments.tries)[::-1]:
        for old in [*out.glob("*.csv"), *out.glob("*.pcapng"), out / "reports.json"]:
            old.unlink(missing_ok=True)
        reports = run(scenario, nodes, out)
        (out / "reports.json").write_text(json.dumps(reports, indent=1), "utf-8")
        late = sum(it["overdue"] for it in reports.values())
        if late == 0:
            break
        print(f"{late} frames came after their time{': once more' if left else ''}")
    return compare.judge(scenario, arguments.scenario, out, stamps)


if __name__ == "__main__":
    sys.exit(main())
