"""Holds what was said of a result against the tables, and each way of saying it against others."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from tests.pipeline.facts import Facts, flow_of
from tests.pipeline.outputs import Said
from unpause.data.result import Result, Run

_UNITS = {"ps": 1e-3, "ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_TITLES = {
    "incast": "Incast",
    "slow-link": "Slow link",
    "busy": "Busy link",
    "pool": "Shared buffer taken at",
    "nic": "PAUSE from the NIC",
    "cycle": "Deadlock",
    "standing": "Standing queue at",
}


def judged(result: Result, said: Said) -> Iterator[str]:
    """The faults, one sentence each."""
    first = True
    for scheme in result.schemes:
        runs = result.runs_of(scheme)
        every = [Facts(run) for run in runs]
        for facts in every:
            trees = said.trees.get(facts.run.run, [])
            for problem in (*_of_trees(facts, trees), *_of_table_victims(facts)):
                yield f"{scheme}, run {facts.run.run}: {problem}"
        trees = said.trees.get(runs[0].run, [])
        if first and trees:
            first = False
            for problem in _of_lines(every[0], trees, said.lines):
                yield f"explain of {scheme}: {problem}"
        if scheme in said.sentences:
            for problem in _of_sentence(every, said.sentences[scheme]):
                yield f"sentence of {scheme}: {problem}: {said.sentences[scheme]}"
    yield from _of_page(result, said)


def _of_trees(facts: Facts, trees: list[dict[str, Any]]) -> Iterator[str]:
    pauses = facts.pauses.values()
    for priority in {it.priority for it in pauses} | {it["priority"] for it in trees}:
        ours = [it for it in pauses if it.priority == priority]
        theirs = [it for it in trees if it["priority"] == priority]
        if len(ours) != sum(it["pauses"] for it in theirs):
            yield f"{len(ours)} PAUSEs of priority {priority}, {[t['pauses'] for t in theirs]} told"
        paused = sum(it.paused for it in ours)
        if not _same(paused, sum(it["paused_ns"] for it in theirs)):
            yield f"priority {priority} was paused for {paused} ns, not as told"
        ports = facts.paused_of(priority)
        if facts.all_led_somewhere and not _same(paused, ports):
            yield f"priority {priority} was paused for {ports} ns, {paused} ns have causes"
        yield from _of_links(facts, priority, theirs)
    if facts.is_deadlocked and (not trees or trees[0]["kind"] != "cycle"):
        yield f"a deadlock, but the first tree is {[(t['kind'], t['root']) for t in trees[:1]]}"
    if facts.run.row["deadlock_began_ns"] is not None and not facts.is_deadlocked:
        yield "the run ended in a deadlock, no PAUSE says so"
    kinds = {(it.kind, it.priority) for it in pauses}
    for tree in trees:
        if tree["kind"] == "standing":
            if not any(
                tree["root"] in it["left"] for it in trees if str(it["root"]) == tree["left_by"]
            ):
                yield f"no tree left the queue at {tree['root']}"
        elif (tree["kind"], tree["priority"]) not in kinds:
            yield f"no PAUSE of priority {tree['priority']} has a root of kind {tree['kind']}"
        yield from _of_cycle(facts, tree)
        yield from _of_numbers(facts, tree)
    yield from _of_victims(facts, trees)


def _of_links(facts: Facts, priority: int, trees: list[dict[str, Any]]) -> Iterator[str]:
    """Of each link, trees say together for how long it was paused."""
    told: dict[tuple[str, str], float] = {}
    for stop in (it for tree in trees for it in _every(tree["stops"])):
        link = stop["pauser"], stop["stopped"]
        told[link] = told.get(link, 0.0) + stop["paused_ns"]
    for link, paused in told.items():
        if facts.all_led_somewhere and not _same(paused, facts.paused_of(priority, link)):
            yield f"{link} was paused for {facts.paused_of(priority, link)} ns, told {paused}"


def _of_cycle(facts: Facts, tree: dict[str, Any]) -> Iterator[str]:
    """Every egress of a cycle is stopped for good by what waits for the next."""
    if tree["kind"] != "cycle":
        return
    if len(tree["cycle"]) < 2:
        yield f"the deadlock at {tree['root']} has no cycle: {tree['cycle']}"
        return
    places = [tuple(text.split("->")) for text in tree["cycle"]]
    for first, then in zip(places, [*places[1:], places[0]], strict=True):
        if not facts.waits_on(first, then, tree["priority"]):
            yield f"in the cycle {tree['cycle']} {first} does not wait for {then}"


def _of_numbers(facts: Facts, tree: dict[str, Any]) -> Iterator[str]:
    where = f"tree at {tree['root']}"
    for name in ("share", "sure", "others"):
        if not -1e-9 <= tree[name] <= 1 + 1e-9:
            yield f"{where}: {name} is {tree[name]}"
    filled = sum(it["share"] for it in tree["culprits"]) + tree["others"]
    if tree["culprits"] and not math.isclose(filled, 1, abs_tol=0.01):
        yield f"{where}: its queue is filled to {filled:.3f}"
    for start, end in tree["episodes"]:
        if not 0 <= start <= end <= facts.end_ns:
            yield f"{where}: an episode from {start} to {end} in a run of {facts.end_ns}"
    rows = [it for it in facts.pauses.values() if it.priority == tree["priority"]]
    links = {(it.pauser, it.stopped) for it in rows}
    for stop in _every(tree["stops"]):
        if (stop["pauser"], stop["stopped"]) not in links:
            yield f"{where}: {stop['pauser']} never stopped {stop['stopped']}"


def _every(stops: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for stop in stops:
        yield stop
        yield from _every(stop["below"])


def _of_victims(facts: Facts, trees: list[dict[str, Any]]) -> Iterator[str]:
    """Those of trees are those of the table, each as often as it waited for another root."""
    told = {victim["flow_id"] for tree in trees for victim in tree["victims"]}
    if told != set(facts.hurt):
        yield f"{len(told)} victims told, {len(facts.hurt)} in the table"
    for tree in trees:
        seen = [victim["flow_id"] for victim in tree["victims"]]
        if len(set(seen)) < len(seen):
            yield f"a flow is twice a victim of the tree at {tree['root']}"
        for victim in tree["victims"]:
            life = _life(facts, victim["flow_id"])
            if victim["waited_ns"] > life + 1e-3:
                yield f"flow {victim['flow_id']} waited {victim['waited_ns']} ns of {life}"


def _life(facts: Facts, number: int) -> float:
    flow = flow_of(facts, number)
    # A packet may wait after the sender has received the flow's last byte: it was sent twice.
    return facts.end_ns - flow["start_ns"]


def _of_table_victims(facts: Facts) -> Iterator[str]:
    nics = {(it["root_node"], it["root_peer"]) for it in facts.causes if it["root_kind"] == "nic"}
    for row in facts.victims:
        flow = flow_of(facts, row["flow_id"])
        place = row["root_node"], row["root_peer"]
        if place in nics and row["root_peer"] is not None:
            # Packets by one NIC of several cross its link toward the host.
            place = row["root_peer"], row["root_node"]
        if facts.must_cross(flow["src"], flow["dst"], place) and row["root_peer"] is not None:
            yield f"flow {row['flow_id']} is a victim of {place}, which it has to cross"
        if row["root_peer"] is None and flow["dst"] == row["root_node"]:
            yield f"flow {row['flow_id']} is a victim of {place}, its own receiver"


def _of_lines(facts: Facts, trees: list[dict[str, Any]], lines: list[str]) -> Iterator[str]:
    text = "\n".join(lines)
    titles = re.findall(r"^(\d+)\. (.*)$", text, re.M)
    if not titles:
        yield f"no tree, but {len(trees)} in --json"
        return
    for (_, title), tree in zip(titles, trees, strict=False):
        wanted = _TITLES.get(tree["kind"])
        if tree["root"] not in title or (wanted is not None and not title.startswith(wanted)):
            yield f"{title!r} is {tree['kind']} at {tree['root']} in --json"
    certain = re.findall(r"\b(Certain|Likely|Perhaps):", text)
    for word, tree in zip(certain, trees, strict=False):
        if (word == "Certain") != tree["certain"]:
            yield f"{tree['root']} is {word}, in --json certain = {tree['certain']}"
    head = re.search(r"([\d,]+) PAUSEs?\b", lines[0])
    if head and _number(head.group(1)) != len(facts.pauses):
        yield f"{head.group(1)} PAUSEs, {len(facts.pauses)} in the table"


def _of_sentence(every: list[Facts], sentence: str) -> Iterator[str]:
    hurt = [len(facts.hurt) for facts in every]
    events = [sum(facts.events.values()) for facts in every]
    if any(events) and re.search(r"\bno PAUSE\b", sentence):
        yield f"{events} PAUSEs"
    if re.search(r"\bno victims?\b", sentence) and any(hurt):
        yield f"{hurt} victims in the table"
    counted = re.search(r"([\d,]+)(?: to ([\d,]+))? victims?\b", sentence)
    if counted:
        low = _number(counted.group(1))
        high = _number(counted.group(2)) if counted.group(2) else low
        if (low, high) != (min(hurt), max(hurt)):
            yield f"{hurt} victims in the table"
    elif max(hurt) and "victim" not in sentence:
        yield f"silent on {hurt} victims"
    deadlocks = [facts.run.row["deadlock_began_ns"] is not None for facts in every]
    if len(every) == 1 and deadlocks[0] != ("deadlock" in sentence.lower()):
        yield f"deadlock: {deadlocks}"
    if len(every) == 1:
        yield from _of_pausers(every[0], sentence)


def _of_pausers(facts: Facts, sentence: str) -> Iterator[str]:
    """Such as "S1 stopped S0 for 2.8 ms (51 PAUSEs)": as often, and for as long."""
    said = re.compile(r"(\S+) (?:stopped|paused) ([^;()]*?) for (?:up to )?([\d.,]+) (\w+) ")
    for pauser, whom, value, unit in said.findall(sentence):
        times = [ns for (who, _), ns in facts.paused.items() if who == pauser]
        if unit not in _UNITS or not times:
            yield f"{pauser} stopped nobody"
            continue
        ns = float(value.replace(",", "")) * _UNITS[unit]
        known = facts.paused.get((pauser, whom))
        longest = known if known is not None else max(times)
        if " and " not in whom and not math.isclose(ns, longest, rel_tol=0.006, abs_tol=0.06):
            yield f"{pauser} stopped {whom} for {longest} ns, not {ns}"
    for pauser, count in re.findall(
        r"(?:^|[;,] |NIC of )(\S+) (?:stopped|paused) [^;()]* \(([\d,]+) PAUSEs?", sentence
    ):
        if facts.events.get(pauser, 0) != _number(count):
            yield f"{facts.events.get(pauser, 0)} PAUSEs of {pauser}"


def _of_page(result: Result, said: Said) -> Iterator[str]:
    """The page says what the others say."""
    if not said.about:
        return
    if dict(said.about["sentences"]) != said.sentences:
        yield "page: other sentences"
    # Runs come by point, within each by scheme.
    runs = _in_order(result)
    for run, frame in zip(runs, said.frames, strict=False):
        trees = said.trees.get(run.run, [])
        for told, tree in zip(frame["trees"], trees, strict=False):
            for name in ("root", "kind", "priority", "certain", "pauses", "cycle", "advice"):
                if told[name] != tree[name]:
                    yield f"page, run {run.run}: {name} is {told[name]}, not {tree[name]}"
            if told["victim_count"] != len(tree["victims"]):
                yield f"page, run {run.run}: {told['victim_count']} victims at {tree['root']}"
        if bool(frame["trees"]) != bool(trees):
            yield f"page, run {run.run}: {len(frame['trees'])} trees, {len(trees)} in --json"


def _in_order(result: Result) -> list[Run]:
    from unpause.pages.explore import Explored

    return [shown.run for shown in Explored({"": result}).runs]


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _same(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-3)
