"""Claims of papers, judged from measured numbers.

Claims are data (:mod:`unpause.claims.stated`). Each has checks; a check measures one metric of
:mod:`unpause.metrics` for some schemes, of one run or over a sweep (``sweep``), and judges the
numbers, or their ratios to another scheme's (``over``). Where a scheme ran with several seeds, the
median counts; ratios are between runs with the same seed. docs/claims.md has the rule: a claim is
*reproduced* if all its checks hold, *order reproduced* if numbers differ but the order of the
schemes is the paper's beyond a margin and with every seed, *not judged* if something random ran
with too few seeds, or if their spread hides what is claimed, *not evaluated* if the result lacks
what a check needs, and *not reproduced* otherwise. Where a limit is ours (``assumed``), the claim
says what it would be at half and at twice that limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from unpause.claims import counted, effects, measuring, wording
from unpause.claims.judges import JUDGEMENTS, LEAST_SEEDS, Check, Numbers, Verdict
from unpause.claims.stated import ClaimsError, Stated, files, read
from unpause.claims.wording import labelled, listed, named, quantity
from unpause.data.series import Unavailable
from unpause.text import nearest

if TYPE_CHECKING:
    from unpause.data.result import Result

__all__ = [
    "Claim",
    "ClaimsError",
    "Counted",
    "Finding",
    "Verdict",
    "evaluate",
    "files",
    "judged",
    "read",
]


@dataclass
class Finding:
    """What one check found.

    Attributes:
        measured: By scheme the median of the seeds.
        spread: By scheme the smallest and the largest of the seeds, of a share its 95 % interval.
        seeds: By scheme how many runs had what is measured, and how many there were; only where
            some had not.
        verdict: What became of the check.
        by_these: What it would be with at least three seeds like these; only if not judged.
    """

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
    seeds: dict[str, tuple[int, int]] = field(default_factory=dict)
    by_these: Verdict | None = None


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
        expected: The paper's values, as text; checks are separated by "; ".
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


class UnknownClaims(ClaimsError):
    """No claims file knows an experiment.

    Attributes:
        experiment: Its name.
    """

    def __init__(self, experiment: str, hint: str) -> None:
        self.experiment = experiment
        super().__init__(f"no claims for experiment {experiment!r}{hint}")


def judged(result: Result, experiments: Sequence[str] | None = None) -> list[Claim]:
    """Judge the claims that the scenario names, or those of `experiments` (``["PCN-F2"]``).

    Raises:
        ClaimsError: no file has claims of an experiment.
    """
    asked = result.scenario.get("report", {})
    chosen = asked.get("claims", []) if experiments is None else experiments
    return evaluate(result, list(chosen), other_reading=asked.get("other_reading", False))


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
    if not experiments:
        return []
    every = [claim for file in _naming(from_files or files(), experiments) for claim in read(file)]
    known = list(dict.fromkeys(c.id.partition(".")[0] for c in every))
    claims = []
    for experiment in experiments:
        if experiment not in known:
            near = nearest(experiment, known)
            raise UnknownClaims(experiment, near or f" (known: {', '.join(_short(known))})")
        claims += [
            _judge(result, c, other_reading) for c in every if c.id.partition(".")[0] == experiment
        ]
    return claims


def _short(names: Sequence[str]) -> list[str]:
    """The names of each paper as one, such as "PCN-…": there are more than a hundred."""
    return list(dict.fromkeys(f"{name.partition('-')[0]}-…" for name in names))


def _naming(claims_files: Sequence[Path], experiments: Sequence[str]) -> list[Path]:
    """Those that mention one of `experiments`; all if one is nowhere: reading TOML takes long."""
    texts = {file: _bytes(file) for file in claims_files}
    mentioned = [f"{experiment}.".encode() for experiment in experiments]
    if not all(any(it in text for text in texts.values()) for it in mentioned):
        return list(claims_files)
    return [file for file, text in texts.items() if any(it in text for it in mentioned)]


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # for :func:`read` to report, if it is needed
        return b""


def _judge(result: Result | None, stated: Stated, other_reading: bool) -> Claim:
    findings = [find(result, check) for check in stated.checks]
    verdict = max((f.verdict for f in findings), key=lambda v: v.rank)
    sentences = list(dict.fromkeys(f.why for f in findings if f.verdict is verdict))
    labels = _labels(stated.checks)
    pairs = list(zip(stated.checks, findings, labels, strict=True))
    return Claim(
        stated.id,
        stated.kind,
        stated.text,
        stated.paper,
        "; ".join(_expected_text(c, label, stated.text) for c, _, label in pairs),
        "; ".join(measured_text(f, label, stated.text) for _, f, label in pairs),
        verdict,
        _counted(stated, other_reading),
        " ".join(sentences),
        stated.note if _has_reason(verdict, findings) else "",
        _decided_by_us(stated.checks, findings, verdict),
        findings,
    )


def _has_reason(verdict: Verdict, findings: Sequence[Finding]) -> bool:
    """Whether a note explains the verdict: not where it is for too few seeds only."""
    if verdict is Verdict.NOT_JUDGED:
        return not any(finding.by_these for finding in findings)
    return verdict in (Verdict.ORDER, Verdict.NOT_REPRODUCED)


def _labels(checks: Sequence[Check]) -> list[str]:
    """The labels of the checks; one that several checks share tells nothing."""
    if len(checks) > 1 and len({check.label for check in checks}) == 1:
        return [""] * len(checks)
    return [check.label for check in checks]


def _counted(stated: Stated, other_reading: bool) -> Counted:
    if other_reading or stated.other_reading:
        return Counted.READING
    return Counted.DERIVATION if stated.kind == "D" else Counted.PAPER


def _decided_by_us(checks: Sequence[Check], findings: Sequence[Finding], verdict: Verdict) -> str:
    """Verdicts at half and twice each assumed limit, where they differ."""
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
        sentences.append(labelled(check.label, f"the limit is assumed; at {limits}."))
    return " ".join(sentences)


def find(result: Result | None, check: Check) -> Finding:
    """What one check finds in a result."""
    wanted = list(check.schemes)
    if check.judge in ("above_scheme", "below_scheme"):
        wanted.append(check.limit)
    values: dict[str, Numbers] = {}
    missing = []
    at_half = at_twice = by_these = None
    for scheme in wanted:
        try:
            values[scheme] = measuring.measure(result, check, scheme)
        except Unavailable as error:
            missing.append(str(error))
    measured = {s: values[s].median if s in values else None for s in wanted}
    if missing:
        verdict, why = Verdict.NOT_EVALUATED, " ".join(dict.fromkeys(missing))
    else:
        judge = counted.judge if check.metric.scope == "share" else JUDGEMENTS[check.judge]
        verdict, why = judge(check, values)
        few = _too_few(result, values)
        if few:
            by_these, verdict = verdict, Verdict.NOT_JUDGED
            why = f"{few} With it alone: {by_these.value}. {why}"
        elif lost := effects.lost(result, check, values):
            verdict, why = Verdict.NOT_JUDGED, f"{why} {lost}"
        elif check.assumed:
            at_half, at_twice = (judge(check.at(t), values)[0] for t in (0.5, 2))
        why = " ".join([why, *(_had(s, v) for s, v in values.items() if v.lacking)])
    if check.label and verdict is not Verdict.NOT_EVALUATED:
        why = f"{check.label}: {why}"
    return Finding(
        check.metric.name,
        str(check.sweep or ""),
        check.label,
        check.unit,
        check.judge,
        measuring.limits(check, measured),
        measured,
        {s: v.ends for s, v in values.items() if len(v.by_seed) > 1 or v.count},
        check.tolerance if check.judge == "expect" else check.slack or None,
        verdict,
        why,
        check.assumed,
        at_half,
        at_twice,
        {s: (len(v.by_seed), v.seeds) for s, v in values.items() if v.lacking},
        by_these,
    )


def _too_few(result: Result | None, values: dict[str, Numbers]) -> str:
    """A note that something random was run with too few seeds; empty if it was not."""
    fewest = min(v.seeds for v in values.values())
    if not 0 < fewest < LEAST_SEEDS or result is None or result.same_with_any_seed:
        return ""
    seeds = "One seed" if fewest == 1 else "Two seeds"
    return f"{seeds}: a verdict needs {LEAST_SEEDS}, because runs are random."


def _had(scheme: str, found: Numbers) -> str:
    return f"{len(found.by_seed)} of {found.seeds} runs of {scheme} count: {found.lacking}"


def _expected_text(check: Check, label: str, said: str) -> str:
    if check.judge in ("above_scheme", "below_scheme"):
        word = "more" if check.judge == "above_scheme" else "less"
        text = f"{listed(map(named, check.schemes))} {word} than {named(check.limit)}"
        return labelled(label, text)
    schemes = _names(check.schemes, label, said)
    if check.judge == "expect":
        values = [float(check.limit[s]) for s in check.schemes]
        texts = dict(zip(schemes, map(wording.number, values), strict=True))
        return labelled(label, wording.numbers(texts, values, check.unit))
    limit, least = float(check.limit), check.judge == "at_least"
    text = f"{'at least' if least else 'at most'} {quantity(limit, check.unit)}"
    if limit == 0 and not least and not check.over and check.unit:
        text = f"no {check.unit}"
    names = listed(named(s) for s in schemes if s)
    text = f"{names}: {text}" if names else text
    return labelled(label, text + (" (our limit)" if check.assumed else ""))


def measured_text(finding: Finding, label: str | None = None, said: str = "") -> str:
    """What a check measured, with the range of the seeds.

    Args:
        finding: What the check found.
        label: What the number is; by default the check's own label.
        said: A text that is beside it: a single scheme that it names is not named again.
    """
    label = finding.label if label is None else label
    schemes = _names(list(finding.measured), label, said)
    values = list(finding.measured.values())
    each = [wording.spread(v, finding.spread.get(s)) for s, v in finding.measured.items()]
    texts = dict(zip(schemes, each, strict=True))
    had = [
        f"{f'{named(name)} ' if name else ''}in {h[0]} of {h[1]} runs"
        for name, h in zip(schemes, map(finding.seeds.get, finding.measured), strict=True)
        if h
    ]
    end = f" ({listed(had)})" if had else ""
    return labelled(label, wording.numbers(texts, values, finding.unit) + end)


def _names(schemes: Sequence[str], label: str, said: str) -> list[str]:
    """The names to write before numbers: none for the only one, if it is named already."""
    if len(schemes) == 1 and (schemes[0] in label or schemes[0] in said):
        return [""]
    return list(schemes)
