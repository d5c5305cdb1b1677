"""What claims are judged by: named, precisely defined numbers of a run or of a sweep.

A metric of scope ``run`` takes one :class:`~unpause.result.Run`; one of scope ``sweep`` takes the
runs of one scheme in the order of the sweep; one of scope ``model`` is computed from a mechanism or
a model alone. Further arguments stand in the claims file. A metric answers with a number in the
unit given to :func:`metric`; infinity means "not before the run ended". It raises
:class:`~unpause.series.Unavailable` where the result lacks what it needs.

Links and the side on which a PAUSE counts are as in :mod:`unpause.series`. "Burst start" is the
start of the first flow of the traffic entry named by `burst`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import pyarrow.compute as pc

from unpause import fluid, mechanisms, series
from unpause.result import Run
from unpause.series import Unavailable

MS = 1e6  # ns
US = 1e3  # ns


@dataclass(frozen=True)
class Metric:
    """A metric and how to call it."""

    name: str
    unit: str
    scope: Literal["run", "sweep", "model"]
    function: Callable[..., float]


METRICS: dict[str, Metric] = {}


def metric(unit: str, scope: Literal["run", "sweep", "model"] = "run"):
    """Register a function as the metric of its name."""

    def register(function: Callable[..., float]) -> Callable[..., float]:
        name = function.__name__
        METRICS[name] = Metric(name, unit, scope, function)
        return function

    return register


def _burst_start_ns(run: Run, burst: str) -> float:
    return float(series.flow_starts_ns(run, burst)[0])


def _window_ns(run: Run, burst: str | None, window_ms: Sequence[float]) -> tuple[float, float]:
    origin = 0.0 if burst is None else _burst_start_ns(run, burst)
    return origin + window_ms[0] * MS, origin + window_ms[1] * MS


def _first_episode_ns(
    run: Run, links: Sequence[str], since_ns: float, gap_us: float
) -> tuple[float, float] | None:
    joined = series.merged(series.pauses_ns(run, tuple(links), since_ns), gap_us * US)
    return (float(joined[0, 0]), float(joined[0, 1])) if len(joined) else None


@metric("ms")
def tree_duration_ms(run: Run, links: list[str], burst: str, gap_us: float = 500.0) -> float:
    """How long the congestion tree lasts.

    From the first to the last moment after the burst start at which a PAUSE is in force on any of
    `links`. PAUSEs switch on and off around the threshold, so PAUSEs at most `gap_us` apart belong
    to one tree; the first tree counts, later ones do not. 0 without any PAUSE.
    """
    episode = _first_episode_ns(run, links, _burst_start_ns(run, burst), gap_us)
    return (episode[1] - episode[0]) / MS if episode else 0.0


@metric("RTT")
def tree_duration_rtt(
    run: Run, links: list[str], burst: str, base_rtt_us: float, gap_us: float = 500.0
) -> float:
    """:func:`tree_duration_ms` in base round-trip times of `base_rtt_us`."""
    return tree_duration_ms(run, links, burst, gap_us) * MS / US / base_rtt_us


@metric("PAUSEs")
def pause_count(
    run: Run, links: list[str], burst: str | None = None, window_ms: Sequence[float] | None = None
) -> float:
    """Number of PAUSEs (intervals, not frames) that begin on `links` in a window.

    The window is in ms from the burst start, or from the run's start without `burst`; without
    `window_ms` it reaches from that instant to the end of the run.
    """
    start, end = _window_ns(run, burst, window_ms or (0.0, math.inf))
    pauses = series.pauses_ns(run, tuple(links), start)
    # Intervals in force at the start of the window are cut there: they began before it.
    begun = pauses[(pauses[:, 0] > start) & (pauses[:, 0] < end)]
    return float(len(begun))


@metric("us")
def first_pause_us(run: Run, link: str, burst: str, offset_us: float = 0.0) -> float:
    """From the burst start plus `offset_us` to the first PAUSE in force on `link`."""
    since = _burst_start_ns(run, burst)
    pauses = series.pauses_ns(run, (link,), since)
    if len(pauses) == 0:
        raise Unavailable(f"Nothing was paused on {link} under {run.scheme}.")
    return (pauses[0, 0] - since) / US - offset_us


@metric("us")
def pause_lag_us(run: Run, first: str, then: str, burst: str) -> float:
    """From the first PAUSE in force on link `first` to the first one on link `then`."""
    return first_pause_us(run, then, burst) - first_pause_us(run, first, burst)


@metric("ms")
def burst_duration_ms(run: Run, burst: str) -> float:
    """From the start of the burst's first flow to the arrival of its last byte."""
    rows = run.table("flows").filter(pc.field("traffic") == burst)
    start = float(series.flow_starts_ns(run, burst)[0])
    if rows.column("fct_ns").null_count:
        return math.inf
    end = float(np.max(series.column(rows, "start_ns") + series.column(rows, "fct_ns")))
    return (end - start) / MS


@metric("Gb/s")
def goodput_gbps(
    run: Run, flow: str, window_ms: Sequence[float], burst: str | None = None
) -> float:
    """Mean payload delivered for `flow` in a window of ms from the burst (or run) start."""
    data = series.flow(run, flow)
    start, end = _window_ns(run, burst, window_ms)
    return series.mean_per_ms(data.time_ns, data.delivered_bytes, start, end) * series.GBPS


@metric("Gb/s")
def wire_rate_gbps(
    run: Run,
    flow: str,
    window_ms: Sequence[float],
    frame_bytes: float,
    payload_bytes: float,
    burst: str | None = None,
) -> float:
    """:func:`goodput_gbps` as the rate its frames take on the wire."""
    return goodput_gbps(run, flow, window_ms, burst) * frame_bytes / payload_bytes


@metric("")
def goodput_ratio(
    run: Run, flows: list[str], window_ms: Sequence[float], before_ms: float, burst: str
) -> float:
    """Goodput in the window over goodput in the `before_ms` before the burst, largest of `flows`.

    0.4 means that every flow of `flows` fell to at most 40 % of what it had.
    """
    return max(
        goodput_gbps(run, f, window_ms, burst) / goodput_gbps(run, f, (-before_ms, 0.0), burst)
        for f in flows
    )


@metric("")
def utilisation(
    run: Run, link: str, capacity_gbps: float, window_ms: Sequence[float], burst: str | None = None
) -> float:
    """Mean share of `capacity_gbps` that the egress port of `link` sends in the window."""
    data = series.port(run, link)
    start, end = _window_ns(run, burst, window_ms)
    return series.mean_per_ms(data.time_ns, data.tx_bytes, start, end) * series.GBPS / capacity_gbps


@metric("Gb/s")
def flows_gbps(run: Run, flows: list[str], window_ms: Sequence[float]) -> float:
    """Sum of :func:`goodput_gbps` of `flows`."""
    return sum(goodput_gbps(run, flow, window_ms) for flow in flows)


@metric("Gb/s")
def link_gbps(run: Run, links: list[str], window_ms: Sequence[float]) -> float:
    """Mean rate that the egress ports of `links` together send in the window, with headers."""
    start, end = _window_ns(run, None, window_ms)
    total = 0.0
    for link in links:
        data = series.port(run, link)
        total += series.mean_per_ms(data.time_ns, data.tx_bytes, start, end) * series.GBPS
    return total


def _settled_ms(good: np.ndarray, bin_ms: float, hold_ms: float) -> float:
    """Start (ms) of the first bin from which all bins are good for `hold_ms`, else infinity."""
    hold = max(1, round(hold_ms / bin_ms))
    if len(good) < hold:
        return math.inf
    runs = np.convolve(good, np.ones(hold, dtype=int), mode="valid")
    settled = np.flatnonzero(runs == hold)
    return float(settled[0]) * bin_ms if len(settled) else math.inf


@metric("ms")
def throughput_loss_ms(
    run: Run,
    flows: list[str],
    burst: str,
    fair_goodput_gbps: float,
    fraction: float = 0.95,
    bin_ms: float = 1.0,
    hold_ms: float = 10.0,
) -> float:
    """How long the burst costs `flows`, which share a link, part of their throughput.

    Their goodput is added up and averaged in bins of `bin_ms` from the burst start. The loss
    begins with the first bin below `fraction` of what is fair for all of them, and ends with the
    first bin from which the sum stays at or above that level for `hold_ms`; the answer is that
    bin's distance from the burst start. 0 if no bin is below, infinity if the level is never held.

    The sum, because a flow's own share also moves when the flows divide the link anew between
    them; :func:`time_to_fair_ms` measures that.
    """
    start = _burst_start_ns(run, burst)
    total = np.zeros(0)
    for name in flows:
        data = series.flow(run, name)
        _, rate = series.binned_per_ms(data.time_ns, data.delivered_bytes, start, bin_ms * MS)
        total = total + rate * series.GBPS if len(total) else rate * series.GBPS
    good = total >= fraction * fair_goodput_gbps * len(flows)
    if good.all():
        return 0.0
    first_low = int(np.argmin(good))
    return first_low * bin_ms + _settled_ms(good[first_low:], bin_ms, hold_ms)


@metric("MB")
def lost_megabytes(
    run: Run, flows: list[str], burst: str, window_ms: float, fair_goodput_gbps: float
) -> float:
    """Payload that `flows` together lack of their fair share in `window_ms` from the burst."""
    total = sum(goodput_gbps(run, f, (0.0, window_ms), burst) for f in flows)
    return (len(flows) * fair_goodput_gbps - total) * window_ms / 8


@metric("ms")
def time_to_fair_ms(
    run: Run,
    flows: list[str],
    burst: str,
    from_ms: float,
    fair_goodput_gbps: float,
    tolerance: float = 0.1,
    bin_ms: float = 0.2,
    hold_ms: float = 5.0,
) -> float:
    """From `from_ms` after the burst start until all `flows` have their fair share.

    That is: the first bin of `bin_ms` from which every flow's goodput is within `tolerance` of
    `fair_goodput_gbps` for `hold_ms`. Infinity if that never happens.
    """
    start = _burst_start_ns(run, burst) + from_ms * MS
    good = None
    for name in flows:
        data = series.flow(run, name)
        _, rate = series.binned_per_ms(data.time_ns, data.delivered_bytes, start, bin_ms * MS)
        near = np.abs(rate * series.GBPS / fair_goodput_gbps - 1) <= tolerance
        good = near if good is None else good & near
    return math.inf if good is None else _settled_ms(good, bin_ms, hold_ms)


def _controller(run: Run, flow: str, burst: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Samples from the burst start on: ms from it, Gb/s; and the rate in force before it."""
    data = series.flow(run, flow)
    start = _burst_start_ns(run, burst)
    rate = data.controller_bps / 1e9
    before = rate[data.time_ns <= start]
    after = data.time_ns > start
    if not len(before) or not after.any():
        raise Unavailable(f"Flow '{flow}' was not sampled around the burst under {run.scheme}.")
    return (data.time_ns[after] - start) / MS, rate[after], float(before[-1])


@metric("Gb/s")
def lowest_controller_rate_gbps(
    run: Run, flows: list[str], burst: str, window_ms: Sequence[float]
) -> float:
    """Largest over `flows` of the lowest rate that the controller sets in the window."""
    lowest = []
    for name in flows:
        time, rate, _ = _controller(run, name, burst)
        inside = (time >= window_ms[0]) & (time <= window_ms[1])
        lowest.append(float(rate[inside].min()))
    return max(lowest)


@metric("Gb/s")
def highest_controller_rate_gbps(
    run: Run, flow: str, burst: str, window_ms: Sequence[float]
) -> float:
    """Highest rate that the controller of `flow` sets in the window."""
    time, rate, _ = _controller(run, flow, burst)
    return float(rate[(time >= window_ms[0]) & (time <= window_ms[1])].max())


@metric("Gb/s")
def controller_rate_after_tree_gbps(
    run: Run, flow: str, links: list[str], burst: str, gap_us: float = 500.0
) -> float:
    """Rate that the controller of `flow` sets when the tree on `links` disappears.

    The last sample at or before the end of the tree of :func:`tree_duration_ms`.
    """
    episode = _first_episode_ns(run, links, _burst_start_ns(run, burst), gap_us)
    if episode is None:
        raise Unavailable(f"There was no PAUSE on {', '.join(links)} under {run.scheme}.")
    data = series.flow(run, flow)
    at = int(np.searchsorted(data.time_ns, episode[1], side="right")) - 1
    if at < 0:
        raise Unavailable(f"Flow '{flow}' was not sampled before the tree's end.")
    return float(data.controller_bps[at] / 1e9)


@metric("periods")
def decrease_periods(
    run: Run, flow: str, burst: str, period_us: float, window_ms: float, depth: float = 0.9
) -> float:
    """Update periods that the controller of `flow` takes to cut its rate.

    Of the total cut, from the rate in force before the burst to the lowest within `window_ms`
    after it: the time from the last sample above the old rate less (1 - `depth`) of the cut to
    the first one below the old rate less `depth` of it, over `period_us`.
    """
    time, rate, before = _controller(run, flow, burst)
    inside = time <= window_ms
    time, rate = time[inside], rate[inside]
    cut = before - rate.min()
    if cut <= 0:
        raise Unavailable(f"The controller of '{flow}' never cut its rate under {run.scheme}.")
    begun = int(np.argmax(rate < before - (1 - depth) * cut))
    done = int(np.argmax(rate <= before - depth * cut))
    since = time[begun - 1] if begun else 0.0
    return float((time[done] - since) * MS / US / period_us)


@metric("periods")
def periods_to_share(
    run: Run, flow: str, burst: str, period_us: float, share_gbps: float, tolerance: float
) -> float:
    """Update periods from the first cut of `flow`'s rate after the burst to its share.

    From the last sample before the first lower one to the first sample within `tolerance` of
    `share_gbps`, over `period_us`. Infinity if no sample is.
    """
    time, rate, before = _controller(run, flow, burst)
    cut = np.flatnonzero(rate < before * (1 - 1e-6))
    if not len(cut):
        raise Unavailable(f"The controller of '{flow}' never cut its rate under {run.scheme}.")
    reached = np.flatnonzero(np.abs(rate / share_gbps - 1) <= tolerance)
    reached = reached[reached >= cut[0]]
    if not len(reached):
        return math.inf
    since = time[cut[0] - 1] if cut[0] else 0.0
    return float((time[reached[0]] - since) * MS / US / period_us)


@metric("Gb/s per ms")
def recovery_slope_gbps_per_ms(
    run: Run, flow: str, burst: str, fair_gbps: float, low: float = 0.25, high: float = 0.75
) -> float:
    """Mean slope of the controller's rate on its way back.

    From its lowest point after the burst: between the first samples at `low` and at `high` of the
    way to `fair_gbps`. Where the rate does not come to `low`, from its lowest point on; where it
    does not come to `high`, to the end of the run.
    """
    time, rate, _ = _controller(run, flow, burst)
    at = int(np.argmin(rate))
    time, rate = time[at:], rate[at:]
    way = fair_gbps - rate[0]
    if way <= 0 or len(rate) < 2:
        raise Unavailable(
            f"The controller of '{flow}' was never below {fair_gbps:g} Gb/s under {run.scheme}."
        )
    above_low = np.flatnonzero(rate >= rate[0] + low * way)
    above_high = np.flatnonzero(rate >= rate[0] + high * way)
    first = int(above_low[0]) if len(above_low) else 0
    last = int(above_high[0]) if len(above_high) else len(rate) - 1
    if first == last:
        return math.inf
    return float((rate[last] - rate[first]) / (time[last] - time[first]))


# --- from the start to the steady state -----------------------------------------------------


def _aggregate_bytes(run: Run, flows: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Sampling instants (ns) and all bytes that `flows` have put on the wire by then."""
    instants, total = np.zeros(0), np.zeros(0)
    for name in flows:
        data = series.flow(run, name)
        if len(total) and not np.array_equal(instants, data.time_ns):
            raise Unavailable(f"Flow '{name}' was sampled at other instants than '{flows[0]}'.")
        instants = data.time_ns
        total = total + data.sent_bytes if len(total) else data.sent_bytes
    return instants, total


@metric("ms")
def aggregate_settled_ms(
    run: Run,
    flows: list[str],
    capacity_gbps: float,
    tolerance: float = 0.1,
    average_ms: float = 1.0,
    hold_ms: float = 10.0,
) -> float:
    """From the run's start until `flows` together send at the capacity.

    What they put on the wire is added up and averaged over the `average_ms` before each sample.
    The answer is the first sample from which that stays within `tolerance` of `capacity_gbps` for
    `hold_ms`; infinity if it never does.
    """
    time, total = _aggregate_bytes(run, flows)
    late = time[time >= time[0] + average_ms * MS - 1]
    if len(late) < 2:
        raise Unavailable(f"The run is shorter than {average_ms:g} ms.")
    sent = np.interp(late, time, total) - np.interp(late - average_ms * MS, time, total)
    rate = sent / average_ms * series.GBPS
    good = np.abs(rate / capacity_gbps - 1) <= tolerance
    step_ms = (late[1] - late[0]) / MS
    settled = _settled_ms(good, step_ms, hold_ms)
    return settled if math.isinf(settled) else late[0] / MS + settled


@metric("ms")
def queue_drained_ms(run: Run, link: str, below_bytes: float, hold_ms: float = 1.0) -> float:
    """From the run's start until the queue of `link` has drained.

    After its first sample at or above `below_bytes`: the first sample from which it stays below
    for `hold_ms`. 0 if it is never at or above, infinity if it does not drain.
    """
    data = series.port(run, link)
    good = data.queue_bytes < below_bytes
    if good.all():
        return 0.0
    first = int(np.argmin(good))
    step_ms = (data.time_ns[1] - data.time_ns[0]) / MS
    return data.time_ns[first] / MS + _settled_ms(good[first:], step_ms, hold_ms)


@metric("KB")
def mean_queue_kb(run: Run, link: str, window_ms: Sequence[float]) -> float:
    """Mean of the samples of the queue of `link` in the window."""
    return float(np.mean(_queue_kb(run, link, window_ms)))


@metric("KB")
def largest_queue_kb(run: Run, link: str, window_ms: Sequence[float]) -> float:
    """Largest sample of the queue of `link` in the window."""
    return float(np.max(_queue_kb(run, link, window_ms)))


def _queue_kb(run: Run, link: str, window_ms: Sequence[float]) -> np.ndarray:
    data = series.port(run, link)
    start, end = _window_ns(run, None, window_ms)
    inside = data.queue_bytes[(data.time_ns >= start) & (data.time_ns <= end)]
    if not len(inside):
        raise Unavailable(f"Port {link} was not sampled in the window under {run.scheme}.")
    return inside / 1e3


@metric("KB")
def largest_ingress_kb(run: Run, links: list[str]) -> float:
    """Most bytes ever held for an ingress port and priority, largest over `links`.

    Link ``A1->S0`` names the ingress of S0 from A1.
    """
    table = run.table("ports")
    largest = 0.0
    for link in links:
        sender, receiver = series.ends(link)
        rows = table.filter((pc.field("node") == receiver) & (pc.field("peer") == sender))
        if rows.num_rows == 0:
            raise Unavailable(f"There is no link {link}.")
        largest = max(largest, float(series.column(rows, "max_ingress_bytes").max()))
    return largest / 1e3


@metric("")
def aggregate_mean_ratio(
    run: Run, flows: list[str], capacity_gbps: float, window_ms: Sequence[float]
) -> float:
    """What `flows` together put on the wire in the window, over the capacity."""
    time, total = _aggregate_bytes(run, flows)
    start, end = _window_ns(run, None, window_ms)
    return series.mean_per_ms(time, total, start, end) * series.GBPS / capacity_gbps


@metric("")
def aggregate_deviation(
    run: Run,
    flows: list[str],
    capacity_gbps: float,
    window_ms: Sequence[float],
    bin_ms: float = 1.0,
) -> float:
    """Standard deviation of what `flows` together send in bins of `bin_ms`, over the capacity."""
    time, total = _aggregate_bytes(run, flows)
    start, end = _window_ns(run, None, window_ms)
    begins, rate = series.binned_per_ms(time, total, start, bin_ms * MS)
    inside = rate[begins + bin_ms * MS <= end + 1] * series.GBPS
    if len(inside) < 2:
        raise Unavailable(f"The window has fewer than two bins of {bin_ms:g} ms.")
    return float(np.std(inside) / capacity_gbps)


# --- sweeps ---------------------------------------------------------------------------------


def _swept(runs: Sequence[Run], column: str, above: float | None, upto: float | None) -> list[Run]:
    if not runs or column not in runs[0].row:
        raise Unavailable(f"The result has no swept column '{column}'.")
    chosen = [
        r
        for r in runs
        if (above is None or r.row[column] > above) and (upto is None or r.row[column] <= upto)
    ]
    if not chosen:
        raise Unavailable(f"No run has '{column}' in the range asked for.")
    return chosen


@metric("Gb/s", scope="sweep")
def swept_goodput_gbps(
    runs: Sequence[Run],
    column: str,
    flow: str,
    window_ms: Sequence[float],
    pick: Literal["min", "max"],
    above: float | None = None,
    upto: float | None = None,
) -> float:
    """Smallest or largest goodput of `flow` over the runs with `above` < `column` <= `upto`."""
    rates = [goodput_gbps(r, flow, window_ms) for r in _swept(runs, column, above, upto)]
    return min(rates) if pick == "min" else max(rates)


@metric("PAUSEs", scope="sweep")
def swept_pause_count(
    runs: Sequence[Run],
    column: str,
    links: list[str],
    window_ms: Sequence[float],
    pick: Literal["min", "max"],
    above: float | None = None,
    upto: float | None = None,
) -> float:
    """Fewest or most PAUSEs that begin on `links` in the window, over the runs chosen."""
    counts = [pause_count(r, links, window_ms=window_ms) for r in _swept(runs, column, above, upto)]
    return min(counts) if pick == "min" else max(counts)


@metric("", scope="sweep")
def swept_share_error(
    runs: Sequence[Run],
    column: str,
    flow: str,
    share_gbps: float,
    window_ms: Sequence[float],
    frame_bytes: float,
    payload_bytes: float,
) -> float:
    """Largest relative error of `flow`'s wire rate against min(`column`, `share_gbps`)."""
    worst = 0.0
    for run in _swept(runs, column, None, None):
        expected = min(run.row[column], share_gbps)
        rate = wire_rate_gbps(run, flow, window_ms, frame_bytes, payload_bytes)
        worst = max(worst, abs(rate / expected - 1))
    return worst


@metric("", scope="sweep")
def swept_victim_error(
    runs: Sequence[Run],
    column: str,
    flow: str,
    limit_gbps: float,
    share_gbps: float,
    window_ms: Sequence[float],
    frame_bytes: float,
    payload_bytes: float,
) -> float:
    """Largest relative error of a victim's wire rate against FIFO sharing with the culprit.

    `flow` offers `limit_gbps` and shares a FIFO with a flow that offers `column` and gets at most
    `share_gbps`. The FIFO passes both in proportion to what they offer, so `flow` gets
    min(`limit_gbps`, `share_gbps` * `limit_gbps` / `column`).
    """
    worst = 0.0
    for run in _swept(runs, column, None, None):
        expected = min(limit_gbps, share_gbps * limit_gbps / run.row[column])
        rate = wire_rate_gbps(run, flow, window_ms, frame_bytes, payload_bytes)
        worst = max(worst, abs(rate / expected - 1))
    return worst


@metric("runs", scope="sweep")
def swept_pause_exceptions(
    runs: Sequence[Run],
    column: str,
    links: list[str],
    share_gbps: float,
    window_ms: Sequence[float],
) -> float:
    """Number of runs that break "PAUSE on `links` exactly where `column` > `share_gbps`"."""
    broken = 0
    for run in _swept(runs, column, None, None):
        start, end = _window_ns(run, None, window_ms)
        pauses = series.pauses_ns(run, tuple(links), start)
        in_force = bool(len(pauses)) and bool((pauses[:, 0] < end).any())
        broken += in_force != (run.row[column] > share_gbps)
    return float(broken)


# --- Mechanisms and models ----------------------------------------------------------------------


@metric("%", scope="model")
def pcn_increase_percent(cnps: int, line_rate_gbps: float, w_min: str = "1/128") -> float:
    """Rate of PCN's state machine after `cnps` increases in a row from 0, in % of line rate."""
    line_rate = round(line_rate_gbps * 1e9)
    rates = mechanisms.pcn_increase(cnps, line_rate_bps=line_rate, w_min=w_min).rate_bps
    return float(rates[-1]) / line_rate * 100


@metric("loops", scope="model")
def fluid_overload_loops(
    rates_gbps: Sequence[float], capacity_gbps: float, period_us: float, w_min: str
) -> float:
    """The loop of PCN's fluid model in which the queue that an overload has left is empty."""
    run = _fluid(rates_gbps, capacity_gbps, period_us, w_min, 2000)
    empty = run.first_empty_loop()
    return math.inf if empty is None else float(empty)


@metric("", scope="model")
def fluid_aggregate_after_a_loop(
    rates_gbps: Sequence[float], capacity_gbps: float, period_us: float, w_min: str
) -> float:
    """Sum of the rates after one loop of PCN's fluid model over (1 - w_min) C."""
    run = _fluid(rates_gbps, capacity_gbps, period_us, w_min, 1)
    return float(run.aggregate_bps[1]) / ((1 - float(Fraction(w_min))) * capacity_gbps * 1e9)


@metric("loops", scope="model")
def fluid_underload_loops(sources: int, w_min: str = "1/128") -> float:
    """Increases of PCN's fluid model from rate 0 until the sum of the rates exceeds C."""
    loops = fluid.underload_loops(sources, w_min=float(Fraction(w_min)))
    return math.inf if loops is None else float(loops)


@metric("%", scope="model")
def fluid_share_percent(
    rates_gbps: Sequence[float], capacity_gbps: float, period_us: float, w_min: str, cycle: int
) -> float:
    """Share of source 0 in PCN's fluid model, `cycle` cycles of N loops after the queue emptied."""
    loops = 2000 + cycle * len(rates_gbps)
    run = _fluid(rates_gbps, capacity_gbps, period_us, w_min, loops)
    empty = run.first_empty_loop()
    if empty is None or empty + cycle * len(rates_gbps) > loops:
        raise Unavailable("The queue of the fluid model does not empty.")
    return float(run.share[empty + cycle * len(rates_gbps), 0]) * 100


@metric("loops", scope="model")
def fluid_halving_loops(sources: int, w_min: str) -> float:
    """Loops in which unfairness halves in PCN's fluid model."""
    return fluid.fairness(sources, w_min=float(Fraction(w_min))).halving_loops


@metric("", scope="model")
def fluid_queue_swing(sources: int, w_min: str) -> float:
    """Largest queue of the steady sawtooth of PCN's fluid model over (N - 2 + w_min) w_min C T."""
    w, capacity, period = float(Fraction(w_min)), 10e9, 500e-6
    run = _steady(sources, w, capacity, period)
    expected = fluid.queue_swing_bytes(sources, capacity_bps=capacity, period_s=period, w_min=w)
    return float(run.queue_bytes.max()) / expected


@metric("", scope="model")
def fluid_rate_swing(sources: int, w_min: str) -> float:
    """Swing of a source's rate in the steady sawtooth of PCN's fluid model, over w_min C."""
    w, capacity = float(Fraction(w_min)), 10e9
    run = _steady(sources, w, capacity, 500e-6)
    return float(np.ptp(run.rate_bps[:, 0])) / (w * capacity)


def _fluid(
    rates_gbps: Sequence[float], capacity_gbps: float, period_us: float, w_min: str, loops: int
) -> fluid.Fluid:
    return fluid.simulate(
        [1e9 * rate for rate in rates_gbps],
        capacity_bps=capacity_gbps * 1e9,
        period_s=period_us * 1e-6,
        w_min=float(Fraction(w_min)),
        loops=loops,
    )


def _steady(sources: int, w_min: float, capacity_bps: float, period_s: float) -> fluid.Fluid:
    """Three cycles of the sawtooth with equal shares, from an increase after a queue emptied."""
    share = capacity_bps / sources
    start = (1 - w_min) ** 2 * share + w_min * capacity_bps
    return fluid.simulate(
        [start] * sources,
        capacity_bps=capacity_bps,
        period_s=period_s,
        w_min=w_min,
        loops=3 * sources,
    )


def _picked(values: Sequence[float], pick: str) -> float:
    if pick == "mean":
        return float(np.mean(values))
    return min(values) if pick == "min" else max(values)


@metric("Gb/s", scope="sweep")
def swept_link_gbps(
    runs: Sequence[Run],
    column: str,
    links: list[str],
    window_ms: Sequence[float],
    pick: Literal["min", "max", "mean"],
    above: float | None = None,
    upto: float | None = None,
) -> float:
    """Smallest, largest or mean :func:`link_gbps` where `above` < `column` <= `upto`."""
    return _picked(
        [link_gbps(r, links, window_ms) for r in _swept(runs, column, above, upto)], pick
    )


@metric("", scope="sweep")
def swept_link_trend(
    runs: Sequence[Run], column: str, links: list[str], window_ms: Sequence[float]
) -> float:
    """:func:`link_gbps` in the run of the smallest `column` over that in the run of the largest."""
    chosen = sorted(_swept(runs, column, None, None), key=lambda r: r.row[column])
    return link_gbps(chosen[0], links, window_ms) / link_gbps(chosen[-1], links, window_ms)


@metric("", scope="sweep")
def swept_goodput_trend(
    runs: Sequence[Run], column: str, flow: str, window_ms: Sequence[float]
) -> float:
    """Goodput of `flow` in the run of the smallest `column` over that in the run of the largest."""
    chosen = sorted(_swept(runs, column, None, None), key=lambda r: r.row[column])
    return goodput_gbps(chosen[0], flow, window_ms) / goodput_gbps(chosen[-1], flow, window_ms)


@metric("", scope="sweep")
def swept_crossing_ratio(
    runs: Sequence[Run],
    column: str,
    flow: str,
    capacity_gbps: float,
    window_ms: Sequence[float],
    frame_bytes: float,
    payload_bytes: float,
    pick: Literal["min", "max", "mean"],
    reference: Literal["proportional", "half"] = "proportional",
) -> float:
    """What a flow that crosses N = `column` bottlenecks gets, over what it should; over the runs.

    "proportional" is C/(N+1), the proportionally fair share where each bottleneck carries one flow
    more; "half" is C/2, the max-min fair one. C is `capacity_gbps`, on the wire.
    """
    ratios = []
    for run in _swept(runs, column, None, None):
        share = capacity_gbps / (2 if reference == "half" else run.row[column] + 1)
        rate = wire_rate_gbps(run, flow, window_ms, frame_bytes, payload_bytes)
        ratios.append(rate / share)
    return _picked(ratios, pick)
