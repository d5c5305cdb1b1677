"""Numbers of one run, from its tables and its summary, listed in ``recorded.py``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import completion, lives, series
from unpause.data.result import Run
from unpause.explanation import story
from unpause.statistics.censored import Estimate, Sample


class Facts:
    """What statistics of one run are computed from; each is read once."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._tables: dict[str, pa.Table] = {}

    def table(self, name: str) -> pa.Table:
        """A table of the run; of `flows` only what counts."""
        if name not in self._tables:
            of_flows = name == "flows"
            self._tables[name] = self.run.counted_flows() if of_flows else self.run.table(name)
        return self._tables[name]

    @cached_property
    def fct(self) -> Sample:
        """FCT of the flows with a size, ns."""
        return completion.fct_ns(self.table("flows"), self.run.row)

    @cached_property
    def slowdown(self) -> Sample:
        """Slowdown of the flows with a size."""
        return completion.slowdown(self.table("flows"), self.run.row)

    @cached_property
    def summary(self) -> Any:
        """The run's summary; None for results with very many runs."""
        if self.run.result.runs.num_rows > story.MOST_RUNS:
            return None
        runs = story.of_result(self.run.result)[self.run.scheme]
        return next(summary for summary in runs if summary.run == self.run)

    @cached_property
    def watched(self) -> list[Any]:
        """The watched entries with flows that have no size."""
        entries = self.summary.watched if self.summary else []
        return [entry for entry in entries if entry.sized < entry.flows]

    @cached_property
    def around(self) -> list[Any]:
        """What the watched entries did around the burst, where recovery was looked for."""
        around = [entry.around for entry in self.watched if entry.around]
        return [each for each in around if each.at_least_ns is not None]


def total(table: str, name: str) -> Callable[[Facts], int]:
    """Computes the sum of a column."""
    return lambda facts: int(pc.sum(facts.table(table).column(name)).as_py() or 0)


def mean(sample: Sample) -> Estimate | None:
    """The mean of a sample."""
    return sample.mean()


def percentile(percent: float) -> Callable[[Sample], Estimate | None]:
    """Computes a percentile of a sample."""
    return lambda sample: sample.percentile(percent)


def value(of: Callable[[Sample], Estimate | None], name: str) -> Callable[[Facts], float | None]:
    """Computes a statistic of the sample `name`; None where only a bound is known."""

    def known(facts: Facts) -> float | None:
        estimate = of(getattr(facts, name))
        return estimate.value if estimate else None

    return known


def at_least(of: Callable[[Sample], Estimate | None], name: str) -> Callable[[Facts], float | None]:
    """Computes a statistic of the sample `name`, or its lower bound; None without flows."""

    def bound(facts: Facts) -> float | None:
        estimate = of(getattr(facts, name))
        return estimate.at_least if estimate else None

    return bound


def goodput_bps(facts: Facts) -> float | None:
    """The goodput of all flows together while any was under way; None without a flow."""
    return lives.goodput_bps(facts.run, facts.table("flows"))


def flows_sized(facts: Facts) -> int:
    """The flows started that have a size."""
    flows = facts.table("flows")
    return flows.num_rows - flows.column("size_bytes").null_count


def of_victims(of: Callable[[Any], Any]) -> Callable[[Facts], Any]:
    """Computes a number from the run's summary; None where victims are unknown."""

    def known(facts: Facts) -> Any:
        summary = facts.summary
        return of(summary) if summary and summary.victims is not None else None

    return known


def of_link(of: Callable[[Any], Any]) -> Callable[[Facts], Any]:
    """Computes a number from the most congested link; None if there is none."""

    def known(facts: Facts) -> Any:
        summary = facts.summary
        return of(summary.carried) if summary and summary.carried is not None else None

    return known


def watched_bps(facts: Facts) -> float | None:
    """The goodput of watched flows during the burst, else their mean; None if none is watched."""
    if not facts.watched:
        return None
    return sum(
        entry.around.during_bps if entry.around else entry.goodput_bps for entry in facts.watched
    )


def watched_slowdown(facts: Facts) -> float | None:
    """The largest slowdown of watched flows that have a size; None if one did not finish."""
    every = facts.summary.watched if facts.summary else []
    entries = [entry for entry in every if entry.sized == entry.flows]
    if not entries or any(entry.unfinished for entry in entries):
        return None
    flows = facts.table("flows")
    named = pc.is_in(flows.column("traffic"), pa.array([entry.name for entry in entries]))
    return pc.max(flows.filter(named).column("slowdown")).as_py()


def recovery_ns(facts: Facts) -> float | None:
    """Time until all watched flows recovered, or as long as it was looked for."""
    return max((each.at_least_ns for each in facts.around), default=None)


def recovered(facts: Facts) -> bool | None:
    """Whether all watched flows recovered; None where it was not looked for."""
    around = facts.around
    return all(each.recovery_ns is not None for each in around) if around else None


def paused_ns(facts: Facts) -> float:
    """The time that egresses were paused, all ports and priorities."""
    return float(series.column(facts.table("ports"), "paused_ns").sum())


def max_queue_bytes(facts: Facts) -> int:
    """The largest backlog of any egress queue."""
    return pc.max(facts.table("ports").column("max_queue_bytes")).as_py() or 0
