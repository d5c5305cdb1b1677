"""What the papers claim, judged from measured numbers.

Claims are data: ``claims*.toml`` of every paper (:mod:`unpause.papers`). Each has checks;
a check measures one metric of :mod:`unpause.metrics` for some schemes, of one run or over a sweep
(``sweep``), and judges the numbers, or their ratios to another scheme's (``over``). Where a scheme
ran with several seeds, the median counts; ratios are between runs with the same seed. A claim is
*reproduced* if all its checks hold, *order reproduced* if numbers differ but the order of the
schemes is the paper's, *not reproduced* otherwise, and *not evaluated* if the result lacks what a
check needs. Where a limit is ours (``assumed``), the claim says what it would be at half and at
twice that limit.
"""

from __future__ import annotations

import difflib
import inspect
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unpause import papers
from unpause.judges import JUDGEMENTS, Check, Verdict, listed, named, number, quantity
from unpause.metrics import METRICS
from unpause.metrics.sweep import Sweep
from unpause.schemes import canonical
from unpause.series import Unavailable

if TYPE_CHECKING:
    from unpause.result import Result, Run


class ClaimsError(Exception):
    """A claims file is wrong, or names an experiment that no claims file knows."""


@dataclass(frozen=True)
class Stated:
    """A claim as its file states it."""

    id: str
    kind: str
    text: str
    paper: str
    checks: tuple[Check, ...]
    note: str = ""
    other_reading: bool = False


@dataclass
class Finding:
    """What one check found."""

    metric: str
    sweep: str
    label: str
    unit: str
    judge: str
    expected: dict[str, float | None]
    measured: dict[str, float | None]
    spread: dict[str, tuple[float, float]]
    tolerance: float | None
    verdict: Verdict
    why: str
    assumed: str = ""
    at_half: Verdict | None = None
    at_twice: Verdict | None = None


class Counted(StrEnum):
    """As what a claim counts."""

    PAPER = "paper"
    DERIVATION = "derivation"
    READING = "reading"


@dataclass
class Claim:
    """A claim and its verdict.

    Attributes:
        id: Such as ``PCN-F2.C1``.
        kind: ``C`` number in the paper's text, ``Q`` qualitative, ``D`` our derivation.
        text: The claim in one sentence.
        source: The paper.
        expected: The paper's values, as text.
        measured: The measured values, as text.
        verdict: Worst verdict of the findings.
        counted: As a claim of the paper, our own derivation, or again in another reading.
        why: Sentences that give the reason, with the numbers.
        note: Best explanation, found by experiment, of why a claim does not hold; empty if it does.
        assumed: Where a limit of ours decides: what the verdict is at half and at twice that limit.
        findings: One for each check.
    """

    id: str
    kind: str
    text: str
    source: str
    expected: str
    measured: str
    verdict: Verdict
    counted: Counted
    why: str
    note: str = ""
    assumed: str = ""
    findings: list[Finding] = field(default_factory=list)


_JUDGES = ("expect", "at_least", "at_most", "above_scheme", "below_scheme")
_CLAIM_KEYS = {"id", "kind", "text", "check", "note", "other_reading"}
_CHECK_KEYS = {
    *("metric", "args", "among", "sweep", "schemes", "tolerance", "label", "over", "assumed"),
    *_JUDGES,
}
_ASSUMED = ("limit", "to 1")


def files() -> list[Path]:
    """The claims files of the papers."""
    return [f for folder in papers.folders().values() for f in sorted(folder.glob("claims*.toml"))]


def read(file: Path) -> list[Stated]:
    """Read one claims file.

    Raises:
        ClaimsError: the file is not TOML, or a claim in it cannot be evaluated.
    """
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ClaimsError(f"{file}: {error}") from error
    tolerance = data.get("tolerance", {})
    stated = []
    for entry in data.get("claim", []):
        name = entry.get("id", f"claim {len(stated) + 1}")
        where = f"{file.name}: {name}"
        for key in ("id", "kind", "text", "check"):
            if key not in entry:
                raise ClaimsError(f"{where}: {key} is missing")
        for key in entry:
            if key not in _CLAIM_KEYS:
                raise ClaimsError(f"{where}: unknown key {key!r}{_nearest(key, _CLAIM_KEYS)}")
        checks = tuple(
            _read_check(c, float(tolerance.get(entry["kind"], 0.25)), where) for c in entry["check"]
        )
        paper, note = data.get("paper", ""), entry.get("note", "")
        other = bool(entry.get("other_reading", False))
        stated.append(Stated(name, entry["kind"], entry["text"], paper, checks, note, other))
    return stated


def _read_check(data: Mapping[str, Any], tolerance: float, where: str) -> Check:
    for key in data:
        if key not in _CHECK_KEYS:
            raise ClaimsError(f"{where}: unknown key {key!r}{_nearest(key, _CHECK_KEYS)}")
    name = str(data.get("metric", ""))
    if name not in METRICS:
        raise ClaimsError(f"{where}: unknown metric {name!r}{_nearest(name, METRICS)}")
    metric, args = METRICS[name], dict(data.get("args", {}))
    among = tuple(data.get("among", ()))
    try:
        measured = () if metric.scope == "model" else (None,)
        for each in among or ({},):
            inspect.signature(metric.function).bind(*measured, **{**args, **each})
    except TypeError as error:
        raise ClaimsError(f"{where}: {name}: {error}") from error
    if metric.scope == "seeds" and "over" in data:
        raise ClaimsError(f"{where}: {name} is of all seeds: it has no ratio (`over`) by seed")
    if metric.scope != "run" and "sweep" in data:
        raise ClaimsError(f"{where}: {name} is not of one run: it cannot be taken over a sweep")
    try:
        sweep = Sweep.read(data["sweep"]) if "sweep" in data else None
    except ValueError as error:
        raise ClaimsError(f"{where}: {name}: sweep: {error}") from error
    judges = [j for j in _JUDGES if j in data]
    if len(judges) != 1:
        raise ClaimsError(f"{where}: {name}: expected one of {', '.join(_JUDGES)}, found {judges}")
    judge = judges[0]
    assumed = str(data.get("assumed", ""))
    if assumed and (assumed not in _ASSUMED or judge not in ("at_least", "at_most")):
        raise ClaimsError(
            f"{where}: {name}: assumed is one of {', '.join(_ASSUMED)}, beside at_least or at_most"
        )
    schemes = tuple(data["expect"]) if judge == "expect" else tuple(data.get("schemes", ()))
    if not schemes:
        raise ClaimsError(f"{where}: {name}: schemes is missing")
    return Check(
        metric,
        args,
        judge,
        data[judge],
        schemes,
        float(data.get("tolerance", tolerance)),
        str(data.get("label", "")),
        str(data.get("over", "")),
        sweep,
        among,
        assumed,
    )


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def evaluate(
    result: Result | None,
    experiments: Sequence[str],
    from_files: Sequence[Path] | None = None,
    *,
    other_reading: bool = False,
) -> list[Claim]:
    """Judge every claim of `experiments` (``["PCN-F2"]``) against `result`.

    Args:
        result: What was measured; None judges claims about mechanisms and models alone, and
            the others are not evaluated.
        experiments: Parts of claim ids before the dot.
        from_files: Claims files; by default those installed with the package.
        other_reading: The result is of another reading of the paper than the one judged first.

    Raises:
        ClaimsError: no file has claims of an experiment.
    """
    every = [claim for file in (from_files or files()) for claim in read(file)]
    known = list(dict.fromkeys(c.id.partition(".")[0] for c in every))
    claims = []
    for experiment in experiments:
        if experiment not in known:
            raise ClaimsError(
                f"no claims for experiment {experiment!r}{_nearest(experiment, known)} "
                f"(known: {', '.join(known)})"
            )
        claims += [
            _judge(result, c, other_reading) for c in every if c.id.partition(".")[0] == experiment
        ]
    return claims


def _judge(result: Result | None, stated: Stated, other_reading: bool) -> Claim:
    findings = [_find(result, check) for check in stated.checks]
    verdict = max((f.verdict for f in findings), key=lambda v: v.rank)
    sentences = list(dict.fromkeys(f.why for f in findings if f.verdict is verdict))
    return Claim(
        stated.id,
        stated.kind,
        stated.text,
        stated.paper,
        "; ".join(_expected_text(c) for c in stated.checks),
        "; ".join(measured_text(f) for f in findings),
        verdict,
        _counted(stated, other_reading),
        " ".join(sentences),
        stated.note if verdict in (Verdict.ORDER, Verdict.NOT_REPRODUCED) else "",
        _decided_by_us(stated.checks, findings, verdict),
        findings,
    )


def _counted(stated: Stated, other_reading: bool) -> Counted:
    if other_reading or stated.other_reading:
        return Counted.READING
    return Counted.DERIVATION if stated.kind == "D" else Counted.PAPER


def _decided_by_us(checks: Sequence[Check], findings: Sequence[Finding], verdict: Verdict) -> str:
    """What the verdict is at half and at twice each assumed limit, where that differs."""
    sentences = []
    for index, (check, finding) in enumerate(zip(checks, findings, strict=True)):
        if finding.at_half is None or finding.at_twice is None:
            continue
        others = [f.verdict for i, f in enumerate(findings) if i != index]
        moved = [
            (times, max([*others, at], key=lambda v: v.rank))
            for times, at in ((0.5, finding.at_half), (2, finding.at_twice))
        ]
        if all(at is verdict for _, at in moved):
            continue
        limits = listed(f"{quantity(check.at(t).limit, check.unit)}: {at.value}" for t, at in moved)
        sentences.append(_labelled(check.label, f"the limit is assumed; at {limits}."))
    return " ".join(sentences)


def _find(result: Result | None, check: Check) -> Finding:
    wanted = list(check.schemes)
    if check.judge in ("above_scheme", "below_scheme"):
        wanted.append(check.limit)
    measured: dict[str, float | None] = {}
    spread: dict[str, tuple[float, float]] = {}
    missing = []
    at_half = at_twice = None
    for scheme in wanted:
        try:
            values = _measure(result, check, scheme)
            measured[scheme] = float(np.median(values))
            if len(values) > 1:
                spread[scheme] = min(values), max(values)
        except Unavailable as error:
            measured[scheme] = None
            missing.append(str(error))
    if missing:
        verdict, why = Verdict.NOT_EVALUATED, " ".join(dict.fromkeys(missing))
    else:
        medians = {s: v for s, v in measured.items() if v is not None}
        verdict, why = JUDGEMENTS[check.judge](check, medians)
        if check.assumed:
            at_half, at_twice = (JUDGEMENTS[check.judge](check.at(t), medians)[0] for t in (0.5, 2))
    if check.label and verdict is not Verdict.NOT_EVALUATED:
        why = f"{check.label}: {why}"
    return Finding(
        check.metric.name,
        str(check.sweep or ""),
        check.label,
        check.unit,
        check.judge,
        {s: _limit_of(check, s, measured) for s in check.schemes},
        measured,
        spread,
        check.tolerance if check.judge == "expect" else None,
        verdict,
        why,
        check.assumed,
        at_half,
        at_twice,
    )


def _measure(result: Result | None, check: Check, scheme: str) -> list[float]:
    """The numbers that are judged, one for each seed."""
    if check.among:
        each = [replace(check, args={**check.args, **args}, among=()) for args in check.among]
        found = [_measure(result, c, scheme) for c in each]
        return [max(of_seed) for of_seed in zip(*found, strict=True)]
    if check.metric.scope == "model":
        return [float(check.metric.function(**check.args))]
    if result is None:
        raise Unavailable(f"{check.metric.name} needs a result.")
    if check.metric.scope == "seeds":
        every = result.runs_of(_scheme_named(result, scheme))
        return [float(check.metric.function(every, **check.args))]
    sweep = check.sweep
    if sweep and sweep.best:
        runs = result.runs_of(_scheme_named(result, scheme))
        at = partial(_measure_at, result, check, scheme)
        return list(sweep.measure_best(runs, at))
    values = _by_seed(result, check, scheme)
    if not check.over:
        return list(values.values())
    others = _by_seed(result, check, check.over)
    if values.keys() != others.keys():
        raise Unavailable(f"{scheme} and {check.over} ran with different seeds.")
    if math.inf in others.values():
        found = quantity(math.inf, check.measured_unit)
        raise Unavailable(f"{check.metric.name} of {check.over} is {found}: there is no ratio.")
    return [_ratio(value, others[seed]) for seed, value in values.items()]


def _measure_at(result: Result, check: Check, scheme: str, sweep: Sweep) -> list[float]:
    return _measure(result, replace(check, sweep=sweep), scheme)


def _ratio(value: float, other: float) -> float:
    """Nothing is as much as nothing, and something is more than nothing, however little."""
    if other == 0:
        return 1.0 if value == 0 else math.copysign(math.inf, value)
    return value / other


def _by_seed(result: Result, check: Check, scheme: str) -> dict[int, float]:
    runs: dict[int, list[Run]] = {}
    for run in result.runs_of(_scheme_named(result, scheme)):
        runs.setdefault(run.row["seed"], []).append(run)
    metric = partial(check.metric.function, **check.args)
    if check.sweep:
        return {seed: check.sweep.measure(every, metric) for seed, every in runs.items()}
    for every in runs.values():
        if len(every) > 1:
            raise Unavailable(
                f"The result has {len(every)} runs of {scheme}; {check.metric.name} needs one."
            )
    return {seed: float(metric(run)) for seed, [run] in runs.items()}


def _scheme_named(result: Result, name: str) -> str:
    """The result's scheme that a claim calls `name`: "QCN" may be called "PFC+QCN"."""
    if name in result.schemes:
        return name
    for found in result.schemes:
        if canonical(found) == name:
            return found
    raise Unavailable(f"The result has no scheme {name}.")


def _limit_of(check: Check, scheme: str, measured: Mapping[str, float | None]) -> float | None:
    if check.judge == "expect":
        return float(check.limit[scheme])
    if check.judge in ("above_scheme", "below_scheme"):
        return measured.get(check.limit)
    return float(check.limit)


def _labelled(label: str, text: str) -> str:
    return f"{label}: {text}" if label else text


def _expected_text(check: Check) -> str:
    unit = check.unit
    if check.judge == "expect":
        text = listed(f"{named(s)} {quantity(float(v), unit)}" for s, v in check.limit.items())
    elif check.judge in ("above_scheme", "below_scheme"):
        word = "more" if check.judge == "above_scheme" else "less"
        text = f"{listed(map(named, check.schemes))} {word} than {named(check.limit)}"
    else:
        sign = "≥" if check.judge == "at_least" else "≤"
        text = f"{listed(map(named, check.schemes))} {sign} {quantity(float(check.limit), unit)}"
        text += " [assumed]" if check.assumed else ""
    return _labelled(check.label, text)


def measured_text(finding: Finding) -> str:
    """What a check measured, with the range of the seeds."""
    parts = []
    for scheme, value in finding.measured.items():
        text = f"{named(scheme)} {quantity(value, finding.unit)}"
        if scheme in finding.spread:
            low, high = finding.spread[scheme]
            text += f" ({number(low)} to {number(high)})"
        parts.append(text)
    return _labelled(finding.label, listed(parts))
