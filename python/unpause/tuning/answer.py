"""The answer of a search, in lines for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unpause import plain, printed
from unpause.statistics.intervals import written
from unpause.statistics.student import quantile
from unpause.sweeps import axes
from unpause.sweeps.named import Named
from unpause.text import listed, percent, plural
from unpause.tuning.decision import Change
from unpause.tuning.outcome import Outcome
from unpause.tuning.space import Range, Setting

if TYPE_CHECKING:
    from unpause.tuning.answered import Answered, Neighbour

#: Width of the answer.
COLUMNS = 80
#: A neighbour that is worse by more than this makes a setting a needle.
_NEEDLE = 0.10
#: A parameter that moves the goal by less than this part does not matter.
_NO_MATTER = 0.02
_NAME, _CELL = 27, 17


def short_keys(keys: Sequence[str]) -> dict[str, str]:
    """The last steps of keys, as many as tell them apart."""
    steps = {key: axes.split_key(key) for key in keys}
    for count in range(1, max(map(len, steps.values())) + 1):
        found = {key: ".".join(each[-count:]) for key, each in steps.items()}
        if len(set(found.values())) == len(keys):
            return found
    return {key: key for key in keys}


def text(tuning: Answered) -> str:
    """The answer in lines of 80 columns."""
    lines = [*_head(tuning), "", *_table(tuning), "", *_sentences(tuning)]
    return "\n".join(lines)


def _head(tuning: Answered) -> list[str]:
    better = "more" if tuning.aim.goal.more_is_better else "less"
    head = f"{tuning.title}, {tuning.scheme}: {tuning.aim.goal.text} ({better} is better)"
    if tuning.aim.limits:
        head += f", with {listed([limit.text for limit in tuning.aim.limits])}"
    return [printed.wrapped(head, COLUMNS)]


def _compared(tuning: Answered) -> list[tuple[str, Outcome, Setting]]:
    """The columns of the table: head, what was measured, values."""
    found: list[tuple[str, Outcome, Setting]] = []
    if tuning.best:
        head = "best" if tuning.verdict.recommended else "best found"
        found.append((head, tuning.best, {**tuning.now, **tuning.best.setting}))
    now = {
        key: f"{_value(value)} (default)" if key in tuning.defaults else value
        for key, value in tuning.now.items()
    }
    found.append(("as it is", tuning.today, now))
    if tuning.literature:
        head = "literature"
        found.append((head, tuning.literature, {**tuning.now, **tuning.literature.setting}))
    return found


def _table(tuning: Answered) -> list[str]:
    columns = _compared(tuning)
    short = short_keys([each.key for each in tuning.parameters])
    rows: list[list[str]] = [["", *(head for head, _, _ in columns)]]
    for key, name in short.items():
        rows.append([name, *(_value(values.get(key)) for _, _, values in columns)])
    for at, condition in enumerate(tuning.conditions):
        name = f"  {condition_text(condition)}" if condition else tuning.aim.goal.text
        if at == 0 and condition:
            rows.append([tuning.aim.goal.text, *("" for _ in columns)])
        rows.append([name, *(_goal(tuning, each, at) for _, each, _ in columns)])
    changes = [
        "" if each is tuning.today else _change(tuning.change_of(each)) for _, each, _ in columns
    ]
    rows.append(["  change, 95 % interval", *changes])
    for at, limit in enumerate(tuning.aim.limits):
        cells = [_limit(each, at, limit.statistic, limit.sign) for _, each, _ in columns]
        missed = [each.missed(tuning.aim)[at] for _, each, _ in columns]
        cells = [
            f"{cell}, misses" if miss else cell for cell, miss in zip(cells, missed, strict=True)
        ]
        rows.append([f"worst {limit.statistic.text}", *cells])
    return [_row(row) for row in rows]


def _row(cells: Sequence[str]) -> str:
    name, *others = cells
    line = f"{_cut(name, _NAME - 1):<{_NAME}}"
    return (line + "".join(f"{_cut(cell, _CELL - 1):<{_CELL}}" for cell in others)).rstrip()


def _cut(cell: str, width: int) -> str:
    return cell if len(cell) <= width else f"{cell[: width - 1]}…"


def _value(value: Any) -> str:
    if value is None:
        return "default"
    return plain.line("by rate" if isinstance(value, Mapping) else str(value))


def condition_text(condition: Setting) -> str:
    """A condition in a few words, such as "load 0.3"; nothing for none."""
    if not condition:
        return ""
    short = short_keys(list(condition))
    return ", ".join(f"{short[key]} {value}" for key, value in condition.items())


def _goal(tuning: Answered, outcome: Outcome, condition: int) -> str:
    if outcome.refused:
        return "refused"
    runs = [run for (of, _), run in outcome.runs.items() if of == condition]
    found = [run.goal.at_least for run in runs if run.goal]
    if not found:
        return "-"
    bound = any(not (run.goal and run.goal.is_exact) for run in runs)
    return ("≥" if bound else "") + written(found, tuning.aim.goal.format.written)


def _limit(outcome: Outcome, at: int, statistic: Named, sign: str) -> str:
    found = [run.limits[at] for run in outcome.runs.values()]
    numbers = [each.at_least for each in found if each]
    if not numbers:
        return "-"
    worst = min(numbers) if sign in (">", ">=") else max(numbers)
    return statistic.format.written(worst)


def _signed(part: float) -> str:
    number = 100 * part
    return f"{'+' if number >= 0.05 else ''}{percent(number)}" if abs(number) >= 0.05 else "0 %"


def _change(found: Change) -> str:
    if math.isnan(found.mean):
        return "-"
    if math.isnan(found.low) or _signed(found.low) == _signed(found.high):
        return _signed(found.mean)
    low, high = (f"{100 * each:+.0f}" for each in (found.low, found.high))
    if low == high:
        return _signed(found.mean)
    return f"{_signed(found.mean)} ({low}..{high})"


def _sentences(tuning: Answered) -> list[str]:
    """The verdict and what supports it, each wrapped."""
    sentences = [_verdict(tuning)]
    if not tuning.verdict.recommended:
        sentences += _why_nothing(tuning)
    sentences.append(_matters(tuning))
    if tuning.neighbours:
        sentences.append(_robustness(tuning))
    if len(tuning.reverts) > 1:
        sentences.append(_reverts(tuning))
    sentences.append(_few_flows(tuning))
    sentences.append(_effort(tuning))
    return [printed.wrapped(plain.line(each), COLUMNS) for each in sentences if each]


def _effort(tuning: Answered) -> str:
    searched, whole = tuning.runs
    settings = plural(len(tuning.found.outcomes), "setting")
    sentence = f"{settings} in {plural(searched, 'run')}, {whole - searched:,} more on unseen seeds"
    if refused := sum(bool(each.refused) for each in tuning.found.outcomes):
        sentence += f"; {refused} refused"
    if tuning.sources:
        same = "" if tuning.literature else ", as it is"
        sentence += f". Literature: {tuning.sources}{same}"
    return f"{sentence}."


def _verdict(tuning: Answered) -> str:
    found = tuning.verdict.change
    if tuning.verdict.recommended:
        worse = tuning.aim.sign * found.mean
        if worse > 0:
            p = f", at {_signed(found.mean)} {tuning.aim.goal.kind}"
        else:
            p = "" if math.isnan(found.p) else f" ({_p(found.p)})"
        return f"Set the best: {tuning.verdict.why}{p}."
    if tuning.best is None and tuning.verdict.why.startswith("no setting"):
        return "Nothing is better than what is set: no other setting could be run."
    return f"Nothing is better than what is set: with the best found, {tuning.verdict.why}."


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def _why_nothing(tuning: Answered) -> list[str]:
    """Which limits nothing meets, and how near the search came."""
    tried = [each for each in tuning.found.outcomes if each.runs]
    lines = []
    if not tried:
        why = tuning.found.outcomes[0].refused if tuning.found.outcomes else ""
        return [f"All were refused, such as: {why.partition(chr(10))[0]}."]
    for at, limit in enumerate(tuning.aim.limits):
        missed = [(sum(limit.missed(r.limits[at]) for r in o.runs.values()), o) for o in tried]
        if min(part for part, _ in missed) > 0:
            nearest = min(missed, key=lambda each: each[0])[1]
            came = _limit(nearest, at, limit.statistic, limit.sign)
            lines.append(
                f"No setting meets {limit.text!r}: the nearest has {came}. Widen a range, vary "
                "another key, or loosen the limit."
            )
    if all(each.bounds() for each in tried):
        lines.append(
            f"Every setting leaves flows unfinished, so {tuning.aim.goal.text} is only a bound: "
            "make the run longer, or let traffic stop before its end."
        )
    return lines


def noise(tuning: Answered) -> float:
    """Half of the interval of the file's own goal, of one search run: below it nothing shows."""
    losses = list(tuning.scale.losses(tuning.aim, tuning.today).values())
    if len(losses) < 2:
        return 0.0
    mean = sum(losses) / len(losses)
    spread = math.sqrt(sum((each - mean) ** 2 for each in losses) / (len(losses) - 1))
    return quantile(len(losses) - 1, 0.975) * spread / math.sqrt(len(losses))


def base_loss(tuning: Answered) -> float:
    """The goal of the file as it is, to which effects are compared."""
    return abs(tuning.scale.loss(tuning.aim, tuning.today)) or 1.0


def _matters(tuning: Answered) -> str:
    short = short_keys([each.key for each in tuning.parameters])
    known = [each for each in tuning.influences if each.paths and math.isfinite(each.effect)]
    if not known:
        return ""
    base = base_loss(tuning)
    order = sorted(known, key=lambda each: -each.effect)
    effects = [(short[each.key], each.effect / base) for each in order]
    some = [f"{name} {percent(100 * part)}" for name, part in effects if part >= _NO_MATTER]
    none = [f"{name} {percent(100 * part)}" for name, part in effects if part < _NO_MATTER]
    lines = [f"What matters, as the mean change over most of a range: {', '.join(some)}"]
    lines += [f"what does not: {', '.join(none)}"]
    if not some:
        return f"No parameter matters; mean change over most of a range: {', '.join(none)}."
    return "; ".join(lines[: 1 + bool(none)]) + "."


def _robustness(tuning: Answered) -> str:
    short = short_keys([each.key for each in tuning.parameters])
    worse = [_worse(tuning, each) for each in tuning.neighbours]
    parts = []
    for key, name in short.items():
        mine = [each for each in tuning.neighbours if each.key == key]
        if mine:
            parts.append(f"{name} {', '.join(_neighbour(each) for each in mine)}")
    is_needle = any(part > _NEEDLE for part in worse)
    kind = "a needle: set it exactly" if is_needle else "robust"
    sentence = f"A step away: {'; '.join(parts)}: {kind}."
    if ends := _at_ends(tuning):
        sentence += f" {listed(ends)} at the end of the range; a wider one may be better."
    return sentence


def _at_ends(tuning: Answered) -> list[str]:
    """The parameters that matter and whose best value is the least or the largest of the range."""
    assert tuning.best is not None
    short = short_keys([each.key for each in tuning.parameters])
    base = base_loss(tuning)
    matter = {each.key for each in tuning.influences if each.effect / base >= _NO_MATTER}
    setting = tuning.best.setting
    return [
        short[each.key]
        for each in tuning.parameters
        if isinstance(each, Range)
        and each.key in matter
        and (at := each.position(setting.get(each.key))) is not None
        and not 0.02 < at < 0.98
    ]


def _worse(tuning: Answered, neighbour: Neighbour) -> float:
    """By which part a neighbour is worse than the best; infinite if it is no setting at all."""
    if neighbour.refused:
        return math.inf
    return 0.0 if math.isnan(neighbour.change.mean) else tuning.aim.sign * neighbour.change.mean


def _neighbour(each: Neighbour) -> str:
    return f"{each.value} {_why_not(each) or _signed(each.change.mean)}"


def _why_not(each: Neighbour) -> str:
    if not each.refused:
        return ""
    return "misses a limit" if each.refused.startswith("misses") else "refused"


def _reverts(tuning: Answered) -> str:
    short = short_keys([each.key for each in tuning.parameters])
    parts = []
    for each in tuning.reverts:
        parts.append(f"{short[each.key]} {_why_not(each) or _signed(each.change.mean)}")
    return f"The best, but with one as it is: {', '.join(parts)}."


def _few_flows(tuning: Answered) -> str:
    needed = tuning.aim.goal.flows_needed
    sized = [run.row.get("flows_sized") for run in tuning.today.runs.values()]
    least = min((each for each in sized if each is not None), default=0)
    if tuning.aim.goal.entry or not sized or least >= needed:
        return ""
    return (
        f"{tuning.aim.goal.text} is of {least:,} flows a run; from {needed:,} on no few of them "
        "decide it."
    )
