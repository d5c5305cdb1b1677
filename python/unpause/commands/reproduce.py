"""A paper's experiments run again: its figures and claims on one page.

``unpause reproduce pcn`` runs every experiment listed in the paper's ``paper.toml``
(:mod:`unpause.papers`), ``pcn/F11`` only those of one figure. Each becomes a result directory with
its own report; ``index.html`` shows for each the figures, the claims and why claims do not hold.
``--markdown FILE`` writes the same for a repository; ``--pictures`` copies the figures into a
folder beside FILE, and shows them there.
"""

from __future__ import annotations

import argparse
import copy
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from unpause import figures, printed, running
from unpause import papers as rooms
from unpause.claims import page, seed_check, stated, verdicts
from unpause.claims.reproduced import Done, Experiment
from unpause.commands import report
from unpause.data import beneath, staged
from unpause.data.result import Result, ResultError, load
from unpause.errors import ScenarioError
from unpause.explanation import notices
from unpause.text import nearest, plural


class ReproduceError(Exception):
    """No such paper or figure; the message says which there are."""


def papers() -> dict[str, list[Experiment]]:
    """Every paper with its experiments, in the paper's order.

    Raises:
        ReproduceError: the file that lists them is not TOML.
    """
    return {
        paper: _experiments(_stated(paper, folder)["experiment"], folder / "scenarios")
        for paper, folder in rooms.folders().items()
    }


def _experiments(stated: Sequence[Mapping[str, Any]], scenarios: Path) -> list[Experiment]:
    """The experiments of a paper.

    By default the scenario has the experiment's name. A version can be the name of an earlier
    experiment that has the same one.
    """
    versions: dict[str, Mapping[str, Any]] = {}

    def version(of: Mapping[str, Any], which: str) -> dict[str, Any]:
        wanted = of.get(which, {})
        if not isinstance(wanted, str):
            return dict(wanted)
        if wanted not in versions:
            raise ReproduceError(f"{of['id']}: {which}: no experiment {wanted!r} before this one")
        return version(versions[wanted], which)

    experiments = []
    for e in stated:
        experiments.append(
            Experiment(
                e["id"],
                scenarios / e.get("scenario", f"{e['id'].lower()}.toml"),
                version(e, "quick"),
                version(e, "full"),
                e.get("core_s", 0.0),
                e.get("deterministic", False),
            )
        )
        versions[e["id"]] = e
    return experiments


def _stated(paper: str, folder: Path) -> dict[str, Any]:
    try:
        return rooms.stated(paper)
    except ValueError as error:
        raise ReproduceError(f"{folder / 'paper.toml'}: {error}") from error


def select(what: str) -> tuple[str, list[Experiment]]:
    """The paper and the experiments that `what` names: ``"pcn"``, ``"pcn/F18"``.

    Raises:
        ReproduceError: there is no such paper or figure.
    """
    known = papers()
    paper, _, figure = what.partition("/")
    if paper not in known:
        raise ReproduceError(f"no paper {paper!r}{_nearest(paper, known)}")
    if not figure:
        return paper, known[paper]
    ids = [e.id for e in known[paper]]
    found = [e for e in known[paper] if figure.upper() in (e.id.upper(), *e.id.split("-"))]
    if not found:
        raise ReproduceError(f"{paper} has no experiment {figure!r}{_nearest(figure, ids)}")
    return paper, found


def _nearest(name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    return f"{nearest(name, known)} (known: {', '.join(known)})"


def reduce(scenario: Mapping[str, Any], quick: Mapping[str, Any]) -> dict[str, Any]:
    """`scenario` with the values of `quick` (or full), whose keys are paths: ``sweep.n.values``.

    Entries of a list of tables are found by their ``name``.

    Raises:
        ReproduceError: the scenario has no such key.
    """
    reduced = copy.deepcopy(dict(scenario))
    for path, value in quick.items():
        *way, last = path.split(".")
        table: Any = reduced
        for part in way:
            if isinstance(table, list):
                table = next((t for t in table if t.get("name") == part), None)
            else:
                table = table.get(part)
            if table is None:
                break
        if not isinstance(table, dict) or last not in table:
            raise ReproduceError(f"the scenario has no key {path!r} to reduce")
        table[last] = value
    return reduced


def read(experiment: Experiment, *, full: bool) -> Any:
    """The scenario of an experiment, full or reduced, checked.

    Raises:
        ScenarioError: it cannot be run.
        ReproduceError: it has no key that this version replaces.
    """
    from unpause import _native

    instead = experiment.full if full else experiment.quick
    native = _native.Scenario.load(experiment.scenario)
    if not instead:
        return native
    text = tomli_w.dumps(reduce(tomllib.loads(native.source), instead))
    # The file stays the origin: names of other files in it start at its directory.
    return _native.Scenario.parse(text, experiment.scenario)


def reproduce(
    what: str,
    directory: str | Path | None = None,
    *,
    full: bool = False,
    threads: int | None = None,
) -> tuple[Path, list[Done]]:
    """Run what `what` names, and write the page; answers its path and what was found.

    Args:
        what: ``"pcn"``, or one of its figures: ``"pcn/F11"``.
        directory: Where to; ``results/reproduce-pcn`` by default.
        full: At full size, not the quick version.
        threads: As for :func:`unpause.run`.

    Raises:
        ReproduceError: there is no such paper or figure, or the directory holds something else.
        ClaimsError: a claims file of the paper is wrong.
        ScenarioError: a scenario cannot be run.
    """
    paper, experiments = select(what)
    # Its pages need the claims; mistakes in them are reported before anything runs.
    for file in sorted(rooms.folders()[paper].glob("claims*.toml")):
        stated.read(file)
    place = Path(directory) if directory else Path("results") / f"reproduce-{paper}"
    _check(place, experiments, papers()[paper])
    with staged.alone(place, held=False, result=False):
        return place / "index.html", run_all(paper, experiments, place, full=full, threads=threads)


def _is_begun(place: Path, experiments: Sequence[Experiment]) -> bool:
    """Whether there is what a reproduction leaves that was stopped before its first page.

    That is results of its experiments alone.
    """
    own = {experiment.id.lower() for experiment in experiments}
    try:
        entries = [it for it in place.iterdir() if it.name != staged.ROOM]
    except (FileNotFoundError, NotADirectoryError):
        return False
    return all(
        it.name in own
        and not it.is_symlink()
        and ((it / "manifest.json").is_file() or staged.is_free(it))
        for it in entries
    )


def _check(place: Path, experiments: Sequence[Experiment], every: Sequence[Experiment]) -> None:
    """Refuses a directory in which a reproduction would take the place of something else.

    `every` experiment of the paper may be there already.
    """
    other = any(os.path.lexists(place / name) for name in ("manifest.json", "sweep.json"))
    known = (place / staged.NAMES).is_file() or _is_begun(place, every)
    if other or not (known or staged.is_free(place)):
        raise ReproduceError(
            f"{place} exists and is not the directory of a reproduction\n"
            "hint: choose another directory with --out; nothing was changed"
        )
    if place.is_dir():
        staged.check(place, staged.REPRODUCTION_PAGES)
    for experiment in experiments:
        folder = beneath.own(place / experiment.id.lower())
        if not (folder / "manifest.json").is_file() and not staged.is_free(folder):
            raise ReproduceError(
                f"{folder} exists and is not a result directory\n"
                "hint: choose another directory with --out; nothing was changed"
            )


def run_all(
    paper: str,
    experiments: Sequence[Experiment],
    place: Path,
    *,
    full: bool,
    threads: int | None = None,
) -> list[Done]:
    """Runs `experiments` of a paper, or takes their results from `place`, and writes its page.

    Raises:
        ScenarioError: a scenario cannot be run.
    """
    if full:
        told = estimate(experiments, threads or os.cpu_count() or 1)
        print(printed.shown(told), flush=True)
    done = []
    for number, experiment in enumerate(experiments, start=1):
        print(f"[{number}/{len(experiments)}] {experiment.id}", flush=True)
        done.append(_run(experiment, place, full, threads))
        took = page.duration(done[-1].core_s)
        told = f"    {plural(done[-1].runs, 'run')}, {took} of one core. {done[-1].counts}"
        print(printed.shown(told.rstrip()), flush=True)
        # After each, so that an interruption leaves a page of what is done.
        page.write(paper, done, place, full, tried=number == len(experiments))
    return done


def estimate(experiments: Sequence[Experiment], cores: int) -> str:
    """A sentence: how long the full version takes on this many cores."""
    minutes = sum(e.core_s for e in experiments) / cores / 60
    unknown = [e.id for e in experiments if not e.core_s]
    about = f"about {minutes:.0f} min" if minutes >= 1 else "about a minute"
    also = f"; not known of {', '.join(unknown)}" if unknown else ""
    return f"The full version takes {about} on {cores} idle cores{also}."


def _run(experiment: Experiment, place: Path, full: bool, threads: int | None) -> Done:
    instead = experiment.full if full else experiment.quick
    native = read(experiment, full=full)
    written = tomllib.loads(native.source)
    directory = place / experiment.id.lower()
    finished = _finished(directory, native)
    if finished is not None:
        result = finished
    else:
        result = running.run_native(native, threads=threads, keep=directory)
        result.write(directory)
    problems = _seeds_alike(experiment, native, result, threads)
    timings = result.manifest["runs"]
    core_s = sum(run["cpu_s"] or run["wall_s"] * run["threads"] for run in timings)
    built = report.build(directory)
    wanted = written.get("report", {}).get("figures", [])
    return Done(
        experiment,
        result.title,
        str(written.get("source", "")),
        directory.name,
        [
            (figures.FIGURES[name].title, f"{directory.name}/figures/{name}.png")
            for name in wanted
            if name in built.drawn
        ],
        built.claims,
        [f"{path} = {_text(value)}" for path, value in instead.items()],
        [*problems, *_skipped(built, wanted), *built.problems, *_warnings(result)],
        result.runs.num_rows,
        _ranges(result.manifest["seeds"]),
        core_s,
    )


def _seeds_alike(
    experiment: Experiment, native: Any, result: Result, threads: int | None
) -> list[str]:
    """Checks that nothing is random where ``paper.toml`` says so; answers what is wrong."""
    if not experiment.deterministic or result.same_with_any_seed:
        return []
    table = seed_check.differs(native, result, threads)
    if not table:
        return []
    return [f"Stated to be deterministic, but with another seed table {table} differs."]


def _finished(directory: Path, native: Any) -> Result | None:
    """The result that an earlier reproduction, which was stopped later, has left there."""
    try:
        result = load(directory)
    except ResultError:
        return None
    known = result.manifest.get("scenario", {}).get("digest")
    return result if known and known == native.digest else None


def _ranges(numbers: Sequence[int]) -> str:
    """Such as ``1-3, 7``."""
    ranges: list[list[int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in ranges)


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _skipped(built: report.Report, wanted: Sequence[str]) -> list[str]:
    titles = {figures.FIGURES[n].title for n in wanted if n in figures.FIGURES}
    return [f"Not drawn: {t}: {why}" for t, why in built.skipped.items() if t in titles]


def _warnings(result: Result) -> list[str]:
    return notices.of_result(result).warnings


def _check_markdown(page: Path, pictures: bool) -> None:
    """Refuses to replace a page, or files of the folder of its pictures."""
    for path in (page, *([page.with_suffix("")] if pictures else [])):
        if os.path.lexists(path):
            raise ReproduceError(
                f"{path} exists\nhint: --force replaces the page and its figures; nothing was "
                "changed"
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``unpause reproduce``; answers the exit code."""
    parser = argparse.ArgumentParser(
        prog="unpause reproduce",
        description="Run a paper's experiments, draw its figures and judge its claims on one page.",
    )
    parser.add_argument("what", help="paper, or one of its figures: pcn, pcn/F11")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="the reduced version [default]")
    size.add_argument("--full", action="store_true", help="at full size; says how long it takes")
    parser.add_argument("--out", help="directory [default: results/reproduce-<paper>]")
    parser.add_argument("--markdown", metavar="FILE", help="write the page as Markdown, too")
    parser.add_argument("--pictures", action="store_true", help="with its figures beside it")
    parser.add_argument("--force", action="store_true", help="replace that file if it exists")
    parser.add_argument("--threads", type=int, help="threads [default: one per core]")
    options = parser.parse_args(arguments)
    try:
        if options.markdown and not options.force:
            _check_markdown(Path(options.markdown), options.pictures)
        written, done = reproduce(
            options.what, options.out, full=options.full, threads=options.threads
        )
        if options.markdown:
            paper = options.what.partition("/")[0]
            page.write_markdown(
                options.markdown,
                written.parent,
                paper,
                done,
                options.full,
                pictures=options.pictures,
            )
    except (ReproduceError, stated.ClaimsError, ResultError, ScenarioError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "interrupted: finished figures are kept; the same command resumes from there",
            file=sys.stderr,
        )
        return 130
    for d in done:
        for sentence in d.instead:
            version = "full" if options.full else "reduced"
            print(printed.shown(f"{version}: {d.experiment.id}: {sentence}"))
    print(printed.shown(verdicts.counts_text(page.claims_of(done))))
    print(f"page: {written}")
    return 0


if __name__ == "__main__":
    from unpause import signals

    sys.exit(signals.run(main))
