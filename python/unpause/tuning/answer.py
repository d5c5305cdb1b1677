"""The answer of a search: for a terminal, as Markdown, and the section to paste."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unpause import plain, printed
from unpause.data import beneath
from unpause.data.staged import TUNE_PAGES, Staged
from unpause.statistics.intervals import written
from unpause.statistics.student import quantile
from unpause.sweeps import axes
from unpause.sweeps.named import Named
from unpause.text import listed, percent, plural
from unpause.tuning.decision import Change
from unpause.tuning.outcome import Outcome
from unpause.tuning.space import Range, Setting

if TYPE_CHECKING:
    from unpause.tuning.tune import Neighbour, Tuning

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


def text(tuning: Tuning) -> str:
    """The answer in lines of 80 columns."""
    lines = [*_head(tuning), "", *_table(tuning), "", *_sentences(tuning)]
    return "\n".join(lines)


def _head(tuning: Tuning) -> list[str]:
    better = "more" if tuning.aim.goal.more_is_better else "less"
    head = f"{tuning.title}, {tuning.scheme}: {tuning.aim.goal.text} ({better} is better)"
    if tuning.aim.limits:
        head += f", with {listed([limit.text for limit in tuning.aim.limits])}"
    return [printed.wrapped(head, COLUMNS)]


def _compared(tuning: Tuning) -> list[tuple[str, Outcome, Setting]]:
    """The columns of the table: head, what was measured, values."""
    found: list[tuple[str, Outcome, Setting]] = []
    if tuning.best:
        head = "best" if tuning.verdict.recommended else "best found"
        found.append((head, tuning.best, tuning.best.setting))
    now = {
        key: f"{_value(value)} (default)" if key in tuning.defaults else value
        for key, value in tuning.now.items()
    }
    found.append(("as it is", tuning.today, now))
    if tuning.literature:
        head = "literature"
        found.append((head, tuning.literature, {**tuning.now, **tuning.literature.setting}))
    return found


def _table(tuning: Tuning) -> list[str]:
    columns = _compared(tuning)
    short = short_keys([each.key for each in tuning.parameters])
    rows: list[list[str]] = [["", *(head for head, _, _ in columns)]]
    for key, name in short.items():
        rows.append([name, *(_value(values.get(key)) for _, _, values in columns)])
    for at, condition in enumerate(tuning.conditions):
        name = f"  {_condition(condition)}" if condition else tuning.aim.goal.text
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


def _condition(condition: Setting) -> str:
    short = short_keys(list(condition))
    return ", ".join(f"{short[key]} {value}" for key, value in condition.items())


def _goal(tuning: Tuning, outcome: Outcome, condition: int) -> str:
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


def _sentences(tuning: Tuning) -> list[str]:
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
    if tuning.sources:
        same = "" if tuning.literature else ", whose values are set already"
        sentences.append(f"Literature: {tuning.sources}{same}.")
    sentences.append(_effort(tuning))
    return [printed.wrapped(plain.line(each), COLUMNS) for each in sentences if each]


def _effort(tuning: Tuning) -> str:
    searched, whole = tuning.runs
    settings = plural(len(tuning.found.outcomes), "setting")
    sentence = f"{settings} in {plural(searched, 'run')}, {whole - searched:,} more on unseen seeds"
    refused = [each.refused for each in tuning.found.outcomes if each.refused]
    if refused:
        why = refused[0].partition("\n")[0]
        sentence += f"; {len(refused)} could not be run ({why})"
    return f"{sentence}."


def _verdict(tuning: Tuning) -> str:
    found = tuning.verdict.change
    if tuning.verdict.recommended:
        p = "" if math.isnan(found.p) else f" ({_p(found.p)})"
        return f"Set the best: {tuning.verdict.why}{p}."
    if tuning.best is None and tuning.verdict.why.startswith("no setting"):
        return "Nothing is better than what is set: no other setting could be run."
    return f"Nothing is better than what is set: of the best found, {tuning.verdict.why}."


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def _why_nothing(tuning: Tuning) -> list[str]:
    """Which limits nothing meets, and how near the search came."""
    tried = [each for each in tuning.found.outcomes if each.runs]
    lines = []
    for at, limit in enumerate(tuning.aim.limits):
        missed = [(sum(limit.missed(r.limits[at]) for r in o.runs.values()), o) for o in tried]
        if missed and min(part for part, _ in missed) > 0:
            nearest = min(missed, key=lambda each: each[0])[1]
            came = _limit(nearest, at, limit.statistic, limit.sign)
            lines.append(
                f"No setting meets {limit.text!r}: the nearest has {came}. Widen a range, vary "
                "another key, or loosen the limit."
            )
    if tried and all(each.bounds() for each in tried):
        lines.append(
            f"Every setting leaves flows unfinished, so {tuning.aim.goal.text} is only a bound: "
            "make the run longer, or let traffic stop before its end."
        )
    return lines


def noise(tuning: Tuning) -> float:
    """Half of the interval of the file's own goal, of one search run: below it nothing shows."""
    losses = list(tuning.scale.losses(tuning.aim, tuning.today).values())
    if len(losses) < 2:
        return 0.0
    mean = sum(losses) / len(losses)
    spread = math.sqrt(sum((each - mean) ** 2 for each in losses) / (len(losses) - 1))
    return quantile(len(losses) - 1, 0.975) * spread / math.sqrt(len(losses))


def base_loss(tuning: Tuning) -> float:
    """The goal of the file as it is, to which effects are compared."""
    return abs(tuning.scale.loss(tuning.aim, tuning.today)) or 1.0


def _matters(tuning: Tuning) -> str:
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


def _robustness(tuning: Tuning) -> str:
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
        sentence += f" {listed(ends)} at the end of the range: try a wider one."
    return sentence


def _at_ends(tuning: Tuning) -> list[str]:
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
        and not 0.02 < (each.position(setting[each.key]) or 0.0) < 0.98
    ]


def _worse(tuning: Tuning, neighbour: Neighbour) -> float:
    """By which part a neighbour is worse than the best; infinite if it is no setting at all."""
    if neighbour.refused:
        return math.inf
    return 0.0 if math.isnan(neighbour.change.mean) else tuning.aim.sign * neighbour.change.mean


def _neighbour(each: Neighbour) -> str:
    what = "refused" if each.refused and not each.refused.startswith("misses") else each.refused
    return f"{each.value} {what or _signed(each.change.mean)}"


def _reverts(tuning: Tuning) -> str:
    short = short_keys([each.key for each in tuning.parameters])
    parts = []
    for each in tuning.reverts:
        if each.refused:
            parts.append(f"{short[each.key]} ({each.refused})")
        else:
            parts.append(f"{short[each.key]} {_signed(each.change.mean)}")
    return f"The best, but with one as it is: {', '.join(parts)}."


def _few_flows(tuning: Tuning) -> str:
    needed = tuning.aim.goal.flows_needed
    sized = [run.row.get("flows_sized") for run in tuning.today.runs.values()]
    least = min((each for each in sized if each is not None), default=0)
    if tuning.aim.goal.entry or not sized or least >= needed:
        return ""
    return (
        f"{tuning.aim.goal.text} is of {least:,} flows a run; from {needed:,} on no few of them "
        "decide it."
    )


def section(tuning: Tuning, setting: Setting) -> str:
    """The keys of a setting as TOML, to be pasted into the scenario's tables."""
    tables: dict[tuple[str, ...], list[str]] = {}
    for key, value in setting.items():
        steps = axes.split_key(key)
        named = steps[0] in ("scheme", "traffic", "job") and len(steps) > 2
        head = (
            (steps[0], tuning.scheme if steps[0] == "scheme" else steps[1])
            if named
            else (".".join(map(_bare, steps[:-1])),)
        )
        rest = steps[2:] if named else steps[-1:]
        tables.setdefault(head, []).append(f"{'.'.join(map(_bare, rest))} = {_toml(value)}")
    blocks = []
    for head, lines in tables.items():
        top = f"[{head[0]}]" if len(head) == 1 else f"[[{head[0]}]]\nname = {json.dumps(head[1])}"
        blocks.append("\n".join([*([top] if head[0] else []), *lines]))
    return "\n\n".join(sorted(blocks, key=lambda block: block.startswith("["))) + "\n"


def _bare(step: str) -> str:
    return step if step.replace("_", "").replace("-", "").isalnum() else json.dumps(step)


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def markdown(tuning: Tuning) -> str:
    """The answer as a page."""
    lines = [f"# {plain.line(tuning.title)}", ""]
    lines += ["```text", text(tuning), "```", "", "![Trade-off](figures/tune.png)", ""]
    if tuning.recommended:
        lines += ["Put these keys into the tables of the same name:", "", "```toml"]
        lines += [section(tuning, tuning.recommended).rstrip("\n"), "```", ""]
    return "\n".join(lines)


def settings_csv(tuning: Tuning) -> str:
    """A row for each setting of the search, in its order."""
    sink = io.StringIO()
    keys = [each.key for each in tuning.parameters]
    limits = [limit.statistic.text for limit in tuning.aim.limits]
    writer = csv.writer(sink, lineterminator="\n")
    goal = tuning.aim.goal.text
    writer.writerow(["number", *keys, goal, "only_a_bound", *limits, "meets_limits", "refused"])
    for number, each in enumerate(tuning.found.outcomes, 1):
        loss = tuning.scale.loss(tuning.aim, each)
        worst = [
            max(
                (run.limits[at].at_least for run in each.runs.values() if run.limits[at]),
                default="",
            )
            for at in range(len(limits))
        ]
        writer.writerow(
            [
                number,
                *(each.setting[key] for key in keys),
                "" if math.isinf(loss) else tuning.aim.sign * loss,
                each.bounds() > 0,
                *worst,
                each.violation(tuning.aim) == 0,
                each.refused.partition("\n")[0],
            ]
        )
    return sink.getvalue()


def about(tuning: Tuning, seed: int) -> dict[str, Any]:
    """For ``tune.json``: the question and the answer."""
    from unpause.tuning.search import optuna

    found = tuning.verdict.change
    numbers = {name: getattr(found, name) for name in ("mean", "low", "high", "p", "seeds")}
    return {
        "axes": {each.key: list(each.ends) for each in tuning.parameters},
        "points": tuning.runs[1],
        "goal": tuning.aim.goal.text,
        "subject_to": [limit.text for limit in tuning.aim.limits],
        "scheme": tuning.scheme,
        "search": {"seed": seed, "optuna": optuna().__version__, "runs": tuning.runs[0]},
        "best": dict(tuning.best.setting) if tuning.best else None,
        "as_it_is": dict(tuning.now),
        "recommended": tuning.verdict.recommended,
        "why": tuning.verdict.why,
        "change": {k: None if math.isnan(v) else v for k, v in numbers.items()},
        "influence": {
            each.key: each.effect if math.isfinite(each.effect) else None
            for each in tuning.influences
        },
    }


def write(tuning: Tuning, directory: Path) -> None:
    """Writes the answer's files into the directory of the search; its lock is held.

    Raises:
        ResultError: files that are not the answer's have their names.
    """
    from unpause.tuning import picture

    with Staged(directory) as staged:
        staged.check(TUNE_PAGES)
        beneath.write(staged.folder / "answer.md", plain.clean(markdown(tuning)))
        beneath.write(staged.folder / "settings.csv", plain.clean(settings_csv(tuning)))
        if tuning.recommended:
            beneath.write(staged.folder / "best.toml", section(tuning, tuning.recommended))
        (staged.folder / "figures").mkdir()
        picture.save(tuning, staged.folder / "figures" / "tune")
        staged.commit()
