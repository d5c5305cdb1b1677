"""Unsent bytes of a victim's host are at most those that it could have sent."""

from __future__ import annotations

from typing import Any

import pytest

import unpause
from scenarios import CAUSES, entry, flow, scheme, star
from unpause.text import size

#: Keys of the victim, and what it can send at most: 100 kB and headers, and 1 Gb/s for 2 ms.
CASES = [
    ("none", {"size": "100KB", "start": "49us"}, 108_000),
    ("none", {"offered": "1Gbps"}, 250_000),
    ("none", {"offered": "1Gbps", "transport": "udp"}, 250_000),
    ("dctcp", {"size": "100KB", "start": "40us", "transport": "tcp"}, 108_000),
]


@pytest.mark.parametrize(("law", "keys", "most"), CASES)
def test_no_more_is_unsent_than_the_flow_could_have_sent(
    law: str, keys: dict[str, Any], most: int
) -> None:
    text = star(
        4,
        scheme("x", law),
        flow("f", "H1", "H0", transport="roce"),
        flow("g", "H1", "H2", **keys),
        entry("event", kind="pause-storm", node="H0", at="50us", until="2ms"),
        seed=1,
        duration="3ms",
        probes=CAUSES,
        pfc={"xoff": "50KB"},
    )
    result = unpause.run(text, progress=False)
    of_name = {it["flow_id"]: it["traffic"] for it in result.flows.to_pylist()}
    [victim] = [it for it in result.victims.to_pylist() if of_name[it["flow_id"]] == "g"]
    assert victim["waited_ns"] > 1_500_000
    assert most / 10 < victim["unsent_bytes"] <= most, size(victim["unsent_bytes"])
