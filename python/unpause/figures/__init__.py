"""Figures of a result: one function each, found by name in :data:`FIGURES`.

The generic figures suit any scenario; the others are of a paper's experiments. A figure that has
nothing to show raises :class:`NothingToDraw` with a sentence that says why.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unpause.figures import (
    capfc_fct,
    capfc_hol,
    cioq_load,
    ecn_sharp_fct,
    ecn_sharp_queue,
    fct,
    pause,
    pcn_f2,
    pcn_f2_readings,
    pcn_f3,
    pcn_f5,
    pcn_f11,
    pcn_f12,
    pcn_f13,
    pcn_f14,
    pcn_f17,
    pcn_f18,
    pcn_f19,
    pcn_f21,
    pcn_fluid,
    qcn_inputs,
    queue,
    throughput,
)
from unpause.figures.style import NothingToDraw, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unpause.result import Result

__all__ = ["FIGURES", "GENERIC", "Drawing", "NothingToDraw", "draw", "save"]


@dataclass(frozen=True)
class Drawing:
    """A figure in the registry."""

    name: str
    title: str
    function: Callable[[Result], Figure]


#: Every figure by name, in the order in which a report shows them.
FIGURES: dict[str, Drawing] = {
    d.name: d
    for d in (
        Drawing("pcn-f2", "PCN Fig. 2: PAUSE and throughput around the burst", pcn_f2.draw),
        Drawing("pcn-f2-readings", "PCN Fig. 2: readings of the schemes", pcn_f2_readings.draw),
        Drawing("pcn-f3", "PCN Fig. 3: rate set against rate sent", pcn_f3.draw),
        Drawing("pcn-f5", "PCN Fig. 5: F1's limiter swept", pcn_f5.draw),
        Drawing("pcn-f10", "PCN Fig. 10: increases in a row", pcn_fluid.draw_f10),
        Drawing("pcn-f15", "PCN Fig. 15: rate and queue of the fluid model", pcn_fluid.draw_f15),
        Drawing("pcn-f16", "PCN Fig. 16: the fluid model's sawtooth", pcn_fluid.draw_f16),
        Drawing("pcn-fluid", "PCN's fluid model against packets", pcn_fluid.draw_packets),
        Drawing("pcn-f11", "PCN Fig. 11: queue and sum of the sending rates", pcn_f11.draw),
        Drawing("pcn-f12", "PCN Fig. 12: PAUSE rate and flow completion times", pcn_f12.draw),
        Drawing("pcn-f12-readings", "PCN Fig. 12: readings of the schemes", pcn_f12.draw_readings),
        Drawing("pcn-f13", "PCN Fig. 13: sensitivity to w_min and w_max", pcn_f13.draw),
        Drawing("pcn-f14", "PCN Fig. 14: realistic workload", pcn_f14.draw),
        Drawing("pcn-f14-readings", "PCN Fig. 14: readings of the schemes", pcn_f14.draw_readings),
        Drawing("pcn-f17", "PCN Fig. 17: flow scalability", pcn_f17.draw),
        Drawing("pcn-f18", "PCN Fig. 18: adversarial traffic", pcn_f18.draw),
        Drawing("pcn-f19", "PCN Fig. 19: several bottlenecks in a row", pcn_f19.draw),
        Drawing("pcn-f20", "PCN Table 3, Fig. 20: priorities", pcn_f14.draw_priorities),
        Drawing("pcn-f21", "PCN Fig. 21: deadlocked runs", pcn_f21.draw),
        Drawing("capfc-hol", "CaPFC: head-of-line blocking", capfc_hol.draw),
        Drawing("capfc-fct", "CaPFC: tail FCT by class and technique", capfc_fct.draw),
        Drawing("capfc-sweep", "CaPFC: tail FCT over a swept value", capfc_fct.draw_sweep),
        Drawing("qcn-f2", "QCN at inputs, Fig. 2: fan-in fairness", qcn_inputs.draw),
        Drawing("qcn-f3", "QCN at inputs, Fig. 3: culprit selection", qcn_inputs.draw),
        Drawing("cioq-load", "Load and waiting in a CIOQ fabric", cioq_load.draw),
        Drawing("ecn-sharp-t2", "ECN# Fig. 2: FCT by threshold", ecn_sharp_fct.draw_t2),
        Drawing("ecn-sharp-t3", "ECN# Fig. 3: FCT by spread of the RTTs", ecn_sharp_fct.draw_t3),
        Drawing("ecn-sharp-t4", "ECN# Fig. 6: division on a Tofino", ecn_sharp_queue.draw_t4),
        Drawing("ecn-sharp-fct", "ECN#: FCT by size and load", ecn_sharp_fct.draw),
        Drawing("ecn-sharp-t7", "ECN# Fig. 11: FCT by spread of the RTTs", ecn_sharp_fct.draw_t7),
        Drawing("ecn-sharp-s3", "ECN# Fig. 16: queue of the bottleneck", ecn_sharp_queue.draw_s3),
        Drawing("ecn-sharp-s4", "ECN# Fig. 17: bursts of queries", ecn_sharp_queue.draw_s4),
        Drawing("ecn-sharp-s5", "ECN# Fig. 18: sensitivity", ecn_sharp_fct.draw_s5),
        Drawing("ecn-sharp-s6", "ECN# Fig. 20: packet scheduling", ecn_sharp_queue.draw_s6),
        Drawing("throughput", "Throughput of recorded flows", throughput.draw),
        Drawing("queue", "Queue length of probed ports", queue.draw),
        Drawing("pause-frames", "PAUSE frames over time", pause.draw_frames),
        Drawing("paused-time", "Time paused", pause.draw_time),
        Drawing("fct-slowdown", "FCT slowdown by flow size", fct.draw_slowdown),
        Drawing("fct-cdf", "Distribution of flow completion time", fct.draw_cdf),
    )
}

#: Drawn for every result.
GENERIC = ("throughput", "queue", "pause-frames", "paused-time", "fct-slowdown", "fct-cdf")


def draw(result: Result, name: str) -> Figure:
    """Draw the figure `name` of `result`.

    Raises:
        KeyError: no figure has that name.
        NothingToDraw: the result lacks what the figure shows.
    """
    if name not in FIGURES:
        near = difflib.get_close_matches(name, FIGURES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise KeyError(f"no figure {name!r}{hint} (known: {', '.join(FIGURES)})")
    with style():
        return FIGURES[name].function(result)


def save(figure: Figure, directory: Path, name: str) -> tuple[Path, Path]:
    """Write `figure` as PNG (200 dpi) and SVG into `directory`; answers both paths."""
    png, svg = directory / f"{name}.png", directory / f"{name}.svg"
    with style():
        figure.savefig(png, dpi=200)
        figure.savefig(svg, metadata={"Date": None})
    return png, svg
