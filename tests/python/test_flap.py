"""Links that fail: what the figure, the page and the sentences say is what the tables have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import unpause
from conftest import MS, Builder
from scenarios import PFC, entry, flow, leaf_spine, scenario, section, two_switch
from unpause import NothingToDraw, Result, figures
from unpause.commands import report
from unpause.explanation import flap_lines, flaps, sentences
from unpause.explanation.flaps import PLACES, Flaps
from unpause.pages import failures

#: Three hosts at one switch, two at another.
FABRIC = scenario(two_switch("H0..H2", "R0..R1", rate="10Gbps"), duration="2ms")

#: H1 and H2 send to R1, whose link fails for good; H0 sends to R0.
LOST = (
    FABRIC
    + section("[host]", retransmit_timeout="100us", retry_count=3)
    + section("[routing]", detection="20us", convergence="30us")
    + section("[probes]", interval="10us", ports=["S0->S1", "S1->R1"])
    + entry("event", at="500us", node="R1", kind="down")
    + PFC
    + flow("kept", "H0", "R0", offered="2Gbps", record=True)
    + flow("gone", ["H1", "H2"], "R1", offered="2Gbps", record=True)
)

#: Nobody sends while the link of R1 is down.
IDLE = (
    FABRIC
    + section("[probes]", interval="10us", ports=["S1->R1"])
    + entry("event", at="500us", link="S1-R1", kind="down")
    + entry("event", at="700us", link="S1-R1", kind="up")
    + PFC
    + flow("early", "H1", "R1", size="20KB", record=True)
    + flow("kept", "H0", "R0", offered="2Gbps", record=True)
)

#: A link of a spine fails twice: the other leaf sends there until it has learned of it.
TWICE = scenario(
    leaf_spine(2, 2, 2, host_rate="10Gbps", fabric_rate="10Gbps"),
    entry("event", at="500us", every="1ms", link="leaf1-spine1", kind="down"),
    entry("event", at="900us", every="1ms", until="2ms", link="leaf1-spine1", kind="up"),
    PFC,
    flow("across", "H0..H1", "H2..H3", offered="4Gbps", record=True),
    duration="3ms",
    host={"retransmit_timeout": "100us"},
    routing={"detection": "30us", "convergence": "100us"},
    pfc={"xoff": "50KB"},
    probes={"interval": "10us", "ports": ["leaf0->spine0", "leaf0->spine1", "spine1->leaf1"]},
)


@pytest.fixture(scope="module")
def lost() -> Result:
    return unpause.run(LOST, progress=False)


@pytest.fixture(scope="module")
def idle() -> Result:
    return unpause.run(IDLE, progress=False)


@pytest.fixture(scope="module")
def twice() -> Result:
    return unpause.run(TWICE, progress=False)


def told_of(result: Result) -> Flaps:
    found = flaps.of_run(result.runs_of(result.schemes[0])[0])
    assert found is not None
    return found


def packets_at(result: Result, place: str) -> int:
    """Of table `losses`."""
    return sum(row["packets"] for row in result.losses.to_pylist() if row["place"] == place)


def lanes(figure: Figure) -> tuple[Axes, dict[str, tuple[int, str]]]:
    """The panel of losses and pauses: by row its place, and the number beside it."""
    ax = next(ax for ax in figure.axes if any("lost" in t.get_text() for t in ax.get_yticklabels()))
    beside = {round(text.get_position()[1]): text.get_text() for text in ax.texts}
    names = [text.get_text() for text in ax.get_yticklabels()]
    return ax, {name: (row, beside.get(row, "")) for row, name in enumerate(names)}


def instants(ax: Axes) -> dict[str, list[float]]:
    """By label the vertical lines, ms."""
    found: dict[str, list[float]] = {}
    for line in ax.get_lines():
        x = np.asarray(line.get_xdata(), float)
        if len(x) == 2 and x[0] == x[1] and list(line.get_ydata()) == [0, 1]:
            found.setdefault(str(line.get_label()), []).append(float(x[0]))
    return found


def line(ax: Axes, label: str) -> tuple[np.ndarray, np.ndarray]:
    one = next(it for it in ax.get_lines() if it.get_label() == label)
    return np.asarray(one.get_xdata(), float), np.asarray(one.get_ydata(), float)


@pytest.mark.parametrize("which", ["lost", "idle", "twice"])
def test_losses_are_those_of_the_table(which: str, request: pytest.FixtureRequest) -> None:
    result = request.getfixturevalue(which)
    told = told_of(result)
    rows = [row for row in result.losses.to_pylist() if row["reason"] != "error"]
    assert told.packets == {place: packets_at(result, place) for place in PLACES}
    assert told.data_packets == sum(row["data_packets"] for row in rows)
    dropped = result.runs["dropped_packets"][0].as_py()
    assert told.data_packets + told.other_drops == dropped
    flows = result.flows.to_pylist()
    assert told.resent == {f["flow_id"] for f in flows if f["retransmitted_packets"]}
    assert told.resent_packets == sum(f["retransmitted_packets"] for f in flows)
    assert told.gave_up == {f["flow_id"] for f in flows if f["gave_up"]}
    drawn = lanes(result.figure("flap"))[1]
    for place, words in PLACES.items():
        number = packets_at(result, place)
        if number:
            assert drawn[f"lost {words}"][1] == f"{number:,}"
        else:
            assert f"lost {words}" not in drawn


@pytest.mark.parametrize("which", ["lost", "idle", "twice"])
def test_pauses_are_those_of_the_tables(which: str, request: pytest.FixtureRequest) -> None:
    result = request.getfixturevalue(which)
    told = told_of(result)
    paused: dict[str, float] = {}
    for row in result.ports.to_pylist():
        if row["paused_ns"]:
            link = f"{row['peer']}->{row['node']}"
            paused[link] = paused.get(link, 0.0) + row["paused_ns"]
    assert set(told.paused) == set(paused)
    for link, it in told.paused.items():
        whole = it.before_ns + it.during_ns + it.after_ns
        assert whole == pytest.approx(paused[link], rel=1e-6)
    assert bool(paused) == (which == "twice")


def test_a_flow_that_is_lost_forever(lost: Result) -> None:
    told = told_of(lost)
    assert [flow["traffic"] for flow in lost.flows.to_pylist() if flow["gave_up"]] == ["gone"] * 2
    [outage] = told.outages
    assert outage.links == ("R1-S1",)
    assert (outage.down_ns, outage.up_ns, outage.back_ns) == (500_000, None, None)
    # Nothing leads around the link of a host, so its switch stops when all do.
    assert outage.ends_moved_ns == outage.all_moved_ns == 550_000
    # H1 and H2 send 4 Gb/s in frames of 1048 B, which are lost at the dead port for 50 us.
    sent = 4e9 * 50e-6 / 8 / 1_048
    assert outage.lost["port"].packets == pytest.approx(sent, abs=2)
    assert outage.lost["port"].spans == [(500_000, 550_000)]
    assert outage.lost["switch"].spans == [(550_000, 2 * MS)]
    figure = lost.figure("flap")
    goodput = figure.axes[0]
    marked = instants(goodput)
    assert marked == {"link down": [pytest.approx(0.5)], "all rerouted": [pytest.approx(0.55)]}
    time_ms, rate = line(goodput, "flows hit")
    bin_ms = time_ms[1] - time_ms[0]
    before = time_ms < 0.45
    assert rate[before].mean() == pytest.approx(2.0 * 1000 / 1048, rel=0.05)
    # The mean of two flows; it begins with the first sample.
    rows = [row for row in lost.flow_series.to_pylist() if row["traffic"] == "gone"]
    first = sum(row["delivered_bytes"] for row in rows if row["time_ns"] == rows[0]["time_ns"])
    delivered = sum(f["delivered_bytes"] for f in lost.flows.to_pylist() if f["gave_up"])
    assert 2 * rate.sum() * bin_ms * 125_000 == pytest.approx(delivered - first)
    assert not rate[time_ms > 0.6].any()
    _, others = line(goodput, "other flows")
    assert others[time_ms > 0.6].mean() == pytest.approx(others[before].mean(), rel=0.05)
    total = sum(told.packets.values())
    assert flap_lines.whole(told) == (
        f"{total} packets were lost: {told.packets['wire']} on the wire, "
        f"{told.packets['port']} at the dead port, {told.packets['switch']} without a route; "
        f"2 of 3 flows sent {told.resent_packets} packets again, 2 gave up; nobody was paused."
    )
    [(_, sentence)] = sentences.of_result(lost)
    assert "2 of 3 flows sent packets again after R1-S1 failed, 2 gave up" in sentence


def test_nothing_is_lost_on_an_idle_link(idle: Result) -> None:
    told = told_of(idle)
    assert idle.losses.num_rows == 0
    [outage] = told.outages
    assert (outage.down_ns, outage.up_ns) == (500_000, 700_000)
    # The defaults: seen after 50 us, and by all at once.
    assert (outage.all_moved_ns, outage.back_ns) == (550_000, 750_000)
    figure = idle.figure("flap")
    assert list(lanes(figure)[1]) == ["nothing lost"]
    assert "flows hit" not in {it.get_label() for it in figure.axes[0].get_lines()}
    assert flap_lines.whole(told) == (
        "nothing was lost; no flow sent packets again, none gave up; nobody was paused."
    )
    [(_, sentence)] = sentences.of_result(idle)
    assert "nothing was lost when R1-S1 failed" in sentence


def test_a_flap_in_a_fabric(twice: Result) -> None:
    told = told_of(twice)
    first, second, third = told.outages
    assert (first.down_ns, first.up_ns) == (500_000, 900_000)
    assert (first.ends_moved_ns, first.all_moved_ns) == (530_000, 630_000)
    assert first.back_ns == 1_030_000
    assert (second.down_ns, second.up_ns, third.up_ns) == (1_500_000, 1_900_000, None)
    by_since: dict[float, int] = {}
    for row in twice.losses.to_pylist():
        if row["place"] == "switch":
            by_since[row["since_ns"]] = by_since.get(row["since_ns"], 0) + row["packets"]
    # leaf0 sends to spine1, which has no route any more, until it learns of it.
    assert by_since == {
        it.ends_moved_ns: it.lost["switch"].packets for it in told.outages
        if it.lost["switch"].packets
    }  # fmt: skip
    assert first.lost["switch"].spans == [(530_000, 630_000)]
    figure = twice.figure("flap")
    marked = instants(figure.axes[0])
    assert marked["link down"] == pytest.approx([0.5, 1.5, 2.5])
    assert marked["link up"] == pytest.approx([0.9, 1.9])
    assert marked["ends rerouted"] == pytest.approx([0.53, 1.53, 2.53])
    assert marked["all rerouted"] == pytest.approx([0.63, 1.63, 2.63])
    assert marked["routes back"] == pytest.approx([1.03, 2.03])


def test_the_link_that_takes_over_is_drawn(twice: Result) -> None:
    use = twice.figure("flap").axes[-1]
    labels = {str(it.get_label()) for it in use.get_lines()}
    assert {"leaf0->spine0", "spine1->leaf1 (failed)"} <= labels
    assert "leaf0->spine1" not in labels
    time_ms, percent = line(use, "leaf0->spine0")
    for row in twice.priority_series.to_pylist():
        if (row["node"], row["peer"], row["priority"]) == ("leaf0", "spine0", 3):
            last = row["tx_bytes"]
    bin_ms = time_ms[1] - time_ms[0]
    sent = percent.sum() / 100 * 10e9 / 8 * bin_ms / 1e3
    assert sent == pytest.approx(last, rel=0.05)
    time_ms, percent = line(use, "spine1->leaf1 (failed)")
    assert not percent[(time_ms > 0.55) & (time_ms < 0.85)].any()


def test_the_page_has_it_beside_the_picture(twice: Result, tmp_path: Path) -> None:
    path = twice.write(tmp_path / "r")
    built = report.build(path)
    assert "flap" in built.drawn
    html = (path / "report.html").read_text("utf-8")
    told = told_of(twice)
    assert flap_lines.whole(told) in html.replace("&#39;", "'")
    table = failures.of_result(twice).table
    assert [row[1:7] for row in table.rows] == [
        ["leaf1-spine1", "500 us", "30.0 us", "130 us", "900 us", "130 us"],
        ["leaf1-spine1", "1.50 ms", "30.0 us", "130 us", "1.90 ms", "130 us"],
        ["leaf1-spine1", "2.50 ms", "30.0 us", "130 us", "never", "never"],
    ]
    numbers = np.array([[int(cell.replace(",", "")) for cell in row[7:]] for row in table.rows])
    places = [packets_at(twice, place) for place in PLACES]
    assert numbers.sum(axis=0).tolist() == [*places, told.data_packets]
    assert all(row[1] in html for row in table.rows)


def made(builder: Builder, changes: list[dict[str, Any]]) -> Result:
    run = builder.run("PFC")
    for change in changes:
        builder.add("link_changes", run=run, scheme="PFC", **change)
    return builder.result()


def test_a_link_that_only_becomes_slower_has_no_such_figure(builder: Builder) -> None:
    change = {"time_ns": 1 * MS, "change": "rate", "node": "S0", "port": 0, "peer": "S1"}
    result = made(builder, [{**change, "rate_bps": 10**9}])
    with pytest.raises(NothingToDraw, match="No link failed"):
        figures.draw(result, "flap")
    assert failures.of_result(result).table.rows == []


def test_one_direction_is_named(builder: Builder) -> None:
    change = {"change": "down", "node": "S0", "port": 0, "peer": "S1"}
    result = made(builder, [{**change, "time_ns": 1 * MS}])
    [outage] = told_of(result).outages
    assert outage.links == ("S0->S1",)
    assert (outage.ends_moved_ns, outage.all_moved_ns) == (None, None)
    assert failures.of_result(result).table.rows[0][:7] == [
        "PFC", "S0->S1", "1.00 ms", "never", "never", "never", "never",
    ]  # fmt: skip


def test_colours_are_those_of_flows_and_losses(lost: Result) -> None:
    ax, rows = lanes(lost.figure("flap"))
    row = rows["lost without a route"][0]
    drawn = [it for it in ax.get_lines() if set(it.get_ydata()) == {row}]
    assert {to_hex(it.get_color()).upper() for it in drawn} == {"#B2182B"}
    (legend,) = ax.figure.legends
    assert {"not yet rerouted", "down, rerouted"} < {it.get_text() for it in legend.get_texts()}


def test_flows_that_wait_for_their_timeout_are_no_hit_yet() -> None:
    slow = LOST.replace('retransmit_timeout = "100us"', 'retransmit_timeout = "67ms"')
    result = unpause.run(slow, progress=False)
    told = told_of(result)
    assert told.data_packets
    assert not told.hit
    assert flap_lines.short([told]) == (
        "until the end no flow sent packets again after R1-S1 failed, none gave up"
    )
    # In the figure they do not lower the goodput of the flow that goes on.
    ax = result.figure("flap").axes[0]
    assert [text.get_text() for text in ax.texts] == ["2 stopped", "1 other"]
    time_ms, rate = line(ax, "flows that stopped")
    assert rate[time_ms < 0.45].mean() == pytest.approx(2.0 * 1000 / 1048, rel=0.05)
    assert not rate[time_ms > 0.6].any()
    time_ms, rate = line(ax, "other flows")
    assert rate[time_ms > 0.6].mean() == pytest.approx(2.0 * 1000 / 1048, rel=0.05)


def test_flows_that_had_ended_before_are_no_hit(builder: Builder) -> None:
    run = builder.run("PFC")
    builder.rows["runs"][run] |= {"simulated_ns": 10 * MS, "dropped_packets": 2}
    for change, at in (("down", 5.0), ("up", 6.0)):
        builder.add("link_changes", run=run, scheme="PFC", time_ns=at * MS, change=change,
                    node="S0", peer="S1", port=0)  # fmt: skip
    builder.add("losses", run=run, scheme="PFC", reason="link", place="queue", since_ns=5.0 * MS,
                node="S0", peer="S1", port=0, priority=3, packets=2, data_packets=2)  # fmt: skip
    for start, fct in ((0.0, 4.0), (1.0, 8.0), (2.0, None)):
        builder.flow(run, "F", start_ns=start * MS, fct_ns=fct and fct * MS,
                     retransmitted_packets=7, transport="roce", size_bytes=1_000)  # fmt: skip
    found = flaps.of_run(builder.only_run())
    assert found is not None
    assert (found.resent, found.resent_packets) == ({1, 2}, 14)
    said = flap_lines.short([found])
    assert said == "2 of 3 flows sent packets again after S0->S1 failed, none gave up"
