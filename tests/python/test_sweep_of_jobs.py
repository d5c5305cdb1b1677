"""Statistics of jobs in a sweep."""

from __future__ import annotations

import pytest

import unpause
from scenarios import PFC, entry, star
from unpause.pages import overview
from unpause.sweeps.grouped import Runs

SCENARIO = star(
    10,
    PFC,
    entry("job", name="first", ranks=4, iterations=2, collective="all-reduce", size="1MB"),
    title="Four jobs",
)


def test_a_sweep_has_what_jobs_measured() -> None:
    text = SCENARIO
    for name in ("b.c", "d", "e"):
        text += f'[[job]]\nname = "{name}"\nranks = 2\ncollective = "all-to-all"\nsize = "10KB"\n'
    # With 2 ms of compute no iteration ends within the run.
    vary = {"job.first.size": ["100KB", "400KB"], "job.first.compute": ["1us", "2ms"]}
    table = unpause.sweep(text, vary, progress=False)
    assert table.num_rows == 4
    for row in table.to_pylist():
        size, compute = (row[f"job.first.{it}"] for it in ("size_bytes", "compute_ns"))
        alone = text.replace('"1MB"', f'"{size}B"\ncompute = "{compute:.0f}ns"')
        jobs = {it["job"]: it for it in unpause.run(alone, progress=False).jobs.to_pylist()}
        assert list(jobs) == ["first", "b.c", "d", "e"]
        for job, its in jobs.items():
            for column in ("mean_ns", "slowdown", "busbw_gbytes_s"):
                assert row[f"job.{job}.{column}"] == its[column]
        assert (row["job.first.mean_ns"] is None) == (compute == 2e6)
    runs = Runs.of_sweep(table)
    assert runs.axes == ["job.first.size_bytes", "job.first.compute_ns"]
    assert runs.jobs == ["first", "b.c", "d", "e"]
    names = [measure.name for measure in runs.telling()]
    assert names[:7] == [
        *("first iteration", "b.c iteration", "d iteration"),
        *("first slowdown", "b.c slowdown", "d slowdown"),
        "first bus bandwidth",
    ]
    found = overview.of_sweep(runs)
    assert [head[:2] for head in found.heads[:3]] == [
        (job, "iteration") for job in ("first", "b.c", "d")
    ]
    assert found.scope.endswith(" 1 more job: sweep.parquet.")


def test_an_iteration_in_progress_at_the_end_is_a_lower_bound() -> None:
    means = {}
    for duration in ("300us", "20ms"):
        text = star(
            5,
            PFC,
            entry("job", name="first", ranks=4, iterations=9, collective="all-reduce", size="1MB"),
            duration=duration,
        )
        result = unpause.run(text, progress=False)
        [row] = Runs.of_result(result).rows
        [done] = result.jobs.column("iterations").to_pylist()
        [mean] = result.jobs.column("mean_ns").to_pylist()
        assert (done == 9) == (duration == "20ms")
        assert done > 1
        found = overview.of_result(result)
        cell = found.rows[0][[head[:2] for head in found.heads].index(("first", "iteration"))]
        assert cell.value.startswith("≥") == (done < 9)
        assert row["job.first.mean_ns"] == (mean if done == 9 else None)
        means[duration] = row["job.first.mean_at_least_ns"]
        if done < 9:
            in_progress = 3e5 - result.iterations.column("end_ns").to_pylist()[-1]
            assert means[duration] == pytest.approx((done * mean + in_progress) / (done + 1))
    assert means["300us"] <= means["20ms"] == mean
