"""``python -m tests.pipeline random|planted``: counts, and each failure with its seed."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import unpause
from tests.pipeline import named, outputs
from tests.pipeline.judge import judged

Judge = Callable[[int], tuple[str, list[str]]]
ROOT = Path(__file__).parents[2]
#: Of so many random scenarios one is also drawn and written.
DRAWN = 10
_SEEDS_AT_A_TIME = 50


#: The build of `make test-rust`, whose dependencies this one shares.
_OF_TESTS = ["--workspace", "--exclude", "unpause-python", "--test", "seeds", "--no-run"]


def written(seed: int, count: int, directory: Path, profile: str) -> None:
    """Has vopr write its scenarios into `directory`."""
    builds = {
        "debug": ["test", *_OF_TESTS],
        "release": ["build", "--release", "-p", "unpause-vopr"],
    }
    subprocess.run(["cargo", *builds[profile], "--quiet"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    wanted = ["write", "--seed", str(seed), "--count", str(count), "--output", str(directory)]
    subprocess.run([target / profile / "unpause-vopr", *wanted], cwd=ROOT, check=True)


def of_random(seed: int, directory: Path, drawn: int) -> tuple[str, list[str]]:
    """Runs the scenario of a seed and judges the explanation; returns the outcome."""
    [file] = (directory / str(seed)).glob("*.toml")
    scenario = tomllib.loads(file.read_text("utf-8"))
    scenario.setdefault("probes", {})["causes"] = True
    # Files that it names lie beside it.
    os.chdir(file.parent)
    try:
        result = unpause.run(scenario, threads=1, progress=False)
    except unpause.ScenarioError:
        return "refused", []
    said = outputs.told(result)
    problems = [*said.problems, *judged(result, said)]
    if drawn and seed % drawn == 0:
        more = outputs.Said(sentences=said.sentences)
        outputs.drawn(result, more)
        problems += more.problems
    paused = any(said.trees.values())
    return "told of PAUSE" if paused else "told of no PAUSE", problems


def randoms(
    seed: int, count: int, jobs: int, drawn: int, profile: str
) -> Iterator[tuple[int, str, list[str]]]:
    """Judges the scenarios of `count` seeds."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        written(seed, count, directory, profile)
        yield from _shared(partial(of_random, directory=directory, drawn=drawn), seed, count, jobs)


def _shared(judge: Judge, seed: int, count: int, jobs: int) -> Iterator[tuple[int, str, list[str]]]:
    seeds = range(seed, seed + count)
    task = partial(_one, judge)
    if jobs == 1:
        yield from map(task, seeds)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(jobs, maxtasksperchild=_SEEDS_AT_A_TIME) as pool:
        yield from pool.imap(task, seeds, chunksize=4)


def _one(judge: Judge, seed: int) -> tuple[int, str, list[str]]:
    return (seed, *judge(seed))


def planted(seed: int, count: int, jobs: int) -> Iterator[tuple[int, str, list[str]]]:
    """Judges the planted scenarios of `count` seeds."""
    yield from _shared(named.of_planted, seed, count, jobs)


def main() -> int:
    """Entry point; answers the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.pipeline", description=__doc__)
    parser.add_argument("what", choices=["random", "planted"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--drawn", type=int, default=DRAWN, help="of so many one is drawn; 0: none")
    options = parser.parse_args()
    if options.what == "random":
        found = randoms(options.seed, options.count, options.jobs, options.drawn, "release")
    else:
        found = planted(options.seed, options.count, options.jobs)
    counts: Counter[str] = Counter()
    failed = 0
    for seed, became, problems in found:
        counts[became] += 1
        failed += bool(problems)
        for problem in problems:
            print(f"seed {seed}: {became}: {problem}", flush=True)
    print(", ".join(f"{number:,} {name}" for name, number in sorted(counts.items())))
    print(f"{failed:,} of {counts.total():,} failed")
    return int(failed > 0)
