"""PCN Fig. 2 under other readings of its schemes: what makes a congestion tree, and how long."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.figure import Figure

from unpause import metrics
from unpause.figures.registry import draws
from unpause.figures.variants import draw_variants
from unpause.result import Result, Run

_TREE = ["S1->S0", "S0->H0", "S0->H1"]
_BURST = "burst"


@draws("pcn-f2-readings", "PCN Fig. 2: readings of the schemes")
def draw(result: Result) -> Figure:
    """Tree, what S1 holds of F0 and F1, what F1 is cut to, and the loss; a row for each scheme."""
    measures: dict[str, Callable[[Run], float]] = {
        "tree of PAUSEs\n(ms)": lambda r: metrics.tree_duration_ms(r, _TREE, _BURST),
        "most held at S1\nfrom S0 (KB)": lambda r: metrics.largest_ingress_kb(r, ["S0->S1"]),
        "lowest rate set\nfor F1 (Gb/s)": lambda r: metrics.lowest_controller_rate_gbps(
            r, ["F1"], _BURST, (0.0, 5.0)
        ),
        "throughput lost\nfor (ms)": lambda r: metrics.throughput_loss_ms(
            r, ["F0", "F1"], _BURST, 19.08
        ),
    }
    return draw_variants(result, measures, linear=tuple(m for m in measures if "rate" not in m))
