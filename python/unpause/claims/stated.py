"""The files that state claims: ``claims*.toml`` of every paper; docs/claims.md describes them."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unpause import papers
from unpause.claims.judges import MARGIN, Check
from unpause.metrics import METRICS, Metric
from unpause.metrics.sweep import Sweep
from unpause.text import nearest


class ClaimsError(Exception):
    """A claims file is wrong, or names an experiment that no claims file knows."""


@dataclass(frozen=True)
class Tried:
    """An experiment whose settings a claim is tried with.

    Attributes:
        experiment: Its id in ``paper.toml``.
        schemes: By a scheme of the claim those that stand for it there; by default the one of the
            same name, and those whose names begin with it and a comma.
        args: Arguments of the metric that differ there.
    """

    experiment: str
    schemes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    args: Mapping[str, Any] = field(default_factory=dict)


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
    tried: tuple[Tried, ...] = ()


_JUDGES = ("expect", "at_least", "at_most", "above_scheme", "below_scheme")
_CLAIM_KEYS = {"id", "kind", "text", "check", "note", "other_reading", "tried"}
_CHECK_KEYS = {
    *("metric", "args", "among", "sweep", "schemes", "tolerance", "label", "over", "assumed", "of"),
    *_JUDGES,
}
_TRIED_KEYS = {"experiment", "schemes", "args"}
_TOLERANCES = {"C", "Q", "D", "margin"}
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
        text = file.read_text("utf-8")
        data = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise ClaimsError(f"{file}: {error}") from error
    tolerances = _tolerances(data.get("tolerance", {}), str(file))
    lines = _Lines(file, text)
    stated = []
    for number, entry in enumerate(_tables(data, "claim", "claim", str(file))):
        name = entry.get("id", f"claim {number + 1}")
        where = f"{lines.of_claim(number)}: {name}"
        # What all checks have in common; of a single check, all of it.
        common = {key: value for key, value in entry.items() if key in _CHECK_KEYS}
        for key in ("id", "kind", "text", "check"):
            if key not in entry and not (key == "check" and common):
                raise ClaimsError(f"{where}: {key} is missing")
        _known(entry, _CLAIM_KEYS | _CHECK_KEYS, where)
        _typed(entry, where)
        checks = tuple(
            _read_check(
                {**common, **c}, entry["kind"], tolerances, f"{lines.of_check(number, at)}: {name}"
            )
            for at, c in enumerate(_tables(entry, "check", "claim.check", where) or [{}])
        )
        paper, note = data.get("paper", ""), entry.get("note", "")
        other = bool(entry.get("other_reading", False))
        tried = tuple(
            _read_tried(t, checks, where) for t in _tables(entry, "tried", "claim.tried", where)
        )
        stated.append(Stated(name, entry["kind"], entry["text"], paper, checks, note, other, tried))
    return stated


class _Lines:
    """Where a file says what: its claims and their checks, in the order of the file."""

    def __init__(self, file: Path, text: str) -> None:
        self._file = file
        #: By claim the line of its header, and those of its checks.
        self._claims: list[tuple[int, list[int]]] = []
        for number, line in enumerate(text.splitlines(), 1):
            header = line.partition("#")[0].strip()
            if header == "[[claim]]":
                self._claims.append((number, []))
            elif header == "[[claim.check]]" and self._claims:
                self._claims[-1][1].append(number)

    def of_claim(self, claim: int) -> str:
        """File and line of a claim; the file alone if it is written in another way."""
        known = claim < len(self._claims)
        return f"{self._file}:{self._claims[claim][0]}" if known else str(self._file)

    def of_check(self, claim: int, check: int) -> str:
        """File and line of a check, else of its claim."""
        checks = self._claims[claim][1] if claim < len(self._claims) else []
        return f"{self._file}:{checks[check]}" if check < len(checks) else self.of_claim(claim)


#: By key what its value is.
_NUMBER = "a number", (int, float)
_TEXT = "text", (str,)
_TABLE = "a table", (dict,)
_LIST = "a list", (list,)
_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    **dict.fromkeys(("id", "kind", "text", "note", "metric", "label", "over", "assumed"), _TEXT),
    **dict.fromkeys(("above_scheme", "below_scheme", "experiment"), _TEXT),
    **dict.fromkeys(("at_least", "at_most", "tolerance"), _NUMBER),
    **dict.fromkeys(("args", "sweep", "expect"), _TABLE),
    "among": _LIST,
    "other_reading": ("true or false", (bool,)),
}


def _typed(data: Mapping[str, Any], where: str) -> None:
    """Refuses values of another type than their keys take."""
    for key, value in data.items():
        what, types = _TYPES.get(key, ("", (object,)))
        _is(value, what, types, f"{where}: {key}")
    for scheme, value in data.get("expect", {}).items():
        _is(value, *_NUMBER, f"{where}: expect: {scheme}")
    for each in data.get("among", []):
        _is(each, *_TABLE, f"{where}: among")


def _is(value: Any, what: str, types: tuple[type, ...], where: str) -> None:
    if not isinstance(value, types) or (isinstance(value, bool) and types == _NUMBER[1]):
        raise ClaimsError(f"{where}: expected {what}, found {value!r}")


def _tables(data: Mapping[str, Any], key: str, header: str, where: str) -> list[Mapping[str, Any]]:
    """The tables of a key that may be repeated."""
    found = data.get(key, [])
    if not isinstance(found, list) or not all(isinstance(it, dict) for it in found):
        kind = "one table" if isinstance(found, dict) else repr(found)
        raise ClaimsError(f"{where}: {key}: expected tables under [[{header}]], found {kind}")
    return found


def _tolerances(data: Mapping[str, Any], file: str) -> dict[str, float]:
    _is(data, *_TABLE, f"{file}: tolerance")
    _known(data, _TOLERANCES, f"{file}: tolerance")
    for key, value in data.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise ClaimsError(f"{file}: tolerance: {key} is from 0 to below 1, found {value!r}")
    return {"margin": MARGIN, **{key: float(value) for key, value in data.items()}}


def _read_tried(data: Mapping[str, Any], checks: Iterable[Check], where: str) -> Tried:
    where = f"{where}: tried"
    _known(data, _TRIED_KEYS, where)
    _typed({key: data[key] for key in ("experiment", "args") if key in data}, where)
    _is(data.get("schemes", {}), *_TABLE, f"{where}: schemes")
    if not data.get("experiment"):
        raise ClaimsError(f"{where}: experiment is missing")
    schemes = {s: tuple(names) for s, names in data.get("schemes", {}).items()}
    own = {s for check in checks for s in (*check.schemes, check.over)}
    for scheme in schemes:
        if scheme not in own:
            raise ClaimsError(f"{where}: the claim has no scheme {scheme!r}{nearest(scheme, own)}")
    return Tried(data["experiment"], schemes, dict(data.get("args", {})))


def _read_check(
    data: Mapping[str, Any], kind: str, tolerances: Mapping[str, float], where: str
) -> Check:
    _known(data, _CHECK_KEYS, where)
    _typed(data, where)
    _is(data.get("schemes", []), *_LIST, f"{where}: schemes")
    name = str(data.get("metric", ""))
    if name not in METRICS:
        raise ClaimsError(f"{where}: unknown metric {name!r}{nearest(name, METRICS)}")
    metric, args = METRICS[name], dict(data.get("args", {}))
    among = tuple(data.get("among", ()))
    try:
        measured = () if metric.scope == "model" else (None,)
        for each in among or ({},):
            inspect.signature(metric.function).bind(*measured, **{**args, **each})
    except TypeError as error:
        raise ClaimsError(f"{where}: {name}: {error}") from error
    if metric.scope in ("seeds", "share") and "over" in data:
        raise ClaimsError(f"{where}: {name} is of all seeds: it has no ratio (`over`) by seed")
    if metric.scope != "run" and "sweep" in data:
        raise ClaimsError(f"{where}: {name} is not of one run: it cannot be taken over a sweep")
    try:
        sweep = Sweep.read(data["sweep"]) if "sweep" in data else None
    except ValueError as error:
        raise ClaimsError(f"{where}: {name}: sweep: {error}") from error
    judge = _judge_of(data, f"{where}: {name}")
    assumed = str(data.get("assumed", ""))
    schemes = tuple(data["expect"]) if judge == "expect" else tuple(data.get("schemes", ()))
    if not schemes:
        raise ClaimsError(f"{where}: {name}: schemes is missing")
    tolerance = float(data.get("tolerance", tolerances.get(kind, 0.25)))
    papers_own = "tolerance" in data or (kind == "C" and not assumed)
    return Check(
        metric,
        args,
        judge,
        data[judge],
        schemes,
        tolerance,
        str(data.get("label", "")),
        str(data.get("over", "")),
        sweep,
        among,
        assumed,
        slack=tolerance if papers_own and judge in ("at_least", "at_most") else 0.0,
        margin=tolerances["margin"],
        of=_runs_of_paper(data, metric, judge, f"{where}: {name}"),
    )


def _runs_of_paper(data: Mapping[str, Any], metric: Metric, judge: str, where: str) -> int:
    """The number of runs of which the paper states a share; 0 if the file does not say."""
    runs = data.get("of", 0)
    if "of" in data:
        if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
            raise ClaimsError(f"{where}: of is a number of runs, from 1, found {runs!r}")
        if metric.scope != "share" or judge in ("above_scheme", "below_scheme"):
            raise ClaimsError(f"{where}: of goes with a share of runs that the paper states")
    return runs


def _judge_of(data: Mapping[str, Any], where: str) -> str:
    judges = [j for j in _JUDGES if j in data]
    if len(judges) != 1:
        raise ClaimsError(f"{where}: expected one of {', '.join(_JUDGES)}, found {judges}")
    assumed, bound = str(data.get("assumed", "")), judges[0] in ("at_least", "at_most")
    if assumed and (assumed not in _ASSUMED or not bound):
        raise ClaimsError(
            f"{where}: assumed is one of {', '.join(_ASSUMED)}, beside at_least or at_most"
        )
    if assumed and "tolerance" in data:
        raise ClaimsError(f"{where}: a bound of ours (assumed) has no tolerance")
    if "tolerance" in data and judges[0] in ("above_scheme", "below_scheme"):
        raise ClaimsError(f"{where}: {judges[0]} names no number that could have a tolerance")
    return judges[0]


def _known(data: Iterable[str], known: Iterable[str], where: str) -> None:
    for key in data:
        if key not in known:
            raise ClaimsError(f"{where}: unknown key {key!r}{nearest(key, known)}")
