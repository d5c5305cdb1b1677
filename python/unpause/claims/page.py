"""What a reproduction writes: its page, the same as Markdown, and figures of the claims."""

from __future__ import annotations

import datetime
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

import unpause
from unpause import figures
from unpause import papers as rooms
from unpause.claims import chart, headlines, stated, tried, verdicts
from unpause.claims.claim import Claim, Counted, Verdict
from unpause.claims.reproduced import Done
from unpause.data import beneath, staged
from unpause.data.result import load
from unpause.data.schemes import TooMany
from unpause.figures.style import NothingToDraw, style

_CHART = "claims"  # name of the figure of all claims


@dataclass(frozen=True)
class Told:
    """What a page says below a claim.

    Attributes:
        claim: Which.
        why: Reason, and the note of the claims file.
        picture: Path of the chart of settings that were tried; empty if there is none.
    """

    claim: Claim
    why: str
    picture: str


def claims_of(done: Sequence[Done]) -> list[Claim]:
    """The claims of all experiments."""
    return [claim for d in done for claim in d.claims]


def told(done: Done, drawn: set[str], folder: str) -> list[Told]:
    """What is said below the claims of an experiment: where they do not hold, or a limit decides.

    Args:
        done: The experiment.
        drawn: Names of the charts that there are.
        folder: Where they lie, from the page.
    """
    found = []
    for claim in done.claims:
        held = claim.verdict is Verdict.REPRODUCED
        parts = ["" if held else claim.why, claim.assumed, claim.note]
        name = _tried_name(claim)
        picture = f"{folder}/{name}" if name in drawn and _has_chart(claim) else ""
        if any(parts) or picture:
            found.append(Told(claim, " ".join(filter(None, parts)), picture))
    return found


def _tried_name(claim: Claim) -> str:
    return f"tried-{claim.id.lower()}"


def _has_chart(claim: Claim) -> bool:
    """Charts are of the paper's claims in the reading that is judged first."""
    return claim.verdict is not Verdict.REPRODUCED and claim.counted is not Counted.READING


def write(paper: str, done: Sequence[Done], place: Path, full: bool, *, tried: bool) -> None:
    """The page, the claims of all experiments, and their figures.

    Args:
        paper: Name of the paper's folder.
        done: What has been run.
        place: The directory of the reproduction.
        full: Whether at full size.
        tried: Whether to draw what claims do in other settings, too.
    """
    claims = [{"experiment": d.experiment.id, **asdict(c)} for d in done for c in d.claims]
    with staged.Staged(place) as pages:
        folder = pages.folder / "figures"
        folder.mkdir()
        drawn = _draw(paper, done, place, folder, tried)
        html = _environment("html").get_template("reproduce.html").render(
            **_known(paper, done, full, drawn), told=lambda d: told(d, drawn, "figures")
        )  # fmt: skip
        (pages.folder / "index.html").write_text(html, "utf-8")
        counts = verdicts.counts(claims_of(done))
        verdicts.write_json({"counts": counts, "claims": claims}, pages.folder / "claims.json")
        pages.commit()


def _draw(
    paper: str, done: Sequence[Done], place: Path, folder: Path, with_tried: bool
) -> set[str]:
    """Draws the figures of the claims as SVG and PNG; answers their names."""
    drawn = set()

    def save(name: str, draw: Callable[[], Figure]) -> None:
        try:
            with style():
                figure = draw()
        except (NothingToDraw, TooMany):
            return
        figures.save(figure, folder, name)
        drawn.add(name)

    save(_CHART, lambda: chart.draw(claims_of(done)))
    if not with_tried:
        return drawn
    ids = {claim.id for claim in claims_of(done) if _has_chart(claim)}
    known = [c for file in stated.files() if file.parent == rooms.folders()[paper]
              for c in stated.read(file) if c.tried and c.id in ids]  # fmt: skip
    wanted = {t.experiment for c in known for t in c.tried}
    results = {
        d.experiment.id: load(place / d.directory) for d in done if d.experiment.id in wanted
    }
    for one in known:
        [of, *_] = [d for d in done if any(c.id == one.id and _has_chart(c) for c in d.claims)]
        own = load(place / of.directory)
        save(f"tried-{one.id.lower()}", lambda one=one, own=own: tried.draw(one, results, own))
    return drawn


def write_markdown(
    file: str | Path,
    place: Path,
    paper: str,
    done: Sequence[Done],
    full: bool,
    *,
    pictures: bool = False,
) -> None:
    """Write `done`, which lies in `place`, as Markdown.

    With `pictures` the figures are copied into a folder beside it, and shown; otherwise they are
    named by their files in `place`. A file ``notes.md`` beside it is linked to.
    """
    page = Path(file)
    folder = page.with_suffix("")
    drawn = {path.stem for path in (place / "figures").glob("*.png")}
    if pictures:
        folder.mkdir(parents=True, exist_ok=True)
        for path in [*(f"figures/{name}.png" for name in drawn),
                     *(path for d in done for _, path in d.pictures)]:  # fmt: skip
            beneath.write(folder / _copied_name(path), (place / path).read_bytes())
    notes = page.with_name("notes.md")
    environment = _environment("md")
    environment.filters["copied_name"] = _copied_name
    text = environment.get_template("reproduce.md").render(
        **_known(paper, done, full, drawn),
        name=paper,
        pictures=folder.name if pictures else "",
        told=lambda d: told(d, drawn, "figures"),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        commit=_commit(),
        notes=notes.name if notes.exists() else "",
    )  # fmt: skip
    page.parent.mkdir(parents=True, exist_ok=True)
    beneath.write(page, text)


def _copied_name(path: str) -> str:
    """The name of the copy of a figure: ``f2-pcn-f2.png`` for ``f2/figures/pcn-f2.png``."""
    return path.removeprefix("figures/").replace("/figures/", "-")


def _environment(kind: str) -> Environment:
    environment = Environment(
        loader=PackageLoader("unpause"),
        autoescape=kind == "html",
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["parts"] = lambda text: [part for part in text.split("; ") if part]
    environment.filters["cell"] = _cell
    environment.filters["plain"] = lambda text: text.replace("|", "\\|")
    return environment


def _cell(text: str) -> str:
    """A cell of a Markdown table; several parts become a list."""
    parts = text.replace("|", "\\|").split("; ")
    return parts[0] if len(parts) == 1 else "<br>".join(f"• {part}" for part in parts)


def _known(paper: str, done: Sequence[Done], full: bool, drawn: set[str]) -> dict[str, object]:
    """The part that both pages share."""
    claims = claims_of(done)
    return {
        "paper": rooms.stated(paper)["name"],
        "headline": verdicts.title(claims),
        "done": done,
        "full": full,
        "counts": verdicts.counts_text(claims),
        "duration": duration,
        "core_time": duration(sum(d.core_s for d in done)),
        "chart": _CHART if _CHART in drawn else "",
        "headlines": headlines.of(paper, claims),
        "version": unpause.__version__,
    }


def duration(seconds: float) -> str:
    """Such as "2 min 5 s"."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _commit() -> str:
    """The commit checked out in the current directory, if there is one."""
    asked = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
