"""The CIOQ fabric without congestion control, against queueing theory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from unpause.data import schemes, series
from unpause.data.result import Result, Run
from unpause.figures.registry import draws
from unpause.figures.style import NothingToDraw, grid, legend

# Of the scenario cioq load: hosts, link rate, bytes of a data frame and of its ACK with framing.
_HOSTS, _GBPS = 20, 10.0
_DATA, _ACK, _PAYLOAD = 1542.0, 86.0, 1474.0
_HOT_SENDERS = ("H1", "H2")


def wait_us(load: float) -> float:
    """Mean wait at one link: M/D/1 with ACKs served first (non-preemptive priority)."""
    data, ack = (size * 8 / _GBPS / 1e3 for size in (_DATA, _ACK))  # us
    rho = load * _DATA / _PAYLOAD
    rho_ack = rho * ack / data
    residual = (rho * data + rho_ack * ack) / 2
    return residual / ((1 - rho_ack) * (1 - rho_ack - rho))


def added_us(load: float) -> float:
    """What a frame waits in all: at its sender, and at the output for frames of other inputs."""
    return wait_us(load) * (1 + (_HOSTS - 1) / _HOSTS)


def hot_share(load: float) -> float:
    """Part of their load that the hot senders can send: the arbiter serves others first.

    Others ask H0 for less than an equal share and get it. The rest of H0's link is for the two hot
    senders, of whose traffic PAUSE stops all alike.
    """
    # The link carries the ACKs of what H0 sends, too.
    capacity = (1 - load * _ACK / _PAYLOAD) * _PAYLOAD / _DATA
    others = (_HOSTS - 1 - len(_HOT_SENDERS)) * load / (_HOSTS - 1)
    wanted = len(_HOT_SENDERS) * (load + load / (_HOSTS - 1))
    return min(1.0, (capacity - others) / wanted)


def _uniform(run: Run, hot: bool) -> float:
    """Goodput of the uniform traffic of hot or of other senders, as a share of their links."""
    flows = run.table("flows").filter(pc.field("traffic") == "uniform")
    of_hot = pc.is_in(flows.column("src"), pa.array(_HOT_SENDERS))
    chosen = flows.filter(of_hot if hot else pc.invert(of_hot))
    count = len(_HOT_SENDERS) if hot else _HOSTS - len(_HOT_SENDERS)
    bits = 8 * float(np.sum(series.column(chosen, "delivered_bytes")))
    return bits / (run.row["simulated_ns"] * _GBPS * count)


def _mean_added_us(run: Run) -> float:
    fct = series.column(run.table("flows"), "fct_ns")
    fct = fct[~np.isnan(fct)]
    return float(np.mean(fct) - np.min(fct)) / 1e3


@draws("cioq-load", "Load and waiting in a CIOQ fabric")
def draw(result: Result) -> Figure:
    """Throughput and waiting of uniform traffic, and what a hot spot leaves of it."""
    if "load" not in result.sweep_columns or "hot spot" not in result.schemes:
        raise NothingToDraw("The result is not that of the scenario qcn-inputs/load.")
    colour = schemes.colours(result.schemes)
    figure, axes = grid(3, 3, panel_height=2.3)
    throughput, waiting, hot = axes
    for scheme, marker in (("pipe", "o"), ("spines", "x")):
        runs = sorted(result.runs_of(scheme), key=lambda r: r.row["load"])
        loads = [r.row["load"] for r in runs]
        style = {"color": colour[scheme], "marker": marker, "markersize": 4, "linestyle": "none"}
        throughput.plot(loads, [_uniform(r, False) for r in runs], label=scheme, **style)
        waiting.plot(loads, [_mean_added_us(r) for r in runs], label=scheme, **style)
    grid_of_loads = np.linspace(0.02, 0.9, 200)
    throughput.plot([0, 0.9], [0, 0.9], color="#000000", linewidth=0.8, label="theory")
    waiting.plot(
        grid_of_loads, [added_us(x) for x in grid_of_loads], color="#000000", linewidth=0.8
    )
    waiting.set_yscale("log")
    runs = sorted(result.runs_of("hot spot"), key=lambda r: r.row["load"])
    loads = [r.row["load"] for r in runs]
    for of_hot, label, marker in ((False, "other senders", "^"), (True, "hot senders", "s")):
        hot.plot(
            loads,
            [_uniform(r, of_hot) for r in runs],
            label=label,
            color=colour["hot spot"] if of_hot else "#7A4FBF",
            marker=marker,
            markersize=4,
            linestyle="none",
        )
    black = {"color": "#000000", "linewidth": 0.8}
    hot.plot([0, 0.9], [0, 0.9], **black)
    hot.plot(grid_of_loads, [x * hot_share(x) for x in grid_of_loads], **black)
    throughput.set_title("uniform", fontweight="bold")
    waiting.set_title("uniform", fontweight="bold")
    hot.set_title("hot spot", fontweight="bold")
    throughput.set_ylabel("throughput (share of links)")
    waiting.set_ylabel("mean time waited (us)")
    hot.set_ylabel("uniform part (share of links)")
    for ax in axes:
        ax.set_xlabel("load of uniform traffic")
        ax.tick_params(labelbottom=True)
    legend(figure, axes)
    return figure
