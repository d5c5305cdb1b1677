"""What the papers claim, judged from measured numbers.

Claims are data: ``claims/*.toml`` in the repository, installed beside this module. Each has checks;
a check measures one metric of :mod:`unpause.metrics` for some schemes and judges the numbers. A
claim is *reproduced* if all its checks hold, *order reproduced* if numbers differ but the order of
the schemes is the paper's, *not reproduced* otherwise, and *not evaluated* if the result lacks
what a check needs.
"""

from __future__ import annotations

import difflib
import inspect
import json
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from unpause.metrics import METRICS, Metric
from unpause.schemes import canonical
from unpause.series import Unavailable

if TYPE_CHECKING:
    from unpause.result import Result


class ClaimsError(Exception):
    """A claims file is wrong, or names an experiment that no claims file knows."""


class Verdict(StrEnum):
    """What became of a claim, from best to worst."""

    REPRODUCED = "reproduced"
    ORDER = "order reproduced"
    NOT_EVALUATED = "not evaluated"
    NOT_REPRODUCED = "not reproduced"

    @property
    def rank(self) -> int:
        """0 for the best."""
        return list(Verdict).index(self)


@dataclass(frozen=True)
class Check:
    """One check of a claim, as the file states it."""

    metric: Metric
    args: dict[str, Any]
    judge: str
    limit: Any
    schemes: tuple[str, ...]
    tolerance: float
    label: str = ""


@dataclass(frozen=True)
class Stated:
    """A claim as its file states it."""

    id: str
    kind: str
    text: str
    paper: str
    checks: tuple[Check, ...]
    note: str = ""


@dataclass
class Finding:
    """What one check found."""

    metric: str
    label: str
    unit: str
    judge: str
    expected: dict[str, float | None]
    measured: dict[str, float | None]
    tolerance: float | None
    verdict: Verdict
    why: str


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
        why: Sentences that give the reason, with the numbers.
        note: Best explanation, found by experiment, of why a claim does not hold; empty if it does.
        findings: One for each check.
    """

    id: str
    kind: str
    text: str
    source: str
    expected: str
    measured: str
    verdict: Verdict
    why: str
    note: str = ""
    findings: list[Finding] = field(default_factory=list)


_JUDGES = ("expect", "at_least", "at_most", "above_scheme", "below_scheme")
_CLAIM_KEYS = {"id", "kind", "text", "check", "note"}
_CHECK_KEYS = {"metric", "args", "schemes", "tolerance", "label", *_JUDGES}


def files() -> list[Path]:
    """The claims files installed with the package."""
    return sorted((Path(__file__).parent / "claims_data").glob("*.toml"))


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
        stated.append(Stated(name, entry["kind"], entry["text"], paper, checks, note))
    return stated


def _read_check(data: Mapping[str, Any], tolerance: float, where: str) -> Check:
    for key in data:
        if key not in _CHECK_KEYS:
            raise ClaimsError(f"{where}: unknown key {key!r}{_nearest(key, _CHECK_KEYS)}")
    name = str(data.get("metric", ""))
    if name not in METRICS:
        raise ClaimsError(f"{where}: unknown metric {name!r}{_nearest(name, METRICS)}")
    metric, args = METRICS[name], dict(data.get("args", {}))
    try:
        measured = () if metric.scope == "model" else (None,)
        inspect.signature(metric.function).bind(*measured, **args)
    except TypeError as error:
        raise ClaimsError(f"{where}: {name}: {error}") from error
    judges = [j for j in _JUDGES if j in data]
    if len(judges) != 1:
        raise ClaimsError(f"{where}: {name}: expected one of {', '.join(_JUDGES)}, found {judges}")
    judge = judges[0]
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
    )


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def evaluate(
    result: Result | None, experiments: Sequence[str], from_files: Sequence[Path] | None = None
) -> list[Claim]:
    """Judge every claim of `experiments` (``["PCN-F2"]``) against `result`.

    Args:
        result: What was measured; None judges claims about mechanisms and models alone, and
            the others are not evaluated.
        experiments: Parts of claim ids before the dot.
        from_files: Claims files; by default those installed with the package.

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
        claims += [_judge(result, c) for c in every if c.id.partition(".")[0] == experiment]
    return claims


def _judge(result: Result | None, stated: Stated) -> Claim:
    findings = [_find(result, check) for check in stated.checks]
    verdict = max((f.verdict for f in findings), key=lambda v: v.rank)
    sentences = list(dict.fromkeys(f.why for f in findings if f.verdict is verdict))
    return Claim(
        stated.id,
        stated.kind,
        stated.text,
        stated.paper,
        "; ".join(_expected_text(c) for c in stated.checks),
        "; ".join(_measured_text(f) for f in findings),
        verdict,
        " ".join(sentences),
        stated.note if verdict in (Verdict.ORDER, Verdict.NOT_REPRODUCED) else "",
        findings,
    )


def _find(result: Result | None, check: Check) -> Finding:
    wanted = list(check.schemes)
    if check.judge in ("above_scheme", "below_scheme"):
        wanted.append(check.limit)
    measured: dict[str, float | None] = {}
    missing = []
    for scheme in wanted:
        try:
            measured[scheme] = _measure(result, check, scheme)
        except Unavailable as error:
            measured[scheme] = None
            missing.append(str(error))
    if missing:
        verdict, why = Verdict.NOT_EVALUATED, " ".join(dict.fromkeys(missing))
    else:
        values = {s: v for s, v in measured.items() if v is not None}
        verdict, why = _JUDGEMENTS[check.judge](check, values)
    if check.label and verdict is not Verdict.NOT_EVALUATED:
        why = f"{check.label}: {why}"
    return Finding(
        check.metric.name,
        check.label,
        check.metric.unit,
        check.judge,
        {s: _limit_of(check, s, measured) for s in check.schemes},
        measured,
        check.tolerance if check.judge == "expect" else None,
        verdict,
        why,
    )


def _measure(result: Result | None, check: Check, scheme: str) -> float:
    if check.metric.scope == "model":
        return float(check.metric.function(**check.args))
    if result is None:
        raise Unavailable(f"{check.metric.name} needs a result.")
    runs = result.runs_of(_scheme_named(result, scheme))
    if check.metric.scope == "sweep":
        return float(check.metric.function(runs, **check.args))
    if len(runs) > 1:
        raise Unavailable(
            f"The result has {len(runs)} runs of {scheme}; {check.metric.name} needs one."
        )
    return float(check.metric.function(runs[0], **check.args))


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


def _judge_expect(check: Check, values: Mapping[str, float]) -> tuple[Verdict, str]:
    unit = check.metric.unit
    percent = f"{check.tolerance * 100:g} %"
    allowed = {s: check.tolerance * abs(float(check.limit[s])) for s in values}
    off = [s for s, v in values.items() if not abs(v - float(check.limit[s])) <= allowed[s]]
    if not off:
        which = "" if len(values) == 1 else "all "
        found = _list(f"{s} {quantity(v, unit)}" for s, v in values.items())
        return Verdict.REPRODUCED, f"{found}: {which}within {percent} of the value expected."
    found = _list(
        f"{s} {quantity(values[s], unit)} {_deviation(values[s], float(check.limit[s]))}"
        for s in off
    )
    sentence = f"{found}, more than {percent} off."
    if len(values) > 1:
        theirs = sorted(values, key=lambda s: float(check.limit[s]))
        # Equal numbers have no order.
        ours = sorted(values, key=lambda s: (values[s], theirs.index(s)))
        signs = ["<" if values[a] < values[b] else "=" for a, b in pairwise(ours)]
        order = " < ".join(theirs)
        found = ours[0] + "".join(f" {x} {s}" for x, s in zip(signs, ours[1:], strict=True))
        if found == order:
            return Verdict.ORDER, f"{sentence} The order {order} is the same."
        sentence += f" Expected order {order}, measured {found}."
    return Verdict.NOT_REPRODUCED, sentence


def _deviation(value: float, expected: float) -> str:
    if math.isinf(value) or 0 in (value, expected):
        return f"instead of {number(expected)}"
    ratio = value / expected
    if 0.5 <= ratio <= 2:
        side = "above" if ratio > 1 else "below"
        return f"is {abs(ratio - 1) * 100:.0f} % {side} {number(expected)}"
    return f"is {number(ratio)} times {number(expected)}"


def _judge_bound(check: Check, values: Mapping[str, float]) -> tuple[Verdict, str]:
    limit, unit = float(check.limit), check.metric.unit
    if check.judge == "at_least":
        holds, word = {s: v >= limit for s, v in values.items()}, "at least"
    else:
        holds, word = {s: v <= limit for s, v in values.items()}, "at most"
    bound = f"{word} {quantity(limit, unit)}"
    if all(holds.values()):
        found = _list(f"{s} {quantity(v, unit)}" for s, v in values.items())
        return Verdict.REPRODUCED, f"{found}: {bound}, as claimed."
    found = _list(f"{s} {quantity(values[s], unit)}" for s, ok in holds.items() if not ok)
    return Verdict.NOT_REPRODUCED, f"{found}, where {bound} is claimed."


def _judge_against(check: Check, values: Mapping[str, float]) -> tuple[Verdict, str]:
    other, unit = check.limit, check.metric.unit
    above = check.judge == "above_scheme"
    word = "more" if above else "less"
    reference = f"{other} {quantity(values[other], unit)}"
    ok = {
        s: (values[s] > values[other] if above else values[s] < values[other])
        for s in check.schemes
    }
    which = [s for s in check.schemes if ok[s] == all(ok.values())]
    found = _list(f"{s} {quantity(values[s], unit)}" for s in which)
    if all(ok.values()):
        return Verdict.REPRODUCED, f"{found}: {word} than {reference}, as claimed."
    return Verdict.NOT_REPRODUCED, f"{found}: not {word} than {reference}."


_JUDGEMENTS = {
    "expect": _judge_expect,
    "at_least": _judge_bound,
    "at_most": _judge_bound,
    "above_scheme": _judge_against,
    "below_scheme": _judge_against,
}


def number(value: float) -> str:
    """Three significant digits, without an exponent where that is readable."""
    if math.isinf(value):
        return "∞"
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.2e}"
    text = f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return text if "e" not in text else f"{value:.0f}"


def quantity(value: float | None, unit: str) -> str:
    """A number with its unit; ∞ as words."""
    if value is None:
        return "—"
    if math.isinf(value):
        return "never within the run"
    return f"{number(value)} {unit}".rstrip()


def _list(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _labelled(label: str, text: str) -> str:
    return f"{label}: {text}" if label else text


def _expected_text(check: Check) -> str:
    unit = check.metric.unit
    if check.judge == "expect":
        text = _list(f"{s} {quantity(float(v), unit)}" for s, v in check.limit.items())
    elif check.judge in ("above_scheme", "below_scheme"):
        word = "more" if check.judge == "above_scheme" else "less"
        text = f"{_list(check.schemes)} {word} than {check.limit}"
    else:
        sign = "≥" if check.judge == "at_least" else "≤"
        text = f"{_list(check.schemes)} {sign} {quantity(float(check.limit), unit)}"
    return _labelled(check.label, text)


def _measured_text(finding: Finding) -> str:
    values = finding.measured.items()
    return _labelled(finding.label, _list(f"{s} {quantity(v, finding.unit)}" for s, v in values))


_PARQUET = pa.schema(
    [
        ("claim", pa.string()),
        ("kind", pa.string()),
        ("text", pa.string()),
        ("claim_verdict", pa.string()),
        ("check", pa.uint16()),
        ("label", pa.string()),
        ("metric", pa.string()),
        ("unit", pa.string()),
        ("judge", pa.string()),
        ("tolerance", pa.float64()),
        ("scheme", pa.string()),
        ("expected", pa.float64()),
        ("measured", pa.float64()),
        ("check_verdict", pa.string()),
        ("why", pa.string()),
    ]
)


def to_table(claims: Sequence[Claim]) -> pa.Table:
    """One row for each claim, check and scheme."""
    rows = [
        {
            "claim": c.id,
            "kind": c.kind,
            "text": c.text,
            "claim_verdict": c.verdict.value,
            "check": i,
            "label": f.label,
            "metric": f.metric,
            "unit": f.unit,
            "judge": f.judge,
            "tolerance": f.tolerance,
            "scheme": scheme,
            "expected": f.expected.get(scheme),
            "measured": value,
            "check_verdict": f.verdict.value,
            "why": f.why,
        }
        for c in claims
        for i, f in enumerate(c.findings)
        for scheme, value in f.measured.items()
    ]
    return pa.Table.from_pylist(rows, schema=_PARQUET)


def write(claims: Sequence[Claim], directory: Path) -> None:
    """Write ``claims.json`` and ``claims.parquet`` into a result directory."""
    data = [_plain(asdict(c)) for c in claims]
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    (directory / "claims.json").write_text(text + "\n", "utf-8")
    pq.write_table(to_table(claims), directory / "claims.parquet")


def _plain(value: Any) -> Any:
    """JSON has no infinity: it is written as the string "inf"."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return value
