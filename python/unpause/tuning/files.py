"""The files of an answer: the page, the section to paste, the table of settings, the picture."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unpause import plain
from unpause.data import beneath
from unpause.data.staged import TUNE_PAGES, Staged
from unpause.sweeps import axes
from unpause.tuning import picture
from unpause.tuning.answer import text
from unpause.tuning.answered import Answered
from unpause.tuning.search import optuna
from unpause.tuning.space import Setting


def section(tuning: Answered, setting: Setting) -> str:
    """The keys of a setting as TOML, to be put into the scenario's tables of the same names."""
    tables: dict[str, list[str]] = {}
    for key, value in setting.items():
        head, name = _table(tuning, axes.split_key(key))
        tables.setdefault(head, []).append(f"{name} = {json.dumps(value, ensure_ascii=False)}")
    blocks = ["\n".join([*([head] if head else []), *lines]) for head, lines in tables.items()]
    # Keys of no table come first, or they would be of the table before.
    order = sorted(zip(tables, blocks, strict=True), key=lambda each: each[0] != "")
    return "\n\n".join(block for _, block in order) + "\n"


def _table(tuning: Answered, steps: Sequence[str]) -> tuple[str, str]:
    """The head of the table that a key is in, and its name there."""
    kind = steps[0]
    if kind == "scheme":
        inner = ".".join(["scheme", *map(_bare, steps[2:-1])])
        top = f"# below the keys of scheme {json.dumps(tuning.scheme, ensure_ascii=False)}\n"
        entry = f"[[scheme]]\nname = {json.dumps(tuning.scheme, ensure_ascii=False)}"
        return (f"{top}[{inner}]" if len(steps) > 3 else entry), _bare(steps[-1])
    if kind in ("traffic", "job") and len(steps) > 2:
        entry = f"[[{kind}]]\nname = {json.dumps(steps[1], ensure_ascii=False)}"
        return entry, ".".join(map(_bare, steps[2:]))
    table = ".".join(map(_bare, steps[:-1]))
    return (f"[{table}]" if table else ""), _bare(steps[-1])


def _bare(step: str) -> str:
    return step if step.replace("_", "").replace("-", "").isalnum() else json.dumps(step)


def markdown(tuning: Answered) -> str:
    """The answer as a page."""
    lines = [f"# {plain.line(tuning.title)}", ""]
    lines += ["```text", text(tuning), "```", "", "![Trade-off](figures/tune.png)", ""]
    if tuning.recommended:
        lines += ["Put these keys into the tables of the same name:", "", "```toml"]
        lines += [section(tuning, tuning.recommended).rstrip("\n"), "```", ""]
    return "\n".join(lines)


def settings_csv(tuning: Answered) -> str:
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


def about(tuning: Answered, seed: int) -> dict[str, Any]:
    """For ``tune.json``: the question and the answer."""
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


def write(tuning: Answered, directory: Path) -> None:
    """Writes the answer's files into the directory of the search; its lock is held.

    Raises:
        ResultError: files that are not the answer's have their names.
    """
    with Staged(directory) as staged:
        staged.check(TUNE_PAGES)
        beneath.write(staged.folder / "answer.md", plain.clean(markdown(tuning)))
        beneath.write(staged.folder / "settings.csv", plain.clean(settings_csv(tuning)))
        if tuning.recommended:
            beneath.write(staged.folder / "best.toml", section(tuning, tuning.recommended))
        (staged.folder / "figures").mkdir()
        picture.save(tuning, staged.folder / "figures" / "tune")
        staged.commit()
