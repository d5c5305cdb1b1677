"""PCN Fig. 3: the rate each controller sets against the rate really sent, F0 and F1."""

from __future__ import annotations

from matplotlib.figure import Figure

from unpause import schemes, series
from unpause.figures.registry import draws
from unpause.figures.style import WIDTH, NothingToDraw, burst_origin_ns, legend, single_runs
from unpause.result import Result
from unpause.series import Unavailable

FLOWS = ("F0", "F1")
_UNTIL_MS = 6.0


@draws("pcn-f3", "PCN Fig. 3: rate set against rate sent")
def draw(result: Result) -> Figure:
    """Controller rate and sent rate (Gb/s) over ms from the burst start, a row for each scheme."""
    runs = [r for r in single_runs(result) if _controlled(result, r.scheme)]
    if not runs:
        raise NothingToDraw("No scheme has a congestion control, so no controller sets a rate.")
    colour = schemes.colours(result.schemes)
    figure = Figure(figsize=(WIDTH, 1.35 * len(runs) + 0.8), layout="constrained")
    axes = figure.subplots(len(runs), 2, sharex=True, sharey=True, squeeze=False)
    try:
        for row, run in zip(axes, runs, strict=True):
            origin = burst_origin_ns(run)
            for ax, flow in zip(row, FLOWS, strict=True):
                data = series.flow(run, flow)
                time, sent = series.rate_per_ms(data.time_ns, data.sent_bytes)
                ax.plot(
                    (time - origin) / 1e6,
                    sent * series.GBPS,
                    color="#9A9A9A",
                    linewidth=0.9,
                    label="really sent",
                )
                ax.plot(
                    (data.time_ns - origin) / 1e6,
                    data.controller_bps / 1e9,
                    color=colour[run.scheme],
                    drawstyle="steps-post",
                    label=f"set by {schemes.canonical(run.scheme)}",
                )
                ax.set_title(f"{run.scheme}: {flow}", fontweight="bold")
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error
    axes[0, 0].set_xlim(-0.5, _UNTIL_MS)
    axes[0, 0].set_ylim(bottom=0)
    axes[len(runs) // 2, 0].set_ylabel("rate on the wire (Gb/s)")
    for ax in axes[-1]:
        ax.set_xlabel("time from the burst's start (ms)")
    legend(figure, list(axes[:, 0]))
    return figure


def _controlled(result: Result, scheme: str) -> bool:
    """Whether the scenario gives `scheme` a congestion control; true if it does not say."""
    for entry in result.scenario.get("scheme", []):
        if entry.get("name") == scheme:
            return entry.get("congestion_control", "none") != "none"
    return True
