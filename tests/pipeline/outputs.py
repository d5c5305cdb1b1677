"""Everything that unpause makes of a result, and what must hold of it whatever it says."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
import tempfile
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import unpause
from unpause import _native, figures
from unpause.commands import compare, explain, perfetto, report
from unpause.data.result import Result
from unpause.explanation import chosen, sentences, trees_json
from unpause.pages import explore, notebook

_BROKEN_NUMBER = re.compile(r"\b(nan|inf|None)\b|(?<![\w.\-])-\d")
_PERCENT = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s+%")
_WIDE = 100_000


@dataclass
class Said:
    """The texts about a result.

    Attributes:
        sentences: By scheme.
        lines: Of `explain`.
        trees: By number of the run, of `explain --json`.
        page: What the page has before any run, and its frames.
        problems: What went wrong while it was made.
    """

    sentences: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    trees: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    frames: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@contextlib.contextmanager
def _guarded(said: Said, what: str) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            # Numbers that are none begin as warnings; a font may lack what a name needs.
            warnings.simplefilter("error")
            warnings.filterwarnings("default", message="Glyph .* missing from")
            yield
    except Exception as error:  # whatever it is, it is a finding
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}: {last.name}"
        said.problems.append(f"{what}: {type(error).__name__}: {str(error)[:200]} ({where})")


def told(result: Result) -> Said:
    """Texts that no file has."""
    said = Said()
    with _guarded(said, "sentences"):
        said.sentences = dict(sentences.of_result(result))
    with _guarded(said, "explain"):
        runs = chosen.the_runs(result)
        said.lines = [
            line for text in explain.lines(result, runs, _WIDE, None) for line in text.split("\n")
        ]
    with _guarded(said, "explain --json"):
        every = [run for scheme in result.schemes for run in result.runs_of(scheme)]
        text = json.dumps(trees_json.as_json(result, every, None), default=trees_json.plain)
        said.trees = {run["run"]: run["trees"] for run in strict(text)["runs"]}
    with _guarded(said, "page"):
        said.about, said.frames = of_page(explore.page(result, ()))
    with _guarded(said, "notebook"):
        check_text(said, "notebook", re.sub(r"<[^>]*>", " ", notebook.html(result)))
    with _guarded(said, "perfetto"):
        perfetto.write(result, io.BytesIO())
    for scheme, sentence in said.sentences.items():
        check_text(said, f"sentence of {scheme}", sentence)
    check_text(said, "explain", "\n".join(said.lines))
    return said


def strict(text: str) -> Any:
    """JSON without NaN and infinities."""

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} in JSON")

    return json.loads(text, parse_constant=refuse)


def of_page(html: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The part of a page before any run, and the JSON of each run."""
    about = re.search(r'<script[^>]*id="about"[^>]*>(.*?)</script>', html, re.S)
    assert about is not None, "no data in the page"
    frames = []
    for text in re.findall(r'<script id="run-\d+"[^>]*>(.*?)</script>', html, re.S):
        raw = zlib.decompress(base64.b64decode(text))
        length = int.from_bytes(raw[:4], "little")
        frames.append(strict(raw[4 : 4 + length].decode()))
    return strict(about.group(1)), frames


def check_text(said: Said, what: str, text: str) -> None:
    """No NaN, and no share above 100 %."""
    if broken := _BROKEN_NUMBER.search(text):
        around = text[max(0, broken.start() - 60) : broken.end() + 40]
        said.problems.append(f"{what}: no number: …{around}…")
    for share in _PERCENT.findall(text):
        if float(share.replace(",", "")) > 100:
            said.problems.append(f"{what}: {share} %")


def drawn(result: Result, said: Said) -> None:
    """Every figure of the registry, the report, the page of `compare` and the files beside."""
    for name in figures.FIGURES:
        with _guarded(said, f"figure {name}"):
            try:
                figure = figures.draw(result, name)
            except figures.NothingToDraw as error:
                check_text(said, f"figure {name}", str(error))
                continue
            said.problems += [f"figure {name}: {it}" for it in empty_axes(figure)]
    with tempfile.TemporaryDirectory() as folder:
        _written(result, said, Path(folder) / "result")


def _written(result: Result, said: Said, directory: Path) -> None:
    with _guarded(said, "write"):
        result.write(directory)
    with _guarded(said, "report"):
        built = report.build(directory)
        if dict(built.sentences) != said.sentences:
            said.problems.append("report: other sentences than those of the result in memory")
        wrong = [it for it in built.problems if "fonts" not in it and "font" not in it]
        said.problems += [f"report: {it}" for it in wrong]
        closing = report.closing(built, _WIDE)
        check_text(said, "report", "\n".join(it for it in closing if str(directory) not in it))
    _compared(directory, said)
    commands: dict[str, Callable[[list[str]], int]] = {
        "explain": explain.main,
        "perfetto": perfetto.main,
    }
    for name, main in commands.items():
        _command(said, name, main, [str(directory)])
    with _guarded(said, "csv"):
        if code := _native.main(["unpause", "export", str(directory), "--quiet"]):
            said.problems.append(f"csv: exit code {code}")
    with _guarded(said, "load"):
        if unpause.load(directory).runs != result.runs:
            said.problems.append("load: other runs than those that were written")


def _compared(directory: Path, said: Said) -> None:
    """With itself there is no difference."""
    out = directory.parent / "differences.html"
    other = directory.parent / "again"
    other.symlink_to(directory)
    text = _command(said, "compare", compare.main, [str(directory), str(other), "--out", str(out)])
    check_text(said, "compare", text)
    with _guarded(said, "page of compare"):
        of_page(out.read_text("utf-8"))


def _command(said: Said, name: str, main: Callable[[list[str]], int], arguments: list[str]) -> str:
    heard = io.StringIO()
    with _guarded(said, name), contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
        if code := main(arguments):
            said.problems.append(f"{name}: exit code {code}: {heard.getvalue()[-200:]}")
    return heard.getvalue()


def empty_axes(figure: Figure) -> Iterator[str]:
    """Axes that are there and show nothing, and texts with what is no number."""
    for number, axes in enumerate(figure.axes):
        if axes.axison and axes.get_visible() and not axes.texts and not _shows(axes):
            yield f"axis {number} ({axes.get_title() or axes.get_ylabel()}) is empty"
        texts = [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()]
        texts += [it.get_text() for it in axes.texts]
        for text in texts:
            if re.search(r"\b(nan|inf|None)\b", text):
                yield f"axis {number}: {text!r}"


def _shows(axes: Any) -> bool:
    for line in axes.lines:
        x, y = (np.asarray(it, dtype=float) for it in line.get_data(orig=False))
        if len(x) and np.any(np.isfinite(x) & np.isfinite(y)):
            return True
    return bool(axes.collections or axes.patches or axes.images or axes.tables)
