"""A job of which a link fails: stuck, failed, or late, and which link is said in every view."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib import colors

import unpause
from unpause import printed
from unpause.explanation import job_lines, lateness
from unpause.figures import jobs
from unpause.pages import markup, notebook, overview, textual

#: Servers of four GPUs at one leaf, of which one NIC dies at 3 ms, in the fourth iteration.
DEAD = """
title = "a NIC dies"
duration = "100ms"
[topology]
builder = "rails"
servers = 4
gpus_per_server = 4
servers_per_leaf = 4
leaves = "shared"
rate = "100Gbps"
nvlink_rate = "800Gbps"
delay = "500ns"
[host]
ack_every = 4
{host}
[[scheme]]
name = "PFC"
[[job]]
name = "j"
ranks = 16
per_server = 4
collective = "all-reduce"
algorithm = "rails"
size = "16MiB"
iterations = 20
[[event]]
at = "3ms"
kind = "down"
link = "H5-leaf0"
{more}
"""
BACK = '[[event]]\nat = "3.2ms"\nkind = "up"\nlink = "H5-leaf0"\n'
RETRIES = 'retry_count = 2\nretransmit_timeout = "1ms"'


def result_of(where: Path, host: str = "", more: str = "") -> unpause.Result:
    file = where / "case.toml"
    file.write_text(DEAD.format(host=host, more=more))
    return unpause.run(file)


@pytest.fixture(scope="module")
def stuck(tmp_path_factory: pytest.TempPathFactory) -> unpause.Result:
    return result_of(tmp_path_factory.mktemp("stuck"))


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> unpause.Result:
    return result_of(tmp_path_factory.mktemp("failed"), RETRIES)


def row(result: unpause.Result) -> dict[str, object]:
    [found] = result.jobs.to_pylist()
    return found


def warnings(result: unpause.Result, *kinds: str) -> list[dict[str, str]]:
    return [it for it in result.manifest["warnings"] if it["kind"] in kinds]


def texts(result: unpause.Result) -> list[str]:
    """The first screen of the terminal, the report and the notebook."""
    found = overview.of_result(result)
    return [textual.overview(found, 2000), markup.overview(found), notebook.html(result)]


def test_without_a_limit_the_job_is_stuck(stuck: unpause.Result) -> None:
    job = row(stuck)
    assert job["iterations"] == 3
    assert job["failed_at_ns"] is None
    assert (job["stuck_since_ns"], job["down_link"]) == (3e6, "H5-leaf0")
    [line] = job_lines.of_result(stuck)
    assert "3 of 20 iterations under PFC, stuck since 3.00 ms: H5-leaf0 down." in line
    assert all("stuck since 3.00 ms: H5-leaf0 down" in text for text in texts(stuck))
    [warning] = warnings(stuck, "stuck-jobs")
    assert warning["message"].endswith("3 of its 20 iterations, stuck since 3ms: H5-leaf0 down")
    assert "retry_count" in warning["help"]


def test_with_a_retry_count_the_job_fails(failed: unpause.Result) -> None:
    job = row(failed)
    assert job["iterations"] == 3
    assert job["stuck_since_ns"] is None
    # Three timeouts after the last progress, which was soon after the failure.
    assert 5.9e6 < job["failed_at_ns"] < 6.2e6
    assert 5 in (job["failed_rank"], job["failed_peer"])
    assert (job["down_link"], job["down_since_ns"]) == ("H5-leaf0", 3e6)
    ranks = f"rank {job['failed_rank']} to {job['failed_peer']}"
    [line] = job_lines.of_result(failed)
    assert "3 of 20 iterations under PFC, failed at 6.00 " in line
    assert f"ms: {ranks} gave up, H5-leaf0 down since 3.00 ms." in line
    assert all(f"{ranks} gave up, H5-leaf0 down" in text for text in texts(failed))
    [warning] = warnings(failed, "failed-jobs")
    assert f"{ranks} gave up, H5-leaf0 down since 3ms" in warning["message"]
    assert not warnings(failed, "gave-up", "unfinished-flows")
    # Until the others stop, and not until the end.
    flows = failed.flows.to_pylist()
    assert max(it["timeouts"] for it in flows) == 3
    assert [it for it in flows if it["gave_up"]]


def test_the_figure_shades_what_is_missing(stuck: unpause.Result, failed: unpause.Result) -> None:
    for result, why in ((stuck, "stuck since 3.00 ms"), (failed, "failed at 6.0")):
        [ax] = jobs.draw_iterations(result).axes
        assert ax.get_xlim() == (-0.5, 19.5)
        [said] = [it.get_text() for it in ax.texts]
        assert f"3 of 20, {why}" in said
        [shade] = [it for it in ax.patches if it.get_alpha()]
        assert shade.get_x() == 2.5
        assert shade.get_x() + shade.get_width() == 19.5
        assert colors.to_rgb(shade.get_facecolor())


def test_a_link_that_returns_lets_the_job_go_on(tmp_path: Path) -> None:
    result = result_of(tmp_path, RETRIES, BACK + "[probes]\ncauses = true\n")
    job = row(result)
    assert job["iterations"] == 20
    assert job["failed_at_ns"] is None
    assert job["stuck_since_ns"] is None
    [line] = job_lines.of_result(result)
    # The median is that of an iteration alone, the largest has a timeout.
    assert "20 iterations took in the median 811 us under PFC (largest " in line
    [run] = result.runs_of("PFC")
    [longest] = lateness.of_run(run)
    assert longest.iteration == 3
    said = lateness.sentence(longest)
    assert "1 timeout of its connection after H5-leaf0 had failed at 3.00 ms." in said
    late = [it for it in run.table("critical").to_pylist() if it["timeouts"]]
    assert {it["down_link"] for it in late} == {"H5-leaf0"}
    assert {it["iteration"] for it in late} == {3}
    assert "H5" in (longest.delayed.host, longest.delayed.peer_host)
    assert printed.wrapped(said, 80)
