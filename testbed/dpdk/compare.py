"""What came of a run with frames beside the simulator's: a table with a verdict a line."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

import unpause

if TYPE_CHECKING:
    from scenario import Flow, Scenario

ROOT = Path(__file__).resolve().parents[2]
DISSECTOR = ROOT / "crates/unpause-capture/wireshark/unpause.lua"
INCREASE, DECREASE = 2, 3
# Starts of the last flow in the simulator, in steps: what phases alone make of each number.
PHASES, PHASE_US = 5, 13
# Half a picosecond.
RESOLUTION_S = 5e-13


@dataclass
class Cnps:
    """CNPs as the receiver of a flow sent them, in order."""

    time_s: np.ndarray
    decrease: np.ndarray
    rec_rate: np.ndarray


@dataclass
class Seen:
    """What one run came to."""

    arrivals_s: dict[int, np.ndarray] = field(default_factory=dict)
    cnps: dict[int, Cnps] = field(default_factory=dict)
    peak_bytes: int = 0
    marked: int = 0
    pauses: int = 0
    rate: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)


def log(file: Path) -> pa.Table:
    """A program's log."""
    return pyarrow.csv.read_csv(file)


def events(table: pa.Table, name: str) -> dict[str, np.ndarray]:
    """Columns of the rows with one event."""
    chosen = table.filter(pc.field("event") == name)
    return {column: chosen[column].to_numpy() for column in ("time_ps", "id", "a", "b", "c")}


def of_frames(scenario: Scenario, out: Path) -> Seen:
    """From the programs' logs and reports."""
    seen = Seen()
    reports = json.loads((out / "reports.json").read_text("utf-8"))
    ports = [port for switch in scenario.fabric.ports for port in reports[switch]["ports"]]
    seen.pauses = sum(port["pauses"] for port in ports)
    seen.marked = sum(port["marked"] for port in ports)
    seen.peak_bytes = max(port["peak_bytes"] for port in ports)
    logs = {host: log(out / f"{host}.csv") for host in scenario.fabric.hosts}
    for number, flow in enumerate(scenario.flows):
        qp = scenario.queue_pair(flow)
        receiver = logs[flow.destination]
        data, sent = events(receiver, "data"), events(receiver, "cnp_sent")
        seen.arrivals_s[number] = data["time_ps"][data["id"] == qp] / 1e12
        mine = sent["id"] == qp
        seen.cnps[number] = Cnps(
            sent["time_ps"][mine] / 1e12, sent["a"][mine] == DECREASE, sent["b"][mine]
        )
        got = events(logs[flow.source], "cnp")
        mine = got["id"] == qp
        seen.rate[number] = (got["time_ps"][mine] / 1e12, got["c"][mine].astype(float))
    return seen


def of_simulator(scenario: Scenario, file: Path, shift_us: int) -> Seen:
    """From a run of the same file, the last flow `shift_us` later."""
    told = tomllib.loads(file.read_text("utf-8"))
    start = scenario.flows[-1].start_ps // 10**6 + shift_us
    told["traffic"][-1]["start"] = f"{start}us"
    result = unpause.run(told, progress=False)
    seen = Seen()
    seen.pauses = pc.sum(result.ports["pause_frames"]).as_py()
    seen.marked = pc.sum(result.ports["marked_packets"]).as_py()
    seen.peak_bytes = pc.max(result.ports["max_queue_bytes"]).as_py()
    for number, flow in enumerate(scenario.flows):
        of_flow = pc.field("traffic") == flow.name
        (flow_id,) = result.flows.filter(of_flow)["flow_id"].to_pylist()
        packets = result.packets.filter(pc.field("flow_id") == flow_id)
        at_receiver = (pc.field("kind") == "data") & (pc.field("peer") == flow.destination)
        arrived = packets.filter(at_receiver)["arrival_ns"].to_numpy() / 1e9
        seen.arrivals_s[number] = arrived[arrived < scenario.seconds]
        pcn = pa.array(["pcn-increase", "pcn-decrease"])
        from_receiver = pc.is_in(pc.field("kind"), pcn) & (pc.field("node") == flow.destination)
        cnps = packets.filter(from_receiver)
        seen.cnps[number] = Cnps(
            cnps["time_ns"].to_numpy() / 1e9,
            cnps["kind"].to_numpy(zero_copy_only=False) == "pcn-decrease",
            cnps["rec_rate"].fill_null(0).to_numpy(),
        )
        series = result.flow_series.filter(pc.field("flow_id") == flow_id)
        seen.rate[number] = (
            series["time_ns"].to_numpy() / 1e9,
            series["controller_rate_bps"].to_numpy().astype(float),
        )
    return seen


def mean_rate(seen: Seen, number: int, start_s: float) -> float:
    """Mean over time, up to the last byte, of the rate that a flow is allowed, Mb/s."""
    time, rate = seen.rate[number]
    at = np.linspace(start_s, seen.arrivals_s[number][-1], 2001)
    return float(rate[np.searchsorted(time, at, side="right") - 1].mean()) / 1e6


@dataclass
class Line:
    """A number of a run, and how far it may be from the simulator's."""

    what: str
    unit: str
    value: Callable[[Seen], float]
    # Beyond what phases make of it: a share of the simulator's value, and of the unit.
    share: float
    more: float = 0


def of_flow(number: int, flow: Flow) -> list[Line]:
    """What a flow came to; its rate counts once it has been told one."""
    name, start = flow.name, flow.start_ps / 1e12
    if flow.is_endless:
        done = Line(f"packets of {name}", "", lambda it: len(it.arrivals_s[number]), 0.03)
    else:

        def last(it: Seen) -> float:
            return 1e3 * (it.arrivals_s[number][-1] - start)

        done = Line(f"completion of {name}", "ms", last, 0.03)
    return [
        done,
        Line("its mean rate", "Mb/s", lambda it: mean_rate(it, number, start + 0.1), 0.05),
        Line("CNPs to it", "", lambda it: len(it.cnps[number].time_s), 0.05, 2),
        Line("of them decreases", "", lambda it: int(it.cnps[number].decrease.sum()), 0.1, 3),
    ]


def lines(scenario: Scenario) -> list[Line]:
    """The numbers that are compared."""
    flows = [line for at, flow in enumerate(scenario.flows) for line in of_flow(at, flow)]
    return [
        *flows,
        Line("longest queue", "KB", lambda it: it.peak_bytes / 1e3, 0.1),
        Line("PAUSE frames", "", lambda it: it.pauses, 0.25, 1),
        Line("marked packets", "", lambda it: it.marked, 0.1),
    ]


def table(scenario: Scenario, frames: Seen, simulated: list[Seen]) -> int:
    """Prints the table; gives the number of lines beyond their tolerance."""
    print(f"\n{'':24}{'frames':>10}{'simulator':>11}{'its phases':>18}{'tolerance':>20}")
    beyond = 0
    for line in lines(scenario):
        found, wanted = line.value(frames), [line.value(it) for it in simulated]
        least, most, first = min(wanted), max(wanted), wanted[0]
        room = line.share * abs(first) + line.more
        fits = least - room <= found <= most + room
        beyond += not fits
        span, limits = f"{least:.6g} to {most:.6g}", f"{least - room:.6g} to {most + room:.6g}"
        name = f"{line.what}{', ' if line.unit else ''}{line.unit}"
        verdict = "ok" if fits else "BEYOND"
        print(f"{name:30}{found:>10.6g}{first:>10.6g}{span:>20}{limits:>22}  {verdict}")
    return beyond


def same(scenario: Scenario, frames: Seen, simulated: Seen) -> bool:
    """Says how much is the simulator's to the bit; true if everything is."""
    everything = True
    for number, flow in enumerate(scenario.flows):
        mine, his = frames.cnps[number], simulated.cnps[number]
        # What the end of the run cut off is on one side only.
        count = min(len(mine.time_s), len(his.time_s))
        alike = (
            (mine.decrease[:count] == his.decrease[:count])
            & (mine.rec_rate[:count] == his.rec_rate[:count])
            & (np.abs(mine.time_s[:count] - his.time_s[:count]) < RESOLUTION_S)
        )
        found = frames.arrivals_s[number]
        wanted = simulated.arrivals_s[number][: len(found)]
        at_once = np.abs(found[: len(wanted)] - wanted) < RESOLUTION_S
        print(
            f"{flow.name}: {int(at_once.sum())} of {len(found)} data packets arrive, and "
            f"{int(alike.sum())} of {count} CNPs leave when they do in the simulator, "
            "to the picosecond, with the same rates"
        )
        everything &= bool(alike.all() and at_once.all() and len(wanted) == len(found))
        everything &= abs(len(mine.time_s) - len(his.time_s)) <= 1
    return everything


def replay(scenario: Scenario, out: Path) -> int:
    """Gives what the programs decided once more to the state machines in Rust."""
    told = [f"--period={scenario.period_ps}", f"--w-min={scenario.w_min_q32}"]
    nodes = [*scenario.fabric.ports, *scenario.fabric.hosts]
    logs = [str(out / f"{node}.csv") for node in nodes]
    rate = f"--rate={scenario.rate_bps}"
    command = ["cargo", "run", "--quiet", "--release", "--package", "unpause-c"]
    command += ["--example", "replay", "--", *told, rate, *logs]
    done = subprocess.run(command, cwd=ROOT, check=False)
    return done.returncode


def dissect(file: Path) -> list[list[str]]:
    """A row for each frame of a capture, of the fields below."""
    fields = ["frame.interface_name", "_ws.malformed", "cnp.pcn.decrease", "cnp.pcn.rec_rate"]
    fields += ["eth.type"]
    command = ["tshark", "-X", f"lua_script:{DISSECTOR}", "-r", str(file), "-T", "fields"]
    command += ["-E", "separator=,", *(x for name in fields for x in ("-e", name))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: tshark: {done.stderr.strip()}")
    return [line.split(",") for line in done.stdout.splitlines()]


def dissected(scenario: Scenario, frames: Seen, out: Path) -> int:
    """What tshark reads in the captures: every CNP that the log has, and nothing malformed."""
    captures = {switch: dissect(out / f"{switch}.pcapng") for switch in scenario.fabric.ports}
    rows = [row for capture in captures.values() for row in capture]
    malformed = sum(bool(row[1]) for row in rows)
    read = []
    for receiver in {flow.destination for flow in scenario.flows}:
        switch, port = scenario.fabric.port_of(receiver)
        read += [int(it[3]) for it in captures[switch] if it[0] == f"port{port}" and it[3]]
    sent = sorted(
        (time, int(rate))
        for cnps in frames.cnps.values()
        for time, rate in zip(cnps.time_s, cnps.rec_rate, strict=True)
    )
    # The last may still be on their way to the switch.
    rates = sorted(rate for _, rate in sent[: len(read)])
    as_logged = sorted(read) == rates and len(sent) - len(read) < 8
    pfc = sum(row[4] == "0x8808" for row in rows)
    but = "" if as_logged else "but NOT "
    print(
        f"tshark: {len(read)} of {len(sent)} CNPs at receivers' ports, {but}with the receive "
        f"rates of the log; {pfc} PFC frames; {malformed} malformed"
    )
    return 0 if as_logged and malformed == 0 and pfc > 0 else 1


def lateness(out: Path) -> int:
    """Says how late the programs were; gives how many frames came after their time."""
    reports = json.loads((out / "reports.json").read_text("utf-8"))
    for name, it in reports.items():
        print(
            f"{name}: late by {it['late_p50_us']} us (median), {it['late_p99_us']} us (99 %), "
            f"{it['late_max_us']} us (most); {it['overdue']} frames after their time"
        )
    return sum(it["overdue"] for it in reports.values())


def faults(out: Path) -> list[str]:
    """What must not be: losses, frames that are none, gaps."""
    reports = json.loads((out / "reports.json").read_text("utf-8"))
    switches = [it for it in reports.values() if it["role"] == "switch"]
    hosts = [it for it in reports.values() if it["role"] == "host"]
    ports = [port for it in switches for port in it["ports"]]
    counts = {
        "dropped by a switch": sum(it["dropped"] for it in switches),
        "malformed": sum(it["malformed"] for it in reports.values()),
        "for nobody": sum(it["strangers"] for it in hosts),
        "refused by a device": sum(it["refused"] for it in [*ports, *hosts]),
        "out of order": sum(got["gaps"] for it in hosts for got in it["received"]),
    }
    return [f"{count} frames {what}" for what, count in counts.items() if count > 0]


def judge(scenario: Scenario, file: Path, out: Path, stamps: bool) -> int:
    """Prints everything; 0 if all is as it must be."""
    late = lateness(out)
    found = faults(out)
    for fault in found:
        print(f"FAULT: {fault}")
    frames = of_frames(scenario, out)
    simulated = [of_simulator(scenario, file, PHASE_US * n) for n in range(PHASES)]
    beyond = table(scenario, frames, simulated)
    print()
    exact = same(scenario, frames, simulated[0])
    wrong = dissected(scenario, frames, out) + replay(scenario, out)
    if late > 0:
        print(
            f"The machine was late: {late} frames came after their time. What was to be the same "
            "to the bit is judged by tolerance alone; run it on an idle machine."
        )
    good = not (beyond or found or wrong) and (exact or late > 0 or not stamps)
    how = "to the bit" if exact else "within tolerance"
    print(f"verdict: as the simulator, {how}" if good else "verdict: NOT as the simulator")
    return 0 if good else 1
