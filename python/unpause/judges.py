"""How a check judges the numbers of its schemes, and how numbers are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any

from unpause.metrics import Metric
from unpause.metrics.sweep import Sweep


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
    over: str = ""
    sweep: Sweep | None = None
    among: tuple[dict[str, Any], ...] = ()
    assumed: str = ""

    def at(self, times: float) -> Check:
        """This check with `times` its limit; or, if that is assumed "to 1", what it lacks to 1."""
        limit = float(self.limit)
        moved = 1 - (1 - limit) * times if self.assumed == "to 1" else limit * times
        return replace(self, limit=moved)

    @property
    def measured_unit(self) -> str:
        """Unit of the numbers that are measured."""
        return self.sweep.unit(self.metric.unit) if self.sweep else self.metric.unit

    @property
    def unit(self) -> str:
        """Unit of the numbers that are judged; times those of scheme `over` if there is one."""
        return f"× {self.over}" if self.over else self.measured_unit


def _judge_expect(check: Check, values: Mapping[str, float]) -> tuple[Verdict, str]:
    unit = check.unit
    percent = f"{check.tolerance * 100:g} %"
    allowed = {s: check.tolerance * abs(float(check.limit[s])) for s in values}
    off = [s for s, v in values.items() if not abs(v - float(check.limit[s])) <= allowed[s]]
    if not off:
        which = "" if len(values) == 1 else "all "
        found = listed(f"{s} {quantity(v, unit)}" for s, v in values.items())
        return Verdict.REPRODUCED, f"{found}: {which}within {percent} of the value expected."
    found = listed(
        f"{s} {quantity(values[s], unit)} {_deviation(values[s], float(check.limit[s]))}"
        for s in off
    )
    sentence = f"{found}, more than {percent} off."
    if check.over:
        return _order_of_ratios(check, {s: float(check.limit[s]) for s in off}, values, sentence)
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


def _order_of_ratios(
    check: Check, limits: Mapping[str, float], values: Mapping[str, float], sentence: str
) -> tuple[Verdict, str]:
    """The order of two schemes holds if their ratio is on the claimed side of 1."""
    other = [s for s, limit in limits.items() if not (values[s] - 1) * (limit - 1) > 0]
    if other:
        return Verdict.NOT_REPRODUCED, sentence
    pairs = listed(f"{s} {'>' if limit > 1 else '<'} {check.over}" for s, limit in limits.items())
    return Verdict.ORDER, f"{sentence} The order {pairs} is the same."


def _deviation(value: float, expected: float) -> str:
    if math.isinf(value) or 0 in (value, expected):
        return f"instead of {number(expected)}"
    ratio = value / expected
    if 0.5 <= ratio <= 2:
        side = "above" if ratio > 1 else "below"
        percent = abs(ratio - 1) * 100
        if percent < 1:
            return f"is {percent:.2g} % {side} {expected:.4g}"
        return f"is {percent:.0f} % {side} {number(expected)}"
    return f"is {number(ratio)} times {number(expected)}"


def _judge_bound(check: Check, values: Mapping[str, float]) -> tuple[Verdict, str]:
    limit, unit = float(check.limit), check.unit
    if check.judge == "at_least":
        holds, word = {s: v >= limit for s, v in values.items()}, "at least"
    else:
        holds, word = {s: v <= limit for s, v in values.items()}, "at most"
    bound = f"{word} {quantity(limit, unit)}"
    if all(holds.values()):
        found = listed(f"{s} {quantity(v, unit)}" for s, v in values.items())
        return Verdict.REPRODUCED, f"{found}: {bound}, as claimed."
    found = listed(f"{s} {quantity(values[s], unit)}" for s, ok in holds.items() if not ok)
    sentence = f"{found}, where {bound} is claimed."
    if check.over:
        broken = {s: limit for s, ok in holds.items() if not ok}
        return _order_of_ratios(check, broken, values, sentence)
    return Verdict.NOT_REPRODUCED, sentence


def _judge_against(check: Check, values: Mapping[str, float]) -> tuple[Verdict, str]:
    other, unit = check.limit, check.unit
    above = check.judge == "above_scheme"
    word = "more" if above else "less"
    reference = f"{other} {quantity(values[other], unit)}"
    ok = {
        s: (values[s] > values[other] if above else values[s] < values[other])
        for s in check.schemes
    }
    which = [s for s in check.schemes if ok[s] == all(ok.values())]
    found = listed(f"{s} {quantity(values[s], unit)}" for s in which)
    if all(ok.values()):
        return Verdict.REPRODUCED, f"{found}: {word} than {reference}, as claimed."
    return Verdict.NOT_REPRODUCED, f"{found}: not {word} than {reference}."


JUDGEMENTS = {
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
        return f"∞ {unit}" if unit.startswith("×") else "never within the run"
    return f"{number(value)} {unit}".rstrip()


def listed(parts: Iterable[str]) -> str:
    """`parts` as one text."""
    return ", ".join(parts)


def named(scheme: str) -> str:
    """A scheme's name in a list: in quotation marks if it has a comma itself."""
    return f"“{scheme}”" if "," in scheme else scheme
