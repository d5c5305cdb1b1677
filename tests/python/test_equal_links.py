"""Advice about one of several equal links: what put flows there, and whether others were up."""

from __future__ import annotations

from typing import Any

import pytest

import unpause
from scenarios import CAUSES, entry, explicit, flow, leaf_spine, scenario, scheme
from unpause.explanation import advice, causes, equal_links
from unpause.explanation.trees import Tree

RAILS = {
    "builder": "rails",
    "servers": 4,
    "gpus_per_server": 1,
    "servers_per_leaf": 2,
    "spines": 2,
    "rate": "100Gbps",
    "delay": "1us",
}
HASH = "the hash put more of these flows on it"


def down(at: str, link: str, kind: str = "down") -> str:
    return entry("event", kind=kind, at=at, link=link)


def network(
    seed: int,
    *events: str,
    topology: dict[str, Any] | None = None,
    flows: int = 2,
    loss_recovery: str = "go-back-n",
    **settings: Any,
) -> str:
    """As many flows as hosts of the first leaf."""
    return scenario(
        topology or leaf_spine(2, 2, 2),
        scheme("PFC", loss_recovery=loss_recovery),
        *(flow(f"f{n}", f"H{n}", f"H{n + flows}") for n in range(flows)),
        *events,
        seed=seed,
        duration="500us",
        probes=CAUSES,
        pfc={"xoff": "50KB"},
        **settings,
    )


def worst(source: str) -> tuple[str, Tree] | None:
    """The advice about the worst tree, and that tree; None without PAUSE."""
    result = unpause.run(source, progress=False)
    [run] = result.runs_of("PFC")
    trees = causes.of_run(run)
    return (advice.of_run(result, run)(trees[0]), trees[0]) if trees else None


def told(source: str) -> str:
    found = worst(source)
    assert found is not None
    text, tree = found
    assert (tree.kind, tree.root.node, str(tree.root.peer)[:5]) == ("incast", "leaf0", "spine")
    return text


@pytest.fixture(scope="module")
def apart() -> int:
    """A seed with which the hash puts the flows on two links."""
    return next(seed for seed in range(1, 64) if worst(network(seed)) is None)


@pytest.fixture(scope="module")
def together() -> int:
    """A seed with which the hash puts both on one."""
    return next(seed for seed in range(1, 64) if worst(network(seed)))


ROUTING = {"detection": "10us"}


def test_a_link_that_is_down_is_named_in_place_of_the_hash(apart: int) -> None:
    text = told(network(apart, down("1us", "leaf0-spine1"), routing=ROUTING))
    assert text == (
        "leaf0->spine0 is one of 2 equal links, of which 1 was down, so that flows took the "
        "other: repair it, or send less meanwhile"
    )


def test_several_links_that_are_down() -> None:
    events = [down("1us", f"leaf0-spine{n}") for n in (1, 3)]
    four = {"topology": leaf_spine(2, 4, 2), "routing": ROUTING}
    found = (worst(network(seed, *events, **four)) for seed in range(1, 64))
    text, tree = next(it for it in found if it)
    assert text.startswith(f"{tree.root} is one of 4 equal links, of which 2 were down, so that "
                           "flows took the others: repair them")  # fmt: skip


@pytest.mark.parametrize(
    ("at", "link"),
    [
        ("1us", "leaf1-spine1"),  # not one of the equal links
        ("450us", "leaf0-spine1"),  # long after the congestion began
    ],
)
def test_neither_is_blamed_where_another_link_failed(at: str, link: str, together: int) -> None:
    assert HASH in told(network(together))
    text = told(network(together, down(at, link), routing=ROUTING))
    assert "equal links" not in text


def test_a_link_that_is_up_again_is_not_called_down(together: int) -> None:
    events = down("1us", "leaf0-spine1"), down("60us", "leaf0-spine1", "up")
    text = told(network(together, *events, routing=ROUTING))
    assert "equal links" not in text


def test_a_slower_link_is_not_blamed_on_the_hash(together: int) -> None:
    for spine in range(2):
        link = f"leaf0->spine{spine}"
        slower = entry("event", kind="rate", at="1us", rate="90Gbps", link=link)
        assert HASH not in told(network(together, slower))


@pytest.mark.parametrize(
    "keys",
    [
        {"switch": {"balancing": "flowlet"}},
        {"host": {"spraying": "oblivious", "paths": 2}},
    ],
)
def test_no_hash_is_blamed_that_did_not_choose(keys: dict[str, Any]) -> None:
    keys = {**keys, "loss_recovery": "selective-repeat"}
    sources = (network(seed, **keys) for seed in range(1, 33))
    found = [it[0] for source in sources if (it := worst(source))]
    assert found
    assert not any("equal links" in text for text in found)


def test_rails_have_equal_links_to_spines() -> None:
    texts = []
    for seed in range(1, 33):
        found = worst(network(seed, topology=RAILS))
        texts += [] if found is None else [found[0]]
    assert 0 < len(texts) < 32
    assert all("is one of 2 equal links, and the hash put more" in it for it in texts)
    assert all("than on the other, which carried" in it and "each" not in it for it in texts)


@pytest.mark.parametrize(
    ("keys", "number"),
    [
        ({"spines": 4}, 4),
        ({"spines": 4, "uplinks": 3}, 12),
        ({"spines": 4, "tors": 2}, 4),
        ({"spines": 4, "tors": 2, "planes": 2}, 2),
        ({"spines": 4, "tors": 2, "planes": 2, "uplinks": 3}, 6),
    ],
)
def test_each_leaf_of_rails_has_the_spines_of_its_plane(keys: dict[str, int], number: int) -> None:
    topology = {"builder": "rails", "servers": 4, "servers_per_leaf": 2, **keys}
    found = equal_links.found(topology, "leaf1", "spine0", [])
    assert found.number == number
    assert found.leads_to("spine1")
    assert not found.leads_to("H0")


def test_links_from_spines_and_servers_have_no_equals() -> None:
    topology = {"builder": "rails", "servers": 4, "servers_per_leaf": 2, "spines": 4}
    for ends in (("spine0", "leaf0"), ("N0", "H0")):
        assert equal_links.found(topology, *ends, ["H0"]).number == 1


def test_switches_of_other_names_carry_their_part() -> None:
    """Two flows on each of two links: neither has more than the other, whatever it is called."""
    pairs = [("near", "left"), ("near", "right"), ("left", "far"), ("right", "far")]
    pairs += [(f"H{n}", "near" if n < 4 else "far") for n in range(8)]
    topology = explicit("H0..H7", ["near", "far", "left", "right"], *(f"{a}-{b}" for a, b in pairs))
    for seed in range(1, 64):
        source = network(seed, topology=topology, flows=4)
        ports = unpause.run(source, progress=False).ports.to_pylist()
        up = {it["peer"]: it["tx_bytes"] for it in ports if it["node"] == "near"
              and it["priority"] == 3 and it["peer"] in ("left", "right")}  # fmt: skip
        if len(up) == 2 and min(up.values()) > 0.9 * max(up.values()):
            break
    found = worst(source)
    assert found is not None
    assert found[1].root.node == "near"
    assert "equal links" not in found[0]


def test_links_are_equal_only_for_all_receivers() -> None:
    """Hosts A1 and A2 are at the switch A; R1 is behind both switches."""
    pairs = [("H0", "S0"), ("S0", "A"), ("S0", "B"), ("A", "S1"), ("B", "S1"), ("A1", "A"),
             ("A2", "A"), ("R1", "S1")]  # fmt: skip
    topology = {"builder": "explicit", "hosts": ["H0", "A1", "A2", "R1"],
                "link": [{"a": a, "b": b} for a, b in pairs]}  # fmt: skip
    for receivers, number in ((["R1"], 2), (["A1"], 1), (["A1", "R1"], 1), (["R1", "A2"], 1)):
        assert equal_links.found(topology, "S0", "A", receivers).number == number
