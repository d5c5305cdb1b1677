"""Unsent bytes of a victim's host are at most those that it could have sent."""

from __future__ import annotations

import pytest

import unpause
from unpause.text import size

SCENARIO = """
seed = 1
duration = "3ms"
[topology]
builder = "single-switch"
hosts = 4
rate = "100Gbps"
delay = "1us"
[probes]
causes = true
[pfc]
xoff = "50KB"
[[scheme]]
name = "x"
congestion_control = "{law}"
[[traffic]]
name = "f"
kind = "flow"
from = "H1"
to = "H0"
transport = "roce"
[[traffic]]
name = "g"
kind = "flow"
from = "H1"
to = "H2"
{keys}
[[event]]
kind = "pause-storm"
node = "H0"
at = "50us"
until = "2ms"
"""
#: Keys of the victim, and what it can send at most: 100 kB and headers, and 1 Gb/s for 2 ms.
CASES = [
    ("none", 'size = "100KB"\nstart = "49us"', 108_000),
    ("none", 'offered = "1Gbps"', 250_000),
    ("none", 'offered = "1Gbps"\ntransport = "udp"', 250_000),
    ("dctcp", 'size = "100KB"\nstart = "40us"\ntransport = "tcp"', 108_000),
]


@pytest.mark.parametrize(("law", "keys", "most"), CASES)
def test_no_more_is_unsent_than_the_flow_could_have_sent(law: str, keys: str, most: int) -> None:
    result = unpause.run(SCENARIO.format(law=law, keys=keys), progress=False)
    of_name = {it["flow_id"]: it["traffic"] for it in result.flows.to_pylist()}
    [victim] = [it for it in result.victims.to_pylist() if of_name[it["flow_id"]] == "g"]
    assert victim["waited_ns"] > 1_500_000
    assert most / 10 < victim["unsent_bytes"] <= most, size(victim["unsent_bytes"])
