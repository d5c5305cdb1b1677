"""Links that failed, as a report shows them: a table of outages, and a sentence for each scheme."""

from __future__ import annotations

from dataclasses import dataclass, field

from unpause.data.result import Result, Run
from unpause.explanation import flap_lines, flaps
from unpause.explanation.flaps import PLACES, Flaps, Outage
from unpause.pages.summary import Summary
from unpause.text import plural, time

#: Outages of a run that have a row.
_MOST = 8

HEADS = [
    "scheme",
    "link",
    "down at",
    "ends rerouted after",
    "all rerouted after",
    "up at",
    "routes back after",
    *(f"lost {place}" for place in PLACES.values()),
    "of them data",
]


@dataclass(frozen=True)
class Failures:
    """What failed links did.

    Attributes:
        table: A row for each outage of each scheme; none if no link failed.
        sentences: Scheme, and who lost what and who was paused.
        note: Which run of several is told; empty for one.
    """

    table: Summary
    sentences: list[tuple[str, str]] = field(default_factory=list)
    note: str = ""


def of_result(result: Result) -> Failures:
    """The outages of the first run of each scheme; none of a sweep."""
    rows: list[list[str]] = []
    sentences = []
    if not result.axes and result.tables["link_changes"].num_rows:
        for scheme in result.schemes:
            run = result.runs_of(scheme)[0]
            if (told := flaps.of_run(run)) is not None:
                rows += _rows(run, told)
                sentences.append((scheme, flap_lines.whole(told)))
    several = result.runs.num_rows > len(result.schemes)
    seed = result.runs.column("seed")[0].as_py()
    note = f"Of seed {seed}." if sentences and several else ""
    return Failures(Summary(HEADS, rows), sentences, note)


def _rows(run: Run, told: Flaps) -> list[list[str]]:
    rows = [_row(run, outage) for outage in told.outages[:_MOST]]
    if rest := told.outages[_MOST:]:
        lost = [sum(it.lost[place].packets for it in rest) for place in PLACES]
        data = sum(loss.data_packets for it in rest for loss in it.lost.values())
        more = plural(len(rest), "more outage")
        rows.append([run.scheme, more, "", "", "", "", "", *(f"{n:,}" for n in [*lost, data])])
    return rows


def _row(run: Run, outage: Outage) -> list[str]:
    def after(at_ns: float | None, since_ns: float | None) -> str:
        return "never" if at_ns is None or since_ns is None else time(at_ns - since_ns)

    data = sum(loss.data_packets for loss in outage.lost.values())
    return [
        run.scheme,
        outage.name,
        time(outage.down_ns),
        after(outage.ends_moved_ns, outage.down_ns),
        after(outage.all_moved_ns, outage.down_ns),
        "never" if outage.up_ns is None else time(outage.up_ns),
        after(outage.back_ns, outage.up_ns),
        *(f"{outage.lost[place].packets:,}" for place in PLACES),
        f"{data:,}",
    ]
