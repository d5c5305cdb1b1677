"""Figures of a result, found by name in :data:`FIGURES`.

A figure is a function with :func:`~unpause.figures.registry.draws` above it, in any module of this
package or of a paper's folder; nothing else lists it. One that is only parameters of a kind is a
``[[figure]]`` of the paper's ``paper.toml`` instead: `name`, `title`, `kind`, and what the function
of that kind takes (:func:`~unpause.figures.registry.kind`). The generic figures suit any scenario;
the others are of a paper's experiments. A figure that has nothing to show raises
:class:`NothingToDraw` with a sentence that says why.
"""

from __future__ import annotations

import importlib
import io
import pkgutil
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG

from unpause import papers, plain
from unpause.data.schemes import TooMany
from unpause.data.series import Unavailable
from unpause.figures.registry import FIGURES, Drawing, add, draws
from unpause.figures.style import NothingToDraw, plain_powers, style
from unpause.text import nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unpause.data.result import Result

__all__ = [
    "FIGURES",
    "GENERIC",
    "Drawing",
    "NothingToDraw",
    "displayed",
    "draw",
    "draws",
    "of_result",
    "save",
    "save_pdf",
    "save_png",
]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

#: Those of no paper: :data:`GENERIC`, and others that are drawn where a scenario asks for them.
OF_ANY = tuple(FIGURES)

for _paper, _folder in papers.folders().items():
    for _module in pkgutil.iter_modules([str(_folder)]):
        importlib.import_module(f"{papers.__name__}.{_paper}.{_module.name}")
    for _entry in papers.stated(_paper).get("figure", []):
        add(_entry)

#: Drawn for every result that has what they need, in the order in which a report shows them.
GENERIC = tuple(
    d.name
    for d in sorted(
        (d for d in FIGURES.values() if d.place is not None), key=lambda drawing: drawing.place
    )
)


def of_result(result: Result) -> list[str]:
    """Those of :data:`GENERIC` that are drawn for a result."""
    tables = [(name, FIGURES[name].table) for name in GENERIC]
    return [name for name, table in tables if table is None or result.tables[table].num_rows]


def draw(result: Result, name: str) -> Figure:
    """Draw the figure `name` of `result`.

    Raises:
        KeyError: no figure has that name.
        NothingToDraw: the result lacks what the figure shows.
    """
    if name not in FIGURES:
        hint = nearest(name, FIGURES) or (
            f" (known: {', '.join(OF_ANY)}, and those of papers: unpause.figures.FIGURES)"
        )
        raise KeyError(f"no figure {name!r}{hint}")
    with style():
        try:
            return FIGURES[name].function(result)
        except (TooMany, Unavailable) as error:
            raise NothingToDraw(str(error)) from error


def displayed(figure: Figure) -> Figure:
    """The figure, which IPython shows as a picture, whether or not pyplot has been imported there.

    IPython knows figures of pyplot only, and asks other objects for this method.
    """
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def _png(figure: Figure) -> bytes:
    drawn = io.BytesIO()
    with style():
        plain_powers(figure)
        FigureCanvasAgg(figure).print_png(drawn)
    return drawn.getvalue()


def save(figure: Figure, directory: Path, name: str, *, png: bool = True) -> Path:
    """Write `figure` as SVG and, with `png`, as PNG (200 dpi) into `directory`.

    Answers the path of the SVG.
    """
    svg = directory / f"{name}.svg"
    with style():
        plain_powers(figure)
        # Not savefig, which draws twice: once for the layout alone.
        drawn = io.StringIO()
        FigureCanvasSVG(figure).print_svg(drawn, metadata={"Date": None})
        # XML has no control characters, not even in comments.
        svg.write_text(plain.clean(drawn.getvalue()), "utf-8", newline="\n")
        if png:
            save_png(figure, svg)
    return svg


def save_pdf(figure: Figure, file: str | Path | IO[bytes]) -> None:
    """Write `figure` as PDF, for a paper; without a date, so the same figure gives the same bytes.

    Args:
        figure: The figure, as :func:`draw` makes it.
        file: A path, or a file that is open for bytes.
    """
    with style():
        plain_powers(figure)
        figure.savefig(file, format="pdf", metadata={"CreationDate": None})


def save_png(figure: Figure, svg: Path) -> Path:
    """Write as PNG beside it what :func:`save` has written; answers its path."""
    png = svg.with_suffix(".png")
    with style():
        figure.set_layout_engine("none")  # what has been laid out stays so
        dpi = figure.get_dpi()
        try:
            figure.set_dpi(200)
            FigureCanvasAgg(figure).print_png(png)
        finally:
            figure.set_dpi(dpi)
    return png
