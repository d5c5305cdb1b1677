"""Statistics by name: "p99 slowdown of web", "goodput of F0", "drops", "longest queue".

``docs/tune.md`` lists them. Flows that did not finish count with their lower bound, so a statistic
is a :class:`Estimate`: the number itself, or a bound of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import completion, lives
from unpause.data.result import Run
from unpause.errors import SweepError
from unpause.statistics.censored import LARGEST, Estimate, Sample, needed
from unpause.sweeps import facts, recorded
from unpause.sweeps.facts import Facts
from unpause.sweeps.statistic import COUNT, RATE, RATIO, SIZE, TIME, Format
from unpause.text import listed, nearest


@dataclass(frozen=True)
class Kind:
    """A kind of statistic.

    Attributes:
        of: Computes it of a run's facts, for the entry or job of a name, or for all.
        format: How people write it.
        suffix: Of its unit, as :func:`unpause.sweeps.axes.quantity` has it.
        entries: Whose it can be: "traffic", "job", or nothing.
        more_is_better: Whether larger is better.
        flows: The sample that percentiles are taken of.
    """

    of: Callable[[Facts, str], Estimate | None] | None
    format: Format
    suffix: str = ""
    entries: str = ""
    more_is_better: bool = False
    flows: Callable[[pa.Table, Mapping[str, Any]], Sample] | None = None


def _flows(run_facts: Facts, entry: str) -> pa.Table:
    flows = run_facts.table("flows")
    return flows.filter(pc.equal(flows.column("traffic"), entry)) if entry else flows


def _goodput(run_facts: Facts, entry: str) -> Estimate | None:
    bps = lives.goodput_bps(run_facts.run, _flows(run_facts, entry))
    return None if bps is None else Estimate(bps, True)


def _unfinished(run_facts: Facts, entry: str) -> Estimate | None:
    flows = _flows(run_facts, entry)
    sized = flows.filter(pc.is_valid(flows.column("size_bytes")))
    return Estimate(float((~completion.finished(sized)).sum()), True)


def _of_job(value: str, bound: str) -> Callable[[Facts, str], Estimate | None]:
    """Computes a number of a job; only a bound where the job did not come to its end."""

    def of(run_facts: Facts, job: str) -> Estimate | None:
        rows = [row for row in run_facts.table("jobs").to_pylist() if row["job"] == job]
        if not rows:
            return None
        done = rows[0]["iterations"] == rows[0]["iterations_planned"]
        number = rows[0][value] if done or not bound else rows[0][bound]
        return None if number is None else Estimate(float(number), done)

    return of


def _whole(name: str, complete: str = "") -> Callable[[Facts, str], Estimate | None]:
    """Computes a statistic of the whole run: one of `STATISTICS`, a bound unless `complete` is."""
    by_name = {each.name: each for each in recorded.STATISTICS}

    def number(run_facts: Facts, of: str) -> Any:
        compute = by_name[of].of
        return compute(run_facts) if compute else run_facts.run.row[of]

    def estimate(run_facts: Facts, _: str) -> Estimate | None:
        value = number(run_facts, name)
        exact = not complete or bool(number(run_facts, complete))
        return None if value is None else Estimate(float(value), exact)

    return estimate


#: Every kind of statistic by its name.
KINDS: dict[str, Kind] = {
    "slowdown": Kind(None, RATIO, entries="traffic", flows=completion.slowdown),
    "FCT": Kind(None, TIME, "_ns", entries="traffic", flows=completion.fct_ns),
    "goodput": Kind(_goodput, RATE, "_bps", entries="traffic", more_is_better=True),
    "unfinished flows": Kind(_unfinished, COUNT, entries="traffic"),
    "iteration": Kind(_of_job("mean_ns", "mean_at_least_ns"), TIME, "_ns", entries="job"),
    "bus bandwidth": Kind(
        _of_job("busbw_gbytes_s", ""),
        Format(lambda value: f"{value:.3g} GB/s", lambda _: (1.0, "GB/s")),
        entries="job",
        more_is_better=True,
    ),
    "drops": Kind(_whole("dropped_packets"), COUNT),
    "trims": Kind(_whole("trimmed_packets"), COUNT),
    "marks": Kind(_whole("marked_packets"), COUNT),
    "notifications": Kind(_whole("notifications"), COUNT),
    "retransmissions": Kind(_whole("retransmitted_packets"), COUNT),
    "pauses": Kind(_whole("pause_events"), COUNT),
    "time paused": Kind(_whole("paused_ns"), TIME, "_ns"),
    "victims": Kind(_whole("victim_flows", "victims_complete"), COUNT),
    "longest queue": Kind(_whole("max_queue_bytes"), SIZE, "_bytes"),
}
_BY_LETTERS = {name.lower(): name for name in KINDS}
_OTHER_NAMES = {"bandwidth": "bus bandwidth", "iteration time": "iteration", "pause": "pauses"}
_PERCENTILES = {"median": 50.0, "largest": 100.0, "max": 100.0, "worst": 100.0}
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")
_EXAMPLE = "such as 'p99 slowdown of web', 'goodput of F0', 'drops' (docs/tune.md lists all)"


@dataclass(frozen=True)
class Named:
    """A statistic of a run, by its name.

    Attributes:
        text: Its name, in the one way that this program writes it.
        kind: Name of its kind.
        percent: Of a percentile; None for the mean, or where there are none.
        entry: The traffic or the job that it is of; empty for all.
    """

    text: str
    kind: str
    percent: float | None
    entry: str

    @property
    def format(self) -> Format:
        """How people write it."""
        return KINDS[self.kind].format

    @property
    def suffix(self) -> str:
        """Of its unit: ``_ns``, ``_bytes``, ``_bps`` or nothing."""
        return KINDS[self.kind].suffix

    @property
    def more_is_better(self) -> bool:
        """Whether larger is better."""
        return KINDS[self.kind].more_is_better

    @property
    def flows_needed(self) -> int:
        """How many flows its percentile needs, so that a few of them do not decide it."""
        return 0 if self.percent in (None, 100) else needed(self.percent or 0)

    def of(self, run: Run) -> Estimate | None:
        """Its value in a run; None if there is nothing that it is of."""
        run_facts = Facts(run)
        kind = KINDS[self.kind]
        if kind.flows is None:
            assert kind.of is not None
            return kind.of(run_facts, self.entry)
        sample = kind.flows(_flows(run_facts, self.entry), run.row)
        return facts.mean(sample) if self.percent is None else sample.percentile(self.percent)


def read(text: str, traffic: Iterable[str], jobs: Iterable[str]) -> Named:
    """The statistic that a text names.

    Args:
        text: Such as "p99 slowdown of web".
        traffic: Names of the scenario's traffic.
        jobs: Names of its jobs.

    Raises:
        SweepError: there is no such statistic, or nothing with that name in the scenario.
    """
    statistic, _, entry = (part.strip() for part in text.strip().partition(" of "))
    words = statistic.split()
    percent: float | None = None
    named = False
    if words and (found := _percent(words[0])) is not False:
        percent, named, words = found, True, words[1:]
    name = " ".join(words)
    kind = _BY_LETTERS.get(_OTHER_NAMES.get(name.lower(), name).lower())
    if kind is None:
        if not name:
            raise SweepError(f"{text!r} names no statistic, {_EXAMPLE}")
        raise SweepError(
            f"there is no statistic {name!r}{nearest(name, KINDS)}\n"
            f"hint: the statistics are {listed(list(KINDS))}"
        )
    if named and KINDS[kind].flows is None:
        raise SweepError(f"{text!r}: {kind} is one number of a run; write {kind!r}")
    entry = _entry(text, kind, entry, list(traffic), list(jobs))
    of = f" of {entry}" if entry else ""
    prefix = {None: "mean ", 50: "median ", LARGEST: "largest "}.get(percent, f"p{percent or 0:g} ")
    return Named(f"{prefix if KINDS[kind].flows else ''}{kind}{of}", kind, percent, entry)


def _percent(word: str) -> float | bool | None:
    """The percentile that a word is, None for the mean, False if it is neither."""
    if word.lower() == "mean":
        return None
    if word.lower() in _PERCENTILES:
        return _PERCENTILES[word.lower()]
    if (found := _PERCENTILE.fullmatch(word.lower())) and float(found[1]) > 0:
        return float(found[1])
    return False


def _entry(text: str, kind: str, entry: str, traffic: list[str], jobs: list[str]) -> str:
    whose = KINDS[kind].entries
    if not whose and entry:
        raise SweepError(f"{text!r}: {kind} is of the whole run; write {kind!r}")
    # The connections of a job are traffic with its name.
    known = jobs if whose == "job" else [*traffic, *jobs]
    if whose == "job" and not entry:
        if len(jobs) == 1:
            return jobs[0]
        there = f"the scenario has {listed(jobs)}" if jobs else "the scenario has no [[job]]"
        raise SweepError(f"{text!r} needs the name of a job, as in '{kind} of NAME': {there}")
    if entry and entry not in known:
        what = "job" if whose == "job" else "traffic"
        names = listed(known) if known else "none"
        raise SweepError(
            f"{text!r}: there is no {what} {entry!r} in the scenario{nearest(entry, known)} "
            f"(known: {names})"
        )
    return entry


_VALUE, _BOUND = "goal", "goal.exact"


def columns(text: str) -> tuple[str, str]:
    """The columns that a point's table has of a statistic: its value or bound, and which it is."""
    return f"{_VALUE}.{text}", f"{_BOUND}.{text}"
