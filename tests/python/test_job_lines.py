"""A sentence for each job: what iterations took under each scheme, and alone."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import MS, Builder
from unpause.explanation import job_lines
from unpause.pages import markup, notebook, overview, textual

US = 1e3


def job(made: Builder, run: int, name: str, mean_us: float | None, **row: Any) -> None:
    made.add(
        "jobs",
        run=run,
        scheme=made._scheme(run),
        job=name,
        **{
            "ranks": 16,
            "placement": "packed",
            "iterations": 11,
            "iterations_planned": 11,
            "warmup": 1,
            **dict.fromkeys(
                ("mean_ns", "p50_ns", "max_ns"), None if mean_us is None else mean_us * US
            ),
            "alone_ns": None if mean_us is None else 1000 * US,
            "slowdown": None if mean_us is None else mean_us / 1000,
            "straggler": 3,
            "straggler_host": "H7",
            **row,
        },
    )


def test_a_job_says_how_long_it_took_and_beside_what(builder: Builder) -> None:
    run = builder.run("PFC")
    job(builder, run, "gpt", 1310, busbw_gbytes_s=41.23)
    job(builder, run, "moe", 1000.4)
    assert job_lines.of_result(builder.result()) == [
        "gpt (16 ranks, packed): 10 iterations took in the median 1.31 ms under PFC (1.31 times as "
        "long as alone, bus bandwidth 41.2 GB/s, slowest rank 3 on H7).",
        "moe (16 ranks, packed): 10 iterations took in the median 1.00 ms under PFC (as long as "
        "alone, slowest rank 3 on H7).",
    ]


def test_a_job_that_is_alone_is_not_beside_itself(builder: Builder) -> None:
    job(
        builder, builder.run("PFC"), "gpt", 1000, iterations=2, iterations_planned=2, straggler=None
    )
    assert job_lines.of_result(builder.result()) == [
        "gpt (16 ranks, packed): an iteration took 1.00 ms under PFC."
    ]


def test_schemes_stand_side_by_side_and_placement_where_they_differ(builder: Builder) -> None:
    job(builder, builder.run("PFC"), "gpt", 1500, straggler=None, slowdown=None)
    job(builder, builder.run("DCQCN"), "gpt", 1200, straggler=None, placement="spread")
    builder.source += '[[traffic]]\nname = "storage"\n'
    assert job_lines.of_result(builder.result()) == [
        "gpt (16 ranks): 10 iterations took in the median 1.50 ms under PFC (placement packed), "
        "1.20 ms under DCQCN (placement spread, 1.2 times as long as alone)."
    ]


def seeds(made: Builder, scheme: str, each_us: list[float], straggler: list[int]) -> None:
    for seed, (mean, rank) in enumerate(zip(each_us, straggler, strict=True), 1):
        host = f"H{rank}"
        job(made, made.run(scheme, seed=seed), "gpt", mean, straggler=rank, straggler_host=host)


def test_of_seeds_the_best_and_the_worst_are_named_if_not_noise(builder: Builder) -> None:
    seeds(builder, "PFC", [1500, 1520, 1510], [1, 1, 1])
    seeds(builder, "DCQCN", [1000, 1010, 1020], [1, 2, 1])
    [line] = job_lines.of_result(builder.result())
    assert line == (
        "gpt (16 ranks, packed): 10 iterations took in the median 1.51 ms ± 1.6 % under PFC "
        "(slowest rank 1 on H1), 1.01 ms ± 2.5 % under DCQCN; shortest under DCQCN, longest "
        "under PFC (by 50 % on average)."
    )


def test_what_seeds_explain_has_no_best(builder: Builder) -> None:
    seeds(builder, "PFC", [1500, 900, 1200], [1, 1, 1])
    seeds(builder, "DCQCN", [1000, 1500, 1020], [1, 1, 1])
    [line] = job_lines.of_result(builder.result())
    assert "shortest" not in line


def test_over_a_sweep_the_least_and_the_most_are_said(builder: Builder) -> None:
    for scheme, factor in (("PFC", 1), ("DCQCN", 2)):
        for size, mean in ((1e6, 100), (4e6, 400), (2e6, 200)):
            job(builder, builder.run(scheme, **{"job.gpt.size_bytes": size}), "gpt", factor * mean)
    [line] = job_lines.of_result(builder.result())
    assert line.endswith(
        "10 iterations took in the median 100 us (size_bytes 1 MB) to 400 us (size_bytes 4 MB) "
        "under PFC, 200 us (size_bytes 1 MB) to 800 us (size_bytes 4 MB) under DCQCN."
    )


def test_the_unit_of_a_sweep_is_that_of_the_scenario(builder: Builder) -> None:
    for size, mean in ((64, 100), (256, 400)):
        job(builder, builder.run("PFC", size=size), "gpt", mean)
    builder.source += '[[sweep]]\nname = "size"\nkey = "job.gpt.size"\nunit = "KB"\n'
    [line] = job_lines.of_result(builder.result())
    assert line.endswith(
        "took in the median 100 us (size 64 KB) to 400 us (size 256 KB) under PFC."
    )


def test_a_job_without_a_complete_iteration_has_no_time(builder: Builder) -> None:
    job(builder, builder.run("PFC"), "gpt", None, iterations=1, straggler=None)
    assert job_lines.of_result(builder.result()) == [
        "gpt (16 ranks, packed): no iteration after the warm-up was complete."
    ]
    job(builder, builder.run("DCQCN"), "gpt", 1000, straggler=None)
    assert job_lines.of_result(builder.result()) == [
        "gpt (16 ranks, packed): 10 iterations took in the median 1.00 ms under DCQCN; no "
        "iteration after the warm-up was complete under PFC."
    ]


def test_a_swept_value_without_a_complete_iteration_is_named(builder: Builder) -> None:
    for place, mean, ended in ((0, 100, 11), (1, None, 1), (2, 300, 8)):
        for scheme, slower in (("PFC", 1), ("DCQCN", 2)):
            mine = scheme == "DCQCN"
            time = slower * (mean if mine and mean else 150)
            job(
                builder,
                builder.run(scheme, place=place),
                "gpt",
                None if mine and mean is None else time,
                iterations=ended if mine else 11,
            )
    [line] = job_lines.of_result(builder.result())
    # Of the 10 that count DCQCN ended 7 with place 2.
    assert line == (
        "gpt (16 ranks, packed): iterations took in the median 150 us under PFC, 200 us (place "
        "0) to 600 us (place 2, 7 of 10 iterations) under DCQCN; no iteration after the warm-up "
        "was complete under DCQCN (place 1)."
    )


def test_iterations_that_are_missing_are_counted(builder: Builder) -> None:
    for scheme, ended in (("PFC", [11, 11]), ("DCQCN", [4, 2])):
        for seed, count in enumerate(ended, 1):
            job(builder, builder.run(scheme, seed=seed), "gpt", 1000, iterations=count)
    [line] = job_lines.of_result(builder.result())
    assert line.count(" of 10 iterations") == 1
    assert "slowest rank 3 on H7, 1 to 3 of 10 iterations)" in line


FAILED = {
    "failed_at_ns": 12.4 * MS,
    "failed_rank": 5,
    "failed_peer": 13,
    "down_link": "H5-leaf0",
    "down_since_ns": 3 * MS,
}
STUCK = {"stuck_since_ns": 3 * MS, "down_link": "H5-leaf0", "down_since_ns": 3 * MS}


def test_a_job_that_failed_is_said_first_with_its_link(builder: Builder) -> None:
    job(builder, builder.run("PFC"), "gpt", 810, iterations=4, straggler=None, **FAILED)
    assert job_lines.of_result(builder.result()) == [
        "gpt (16 ranks, packed): 3 of 10 iterations under PFC, failed at 12.4 ms: rank 5 to 13 "
        "gave up, H5-leaf0 down since 3.00 ms. 3 iterations took in the median 810 us under PFC."
    ]


def test_a_job_that_is_stuck_says_since_when(builder: Builder) -> None:
    job(builder, builder.run("PFC"), "gpt", None, iterations=1, straggler=None, **STUCK)
    job(builder, builder.run("DCQCN"), "gpt", 1000, straggler=None)
    job(builder, builder.run("HPCC"), "gpt", None, iterations=0, stuck_since_ns=2 * MS)
    assert job_lines.of_result(builder.result()) == [
        "gpt (16 ranks, packed): 0 of 10 iterations under PFC, stuck since 3.00 ms: H5-leaf0 down; "
        "0 of 10 iterations under HPCC, stuck since 2.00 ms: deadlocked. 10 iterations took in the "
        "median 1.00 ms under DCQCN; no iteration after the warm-up was complete under PFC, HPCC."
    ]


def test_seeds_in_which_a_job_failed_are_counted(builder: Builder) -> None:
    for seed in (1, 2, 3):
        failed = FAILED if seed > 1 else {}
        done = 11 if seed == 1 else 4
        job(builder, builder.run("PFC", seed=seed), "gpt", 810, iterations=done, **failed)
    [line] = job_lines.of_result(builder.result())
    assert "3 to 10 of 10 iterations under PFC, failed at 12.4 ms" in line
    assert "(seed 2; 2 of 3 seeds do not end)" in line


def test_the_tail_stands_beside_the_median(builder: Builder) -> None:
    tail = {"p99_ns": 2 * MS, "max_ns": 68 * MS, "mean_ns": 4.3 * MS, "slowdown": 4.3}
    job(builder, builder.run("PFC"), "gpt", 810, straggler=None, **tail)
    builder.source += '[[traffic]]\nname = "storage"\n'
    [line] = job_lines.of_result(builder.result())
    assert line.endswith(
        "took in the median 810 us under PFC (p99 2.00 ms, largest 68.0 ms, 4.3 times as long as "
        "alone on average)."
    )


def test_the_longest_is_not_named_beside_a_run_that_never_ended(builder: Builder) -> None:
    seeds(builder, "PFC", [1500, 1520, 1510], [1, 1, 1])
    seeds(builder, "DCQCN", [1000, 1010, 1020], [1, 2, 1])
    job(builder, builder.run("HPCC", seed=1), "gpt", None, iterations=1, straggler=None)
    [line] = job_lines.of_result(builder.result())
    assert "longest" not in line
    assert line.endswith("no iteration after the warm-up was complete under HPCC.")


def test_of_many_jobs_and_schemes_the_first_are_named(builder: Builder) -> None:
    for scheme in range(10):
        run = builder.run(f"S{scheme}")
        for number in range(10):
            job(builder, run, f"j{number}", 1000 + number)
    lines = job_lines.of_result(builder.result())
    assert lines[-1] == "2 more jobs: table jobs."
    assert all("under S7" in line and "2 more schemes" in line for line in lines[:-1])


def test_every_view_shows_them(builder: Builder) -> None:
    run = builder.run("PFC")
    builder.flow(run, "F", size_bytes=1000, start_ns=0.0, fct_ns=1 * MS)
    job(builder, run, "a<b", 1310)
    result = builder.result()
    [line] = job_lines.of_result(result)
    found = overview.of_result(result)
    assert found.jobs == [line]
    printed = textual.overview(found, 2000)
    assert line in printed
    assert "a&lt;b (16 ranks, packed): 10 iterations" in markup.overview(found)
    assert "a&lt;b (16 ranks, packed): 10 iterations" in notebook.html(result)


def test_a_result_without_jobs_says_nothing(builder: Builder) -> None:
    builder.run("PFC")
    assert job_lines.of_result(builder.result()) == []
    assert overview.of_result(builder.result()).jobs == []


@pytest.mark.parametrize("count", [1, 2])
def test_ranks_are_counted(builder: Builder, count: int) -> None:
    job(builder, builder.run("PFC"), "gpt", 1000, ranks=count)
    [line] = job_lines.of_result(builder.result())
    assert line.startswith("gpt (1 rank, " if count == 1 else "gpt (2 ranks, ")
