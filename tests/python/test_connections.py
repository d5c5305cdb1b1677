"""Connections of jobs, which are idle while their ranks compute, in explanations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import unpause
from unpause.data import connections, series
from unpause.explanation import sentences, story
from unpause.pages import overview


def scenario(*, messages: bool = True, duration: str = "20ms", **more: Any) -> dict[str, Any]:
    """Four ranks that compute for 1 ms and exchange 4 MB, which takes 0.3 ms."""
    job = {
        "name": "train",
        "ranks": 4,
        "collective": "all-to-all",
        "size": "4MB",
        "compute": "1ms",
        "iterations": 3,
        "messages": messages,
    }
    return {
        "duration": duration,
        "topology": {"builder": "single-switch", "hosts": 6, "rate": "100Gbps", "delay": "1us"},
        "scheme": [{"name": "PFC"}],
        "job": [job],
    } | more


def told(document: dict[str, Any]) -> story.Story:
    [its] = story.of_result(unpause.run(document))["PFC"]
    return its


def test_use_of_a_link_counts_the_time_with_messages_in_flight() -> None:
    # Two ranks at each side of a link, which carries 4 MB of each iteration, in 0.32 ms.
    pairs = {"builder": "dumbbell", "left": 2, "right": 2, "rate": "100Gbps", "delay": "1us"}
    its = told(scenario(topology=pairs))
    assert its.carried is not None
    assert str(its.carried.port) in ("S0->S1", "S1->S0")
    # Of the 20 ms it was used for 5 %.
    assert 0.9 < its.carried.share <= 1.0
    assert its.past == []


def test_without_messages_the_share_is_not_known() -> None:
    its = told(scenario(messages=False))
    assert its.carried is None
    assert "utilised" not in sentences.of_run(its)


def test_the_time_after_the_last_message_of_an_incomplete_job_counts() -> None:
    run = unpause.run(scenario(duration="3ms")).runs_of("PFC")[0]
    flows = run.columns("flows", ["flow_id", "traffic", "size_bytes"])
    assert connections.of_jobs(run, flows).all()
    ids, names = (flows.column(it).to_numpy() for it in ("flow_id", "traffic"))
    times = connections.under_way(run, ids, names)
    assert times is not None
    last = series.column(run.table("messages"), "end_ns").max()
    assert run.table("iterations").num_rows == 2
    assert times[-1].tolist() == [last, 3e6]


def test_idle_connections_are_no_victims_without_causes() -> None:
    # An incast at H5 pauses H0, long before the rank there has computed.
    burst = {
        "name": "burst",
        "kind": "burst",
        "from": ["H0", "H4"],
        "to": "H5",
        "size": "4MB",
    }
    document = scenario(traffic=[burst], pfc={"xoff": "50KB"}, duration="900us")
    its = told(document)
    assert its.pauses
    assert its.victims == []
    assert its.maybe_more
    recorded = told(document | {"probes": {"causes": True}})
    assert recorded.victims == []
    assert not recorded.maybe_more


def test_a_victim_that_is_a_connection_has_no_life_to_compare_with() -> None:
    burst = {
        "name": "burst",
        "kind": "burst",
        "from": "H0..H4",
        "to": "H5",
        "size": "2MB",
        "start": "900us",
    }
    document = scenario(traffic=[burst], pfc={"xoff": "50KB"}, probes={"causes": True})
    its = told(document)
    assert its.victims
    assert its.victims[0].life_ns is None
    said = sentences.of_run(its)
    assert "which waited for" in said
    assert " of its " not in said


def test_each_job_has_a_column() -> None:
    result = unpause.run(scenario())
    found = overview.of_result(result)
    at = found.heads.index(("train", "iteration", "us"))
    mean = result.jobs.column("mean_ns")[0].as_py()
    assert float(found.rows[0][at].value) == pytest.approx(mean / 1e3, rel=5e-3)
    assert np.isclose(mean, 1.3e6, rtol=0.1)
