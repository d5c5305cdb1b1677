"""Whether what is said of a planted scenario names what was planted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import unpause
from tests.pipeline import outputs
from tests.pipeline.judge import judged
from tests.pipeline.plants import Planted, plant
from unpause.data.result import Result, Run


def of_planted(seed: int) -> tuple[str, list[str]]:
    """Runs the planted scenario of a seed; returns the outcome and the faults."""
    planted = plant(seed)
    result = unpause.run(planted.scenario, threads=1, progress=False)
    said = outputs.told(result)
    problems = [*said.problems, *judged(result, said)]
    became, wrong = named(planted, result, said)
    return f"{planted.plant}, {result.schemes[0]}: {became}", [*problems, *wrong]


def named(planted: Planted, result: Result, said: outputs.Said) -> tuple[str, list[str]]:
    """Named right, uncertain, wrong, or nothing to speak of; and sentences on the latter."""
    [scheme] = result.schemes
    [run] = result.runs_of(scheme)
    trees = said.trees.get(run.run, [])
    roots = _roots(planted, run)
    if _is_silent(planted, run, trees, roots):
        return "nothing happened", []
    told = [f"{it['kind']} at {it['root']}" for it in trees[:3]]
    misled = [
        f"certain of {it['kind']} at {it['root']}, planted {planted.plant} at {sorted(roots)}"
        for it in trees
        if it["certain"] and not _is_at(it, roots)
    ]
    top = trees[0] if trees else None
    if misled:
        return "wrong and certain", misled
    if top is None or not _is_at(top, roots) or top["kind"] not in planted.kinds:
        unsure = top is not None and not top["likely"]
        wrong = f"planted {planted.plant} at {sorted(roots)}, told {told}"
        return ("uncertain" if unsure else "wrong"), ([] if unsure else [wrong])
    problems = list(_words(planted, top, said))
    return ("said otherwise" if problems else "named right"), problems


def _is_at(tree: dict[str, Any], roots: frozenset[str]) -> bool:
    """At one of them, or a queue that one of them left."""
    place = tree["left_by"] or tree["root"]
    return place in roots or bool(roots & set(tree["cycle"]))


def _roots(planted: Planted, run: Run) -> frozenset[str]:
    """The planted ones; of an ECMP collision those whose links carried more than one flow."""
    if not planted.shared:
        return planted.roots
    sent: dict[str, int] = {}
    for row in run.table("ports").to_pylist():
        if row["priority"] == planted.priority:
            link = f"{row['node']}->{row['peer']}"
            sent[link] = sent.get(link, 0) + row["tx_bytes"]
    return frozenset(it for it in planted.roots if sent.get(it, 0) > 1.5 * planted.size)


def _is_silent(
    planted: Planted, run: Run, trees: list[dict[str, Any]], roots: frozenset[str]
) -> bool:
    """Whether what was planted did not come about: no PAUSE, no cycle, no drop."""
    paused = any(row["pause_events"] for row in run.table("ports").to_pylist())
    if planted.plant == "deadlock":
        return run.row["deadlock_began_ns"] is None
    if planted.plant == "headroom":
        return not run.row["dropped_packets"]
    return not paused or not roots


def _words(planted: Planted, top: dict[str, Any], said: outputs.Said) -> Iterator[str]:
    """Sentence and explain name it, too, and keep apart what is alike in the tables."""
    text, sentence = "\n".join(said.lines), said.sentences[next(iter(said.sentences))]
    node = top["root"].split("->")[0]
    if planted.plant == "deadlock":
        if "deadlock" not in sentence.lower():
            yield f"no deadlock in the sentence: {sentence}"
    elif not re.search(rf"\b{re.escape(node)}\b", sentence):
        yield f"{node} is not in the sentence: {sentence}"
    too_small = "headroom too small" in text.lower()
    if planted.plant == "headroom" and not too_small:
        yield "frames found no headroom, which explain does not say"
    if planted.plant == "expired" and too_small:
        yield "a PAUSE that ran out is called too little headroom"
