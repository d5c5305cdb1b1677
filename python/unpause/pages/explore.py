"""The interactive page of runs: fabric, spreading of PAUSE, series, congestion trees, tables.

``python -m unpause.pages.explore DIR`` writes ``explore.html`` into a result directory: one file
that opens without a network. Runs are kept whole as long as they fit into :data:`MOST_BYTES`; then
fewer rows of tables, PAUSEs that are close together as one, and fewer runs. The page says what is
left out. What ``unpause view`` serves and ``unpause compare`` writes is the same page.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

import unpause
from unpause import plain
from unpause.claims.claim import Claim, ClaimsError, judged
from unpause.data import beneath, schemes
from unpause.data.result import Result, Run, load
from unpause.errors import ResultError
from unpause.explanation import sentences
from unpause.pages import explored, markup, overview, unlike
from unpause.pages.explored import Detail
from unpause.pages.overview import Overview
from unpause.pages.summary import Summary, summarise
from unpause.sweeps import grouped
from unpause.text import value_text

#: Of a page in one file, the runs in it; scripts and figures of the fabric come to 0.2 MB more.
MOST_BYTES = 4_500_000
#: Lines of a chart: schemes, of each result.
MOST_SCHEMES = 12
#: Runs in one file; each takes up to a second to be read.
MOST_RUNS = 30
#: From the most detailed to the least detailed.
DETAILS = (Detail(2_000, 100_000), Detail(500, 20_000), Detail(100, 4_000))
_SCRIPTS = ("data", "fabric", "charts", "trees", "tables", "main")


@dataclass(frozen=True)
class Shown:
    """A run that a page has.

    Attributes:
        run: The run.
        line: Which of the page's schemes it is of.
        point: Which of its points: swept values, and the how many-th seed.
    """

    run: Run
    line: int
    point: int


@dataclass
class Explored:
    """What is shown: one result, or several side by side.

    Attributes:
        results: By name.
        differences: How the results differ: a table, and sentences.
        left_out: What the page lacks, one sentence each.
    """

    results: dict[str, Result]
    differences: tuple[Summary, list[str]] | None = None
    left_out: list[str] = field(default_factory=list)

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """The schemes of every result; those of one name have one colour."""
        every = [(at, name) for at, it in enumerate(self.results.values()) for name in it.schemes]
        # No two schemes have the same colour, and there are no more colours.
        coloured = list(dict.fromkeys(name for _, name in every))[: schemes.MOST_TOGETHER]
        shown = [it for it in every if it[1] in coloured][:MOST_SCHEMES]
        if len(shown) < len(every):
            self.left_out.append(f"All but the first {len(shown)} of {len(every)} schemes.")
        every = shown
        names = list(self.results)
        colours = schemes.colours(name for _, name in every)
        return [
            {
                "label": f"{names[at]}: {name}" if len(names) > 1 else name,
                "scheme": name,
                "result": at,
                "colour": colours[name],
            }
            for at, name in every
        ]

    @property
    def runs(self) -> list[Shown]:
        """All runs, those of a point together."""
        return self._placed[0]

    @property
    def points(self) -> list[str]:
        """What runs of a point have in common."""
        return self._placed[1]

    @cached_property
    def _placed(self) -> tuple[list[Shown], list[str]]:
        results = list(self.results.values())
        # The first seeds of several results are shown side by side, even if they differ.
        places: dict[tuple[Any, int], list[tuple[Run, int]]] = {}
        for number, line in enumerate(self.lines):
            result = results[line["result"]]
            seen: Counter[Any] = Counter()
            for run in result.runs_of(line["scheme"]):
                values = tuple((axis, run.row[axis]) for axis in result.axes)
                places.setdefault((values, seen[values]), []).append((run, number))
                seen[values] += 1
        shown = [
            Shown(run, line, point)
            for point, runs in enumerate(places.values())
            for run, line in runs
        ]
        return shown, [_label(values, runs) for (values, _), runs in places.items()]

    def about(
        self,
        claims: Sequence[Claim] = (),
        told: Sequence[tuple[str, str]] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """What a page has before any run is looked at; `told` are its sentences, if known."""
        results = list(self.results.values())
        several = len(results) > 1
        if self.differences is not None:
            summary, said = self.differences
        else:
            summary, said = summarise(grouped.Runs.of_result(results[0])), []
        # For several results the differences are enough.
        if several:
            told = []
        elif told is None:
            told = sentences.of_result(results[0])
        title = " / ".join(dict.fromkeys(result.title for result in results))
        return {
            "title": f"{title}: {', '.join(self.results)}" if several else title,
            "fabrics": [explored.fabric(self._runs_of(at)) for at in range(len(results))],
            "lines": self.lines,
            "points": self.points,
            "runs": [{"line": it.line, "point": it.point} for it in self.runs],
            "sentences": told,
            "overview": markup.overview(self._overview()),
            "summary": _as_json(summary),
            "differences": said,
            "claims": [_claim(claim) for claim in claims],
            "why": [explored.why_no_trees(result) for result in results],
            "leftOut": list(dict.fromkeys(self.left_out)),
            **more,
        }

    def _runs_of(self, result: int) -> list[Run]:
        """The runs of one result that the page may show."""
        return [it.run for it in self.runs if self.lines[it.line]["result"] == result][:MOST_RUNS]

    def _overview(self) -> Overview:
        results = list(self.results.values())
        if len(results) == 1:
            return overview.of_result(results[0])
        every = [grouped.Runs.of_result(result) for result in results]
        names = list(self.results)
        return overview.of_compared(names, every, unlike.workloads(names, every))


def _label(values: Sequence[tuple[str, Any]], runs: Sequence[tuple[Run, int]]) -> str:
    seeds = sorted({int(run.row["seed"]) for run, _ in runs})
    seed = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {', '.join(map(str, seeds))}"
    swept = [f"{name} {value_text(name, value)}" for name, value in values]
    return ", ".join([*swept, seed])


def _as_json(summary: Summary) -> dict[str, Any]:
    noise = summary.noise or [set() for _ in summary.rows]
    return {
        "heads": summary.heads,
        "rows": summary.rows,
        "noise": [sorted(columns) for columns in noise],
        "apart": [sorted(columns) for columns in summary.apart],
    }


def _claim(claim: Claim) -> dict[str, str]:
    return {
        "id": claim.id,
        "verdict": claim.verdict.value,
        "text": claim.text,
        "expected": claim.expected,
        "measured": claim.measured,
        "why": " ".join(filter(None, (claim.why, claim.assumed, claim.note))),
    }


def page(
    result: Result,
    claims: Sequence[Claim] | None = None,
    told: Sequence[tuple[str, str]] | None = None,
) -> str:
    """The page of a result, with its runs in it.

    Args:
        result: The result.
        claims: Its claims, judged, if that has been done.
        told: Its sentences, if they have been written.

    Raises:
        ResultError: it has too many nodes.
    """
    if claims is None:
        try:
            claims = judged(result)
        except ClaimsError:
            claims = ()  # the report says so
    return in_one_file(Explored({"": result}), claims, told=told)


def in_one_file(
    explored_: Explored,
    claims: Sequence[Claim] = (),
    report: bool = True,
    told: Sequence[tuple[str, str]] | None = None,
) -> str:
    """The page with its runs in it, as much of them as fits; `report` if that lies beside it."""
    frames = _frames(explored_)
    about = explored_.about(claims, told, report=report)
    about["runs"] = about["runs"][: len(frames)]
    return html(about, frames)


def _frames(explored_: Explored) -> list[str]:
    """The runs of the first points that fit; at least those of the first."""
    shown = explored_.runs
    points = [[it for it in shown if it.point == at] for at in range(len(explored_.points))]
    for detail in DETAILS:
        left_out: list[str] = []
        frames = [_frame(it.run, detail, left_out) for it in points[0]]
        if sum(map(len, frames)) <= MOST_BYTES:
            break
    for number, runs in enumerate(points[1:], 1):
        said: list[str] = []
        more = [] if len(frames) + len(runs) > MOST_RUNS else [
            _frame(it.run, detail, said) for it in runs
        ]  # fmt: skip
        if not more or sum(map(len, [*frames, *more])) > MOST_BYTES:
            left_out.append(f"All but the first {number} of {len(points)} seeds and swept values.")
            break
        frames += more
        left_out += said
    if left_out:
        what = "all of these schemes" if explored_.left_out else "everything"
        left_out.append(f"`unpause view` shows {what}.")
    explored_.left_out += left_out
    return frames


def _frame(run: Run, detail: Detail, left_out: list[str]) -> str:
    return base64.b64encode(explored.frame(run, detail, left_out)).decode()


def html(about: dict[str, Any], frames: Sequence[str] = ()) -> str:
    """The page, with these runs in it."""
    environment = Environment(
        loader=PackageLoader("unpause"), autoescape=True, undefined=StrictUndefined
    )
    files = resources.files("unpause")
    in_script = {name: value for name, value in about.items() if name != "overview"}
    here = files.joinpath("templates/explore")
    page = environment.get_template("explore/page.html").render(
        title=about["title"],
        version=unpause.__version__,
        uplot=files.joinpath("vendor/uplot/uPlot.iife.min.js").read_text("utf-8"),
        uplot_style=files.joinpath("vendor/uplot/uPlot.min.css").read_text("utf-8"),
        script="\n".join(here.joinpath(f"{it}.js").read_text("utf-8") for it in _SCRIPTS),
        style=here.joinpath("style.css").read_text("utf-8"),
        about=plain.in_json(json.dumps(in_script, separators=(",", ":"))).replace("<", "\\u003c"),
        frames=frames,
        reported=about["report"],
        overview=about["overview"],
    )
    return plain.clean(page)


def write(file: Path, text: str) -> None:
    """A page, which is there whole or not at all."""
    beneath.write(file, text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m unpause.pages.explore``; answers the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m unpause.pages.explore",
        description="Write the interactive page of a result.",
    )
    parser.add_argument("directory", type=Path, help="of a result")
    options = parser.parse_args(arguments)
    file = options.directory / "explore.html"
    try:
        write(file, page(load(options.directory)))
    except (ResultError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{file}: {file.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    from unpause import signals

    sys.exit(signals.run(main))
