"""PCN Fig. 5: receive rates of F0 and F1 and PAUSE rate of S1 against F1's limiter."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause import metrics, series
from unpause.figures.registry import draws
from unpause.figures.style import DASHES, LINES, WIDTH, NothingToDraw, legend
from unpause.result import Result, Run
from unpause.series import Unavailable

COLUMN = "f1_limit_gbps"
LINK = "S1->S0"
FLOWS = ("F0", "F1")
_WINDOW_MS = (5.0, 10.0)


@draws("pcn-f5", "PCN Fig. 5: F1's limiter swept")
def draw(result: Result) -> Figure:
    """Goodput in Gb/s (above) and PAUSE frames per ms (below) over F1's limiter in Gb/s."""
    if COLUMN not in result.sweep_columns:
        raise NothingToDraw(f"The result has no swept column '{COLUMN}'.")
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    scheme = result.schemes[0]
    runs = sorted(result.runs_of(scheme), key=lambda r: r.row[COLUMN])
    limit = np.array([r.row[COLUMN] for r in runs])
    try:
        for flow, colour, dash in zip(FLOWS, LINES[3:], DASHES, strict=False):
            rate = [metrics.goodput_gbps(r, flow, _WINDOW_MS) for r in runs]
            above.plot(
                limit,
                rate,
                color=colour,
                linestyle=dash,
                marker="o",
                markersize=2.5,
                label=f"goodput {flow}",
            )
        frames = [_pause_frames_per_ms(r) for r in runs]
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error
    below.plot(
        limit, frames, color=LINES[0], marker="o", markersize=2.5, label=f"PAUSE {LINK} ({scheme})"
    )
    above.set_ylim(bottom=0)
    below.set_ylim(bottom=0)
    above.set_ylabel("goodput (Gb/s)")
    below.set_ylabel("PAUSE frames per ms")
    below.set_xlabel("F1's rate limiter (Gb/s)")
    legend(figure, [above, below])
    return figure


def _pause_frames_per_ms(run: Run) -> float:
    data = series.port(run, LINK)
    start, end = (1e6 * t for t in _WINDOW_MS)
    return series.mean_per_ms(data.time_ns, data.pause_frames, start, end)
