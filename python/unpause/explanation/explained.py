"""The parts of an explanation of a run: the one list that terminal, notebook and page show.

Each part is a list of sentences, except the trees: these have a drawing of who paused whom. A part
without anything to say is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape

from unpause import plain, printed
from unpause.data.result import Result, Run
from unpause.explanation import (
    account,
    advice,
    chosen,
    delays,
    flow_lines,
    incidents,
    lateness,
    shaped,
)
from unpause.explanation.tree_lines import indented, of_tree, when
from unpause.explanation.trees import Tree
from unpause.text import plural, rate, time

#: The most trees, and slowest flows, of a run.
_MOST_TREES = 3
_MOST_SLOWEST = 3
#: Columns of a tree in a notebook.
_COLUMNS = 100


@dataclass(frozen=True)
class Part:
    """A part of an explanation.

    Attributes:
        name: For programs: a key of :data:`PARTS`.
        title: What it is about; empty if its sentences say so.
        texts: Sentences; those of a tree with line breaks.
    """

    name: str
    title: str
    texts: tuple[str, ...]


def of_run(
    result: Result, run: Run, at_ns: float | None = None, columns: int = _COLUMNS
) -> list[Part]:
    """The parts of a run that have anything to say, in order; at one time only some have."""
    found = []
    for name, (title, texts) in PARTS.items():
        if every := tuple(texts(result, run, at_ns, columns)):
            found.append(Part(name, title, every))
    return found


def html(result: Result, runs: list[Run], flow: str | None = None) -> str:
    """All parts of each run, for a notebook; with `flow` only what is known of that flow."""
    body = []
    for run in runs:
        body.append(f"<h4>{escape(chosen.run_name(run))}</h4>")
        if flow is not None:
            body += [f"<p>{escape(text)}</p>" for text in flow_lines.sentences(run, flow, None)]
            continue
        for part in of_run(result, run):
            body.append(f'<section data-part="{part.name}">')
            body += [f"<h5>{escape(part.title)}</h5>"] if part.title else []
            tag = "pre" if part.name == "trees" else "p"
            body += [f"<{tag}>{escape(text)}</{tag}>" for text in part.texts]
            body.append("</section>")
    return plain.clean("".join(body))


def _tree(
    result: Result, run: Run, tree: Tree, title: str, columns: int, at_ns: float | None
) -> Iterator[str]:
    """A tree with its title and what could help."""
    link = account.link_rates(run).get(tree.root, 0)
    speed = f", {rate(link)}" if link else ""
    if limit := shaped.limit(run, tree, link):
        speed = f", {rate(limit)} of {rate(link)} (max_rate)"
    yield printed.wrapped(f"{title}{speed}: {when(tree)}", columns)
    yield from of_tree(tree, columns, at_ns)
    yield indented(f"Could help: {advice.of_run(result, run)(tree)}.", columns)


def _losses(result: Result, run: Run, at_ns: float | None, _: int) -> Iterator[str]:
    yield from incidents.losses(result, run)
    if at_ns is None:
        yield from incidents.storms(run)


def _trees(result: Result, run: Run, at_ns: float | None, columns: int) -> Iterator[str]:
    trees = account.trees(run, at_ns)
    if not trees:
        return
    titles = account.titles(run, trees)
    for number, (it, title) in enumerate(zip(trees[:_MOST_TREES], titles, strict=False), 1):
        yield "\n".join(_tree(result, run, it, f"{number}. {title}", columns, at_ns))
    if rest := trees[_MOST_TREES:]:
        yield printed.wrapped(
            f"{len(rest)} more, from {plural(sum(t.pauses for t in rest), 'PAUSE')} and "
            f"{time(sum(t.paused_ns for t in rest))} of pause: --json has them all.",
            columns,
        )


def _delays(_result: Result, run: Run, at_ns: float | None, _: int) -> Iterator[str]:
    if at_ns is None and delays.are_there(run):
        for each in delays.slowest(run, run.counted_flows(), _MOST_SLOWEST):
            yield delays.line(each)


def _waiting(result: Result, run: Run, at_ns: float | None, _: int) -> Iterator[str]:
    if at_ns is None:
        yield from incidents.waiting(result, run)


def _late(_result: Result, run: Run, at_ns: float | None, _: int) -> Iterator[str]:
    if at_ns is None:
        yield from map(lateness.sentence, lateness.of_run(run))


_Texts = Callable[[Result, Run, float | None, int], Iterator[str]]
#: The parts, in the order in which they are shown: their titles, and what says them.
PARTS: dict[str, tuple[str, _Texts]] = {
    "losses": ("", _losses),
    "trees": ("", _trees),
    "delays": ("Slowest flows, and where their time went beyond what each takes alone", _delays),
    "waiting": ("Senders that wait at the end", _waiting),
    "late": ("", _late),
}
