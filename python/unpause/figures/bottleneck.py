"""The bottleneck's queue and the sum of the sending rates, a column a scheme."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from unpause.data import schemes, series
from unpause.data.result import Result, Run
from unpause.data.series import Unavailable
from unpause.figures.registry import kind
from unpause.figures.seeds import first_seed, say_seed
from unpause.figures.style import LINES, WIDTH, NothingToDraw, from_zero


@kind("bottleneck")
def draw(
    result: Result, link: str, flows: Sequence[str], capacity_gbps: float, bin_ms: float
) -> Figure:
    """Queue of `link` in KB (above) and what `flows` send in Gb/s (below) over ms from the start.

    Rates are means of bins of `bin_ms`; `capacity_gbps` is dotted. Of several seeds the first is
    shown.
    """
    runs = first_seed(result)
    colour = schemes.colours(result.schemes)
    figure = Figure(figsize=(WIDTH, 4.0), layout="constrained")
    axes = figure.subplots(2, len(runs), sharex=True, sharey="row", squeeze=False)
    try:
        for (above, below), run in zip(axes.T, runs, strict=True):
            port = series.port(run, link)
            above.plot(
                port.time_ns / 1e6, port.queue_bytes / 1e3, color=colour[run.scheme], linewidth=0.9
            )
            time, rate = _aggregate(run, flows, bin_ms * 1e6)
            below.plot(time / 1e6, rate, color=colour[run.scheme], linewidth=0.9)
            below.axhline(capacity_gbps, color=LINES[4], linewidth=0.7, linestyle=":")
            name = schemes.canonical(run.scheme)
            above.set_title(name.replace(", ", ",\n"), fontweight="bold")
            below.set_xlabel("time (ms)")
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error
    from_zero(axes[0, 0])
    from_zero(axes[1, 0])
    axes[0, 0].margins(x=0)
    axes[0, 0].set_ylabel(f"queue of {link} (KB)")
    axes[1, 0].set_ylabel("sum of rates (Gb/s)")
    say_seed(figure, result, runs[0])
    return figure


def _aggregate(run: Run, flows: Sequence[str], bin_ns: float) -> tuple[np.ndarray, np.ndarray]:
    """Middle of each bin (ns), and what all flows put on the wire in it, Gb/s."""
    time, total = np.zeros(0), np.zeros(0)
    for name in flows:
        data = series.flow(run, name)
        time, rate = series.binned_per_ms(data.time_ns, data.sent_bytes, 0.0, bin_ns)
        total = total + rate if len(total) else rate
    return time + bin_ns / 2, total * series.GBPS
