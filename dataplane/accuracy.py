"""Draws docs/img/dataplane-accuracy.png: the paper's Figure 6, and what it means for marks.

`make -C dataplane accuracy` measures, writes accuracy.csv and calls this.
"""

import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from unpause.mechanisms import tofino_division

HERE = Path(__file__).resolve().parent
TICK_US = 1.024
SEQUENCES = {"websearch": "web search", "incast": "incast"}


def main():
    """Reads and draws."""
    with (HERE / "accuracy.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            {key: value if key == "sequence" else int(value) for key, value in row.items()}
            for row in csv.DictReader(file)
        ]
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    division(left)
    disagreement(middle, rows)
    lateness(right, rows)
    figure.savefig(HERE.parent / "docs" / "img" / "dataplane-accuracy.png", dpi=130)


def division(axes):
    """The paper's Figure 6: a constant of 1000 divided by up to 400."""
    counts = range(1, 401)
    axes.loglog(counts, [1000 / count for count in counts], color="black", lw=1, label="exact")
    axes.loglog(
        counts, tofino_division(1000, counts), ".", ms=3, color="C3", label="table and shift"
    )
    axes.set(xlabel="count", ylabel="1000 / count", title="division (the paper's Fig. 6)")
    axes.legend(frameon=False)


def lines(rows):
    """Sequence, `pst_target` and rows in order of `pst_interval`; those with few marks left out."""
    for name in SEQUENCES:
        for target in sorted({row["pst_target_ticks"] for row in rows}):
            chosen = [
                row
                for row in rows
                if (row["sequence"], row["pst_target_ticks"]) == (name, target)
                and row["exact_marks"] >= 100
            ]
            if chosen:
                yield name, target, chosen


def style(name, target):
    """Colour by target, line by sequence."""
    color = {10: "C0", 42: "C1", 83: "C2"}[target]
    label = f"{SEQUENCES[name]}, {target * TICK_US:.0f} us"
    return {"color": color, "ls": "-" if name == "websearch" else "--", "label": label}


def disagreement(axes, rows):
    """Share of packets that only one of the two marks."""
    for name, target, chosen in lines(rows):
        share = [
            100 * (row["exact_only"] + row["hardware_only"]) / row["packets"] for row in chosen
        ]
        intervals = [row["pst_interval_ticks"] * TICK_US for row in chosen]
        axes.semilogx(intervals, share, marker=".", **style(name, target))
    axes.set(
        xlabel="pst_interval, us", ylabel="packets, %", title="marked by only one", ylim=(0, None)
    )
    axes.legend(frameon=False, fontsize=7, title="pst_target", title_fontsize=7)


def lateness(axes, rows):
    """How much later the k-th persistent mark comes: mean, and from the earliest to the latest."""
    for name, target, chosen in lines(rows):
        if name != "websearch":
            continue
        intervals = [row["pst_interval_ticks"] * TICK_US for row in chosen]
        look = style(name, target)
        axes.semilogx(intervals, [row["late_mean_ns"] / 1e3 for row in chosen], marker=".", **look)
        low = [row["earliest_ns"] / 1e3 for row in chosen]
        high = [row["latest_ns"] / 1e3 for row in chosen]
        axes.fill_between(intervals, low, high, color=look["color"], alpha=0.12, lw=0)
    axes.axhline(0, color="black", lw=0.6)
    axes.set(
        xlabel="pst_interval, us",
        ylabel="us: mean, least and most",
        title="later than exact, web search",
    )


if __name__ == "__main__":
    main()
