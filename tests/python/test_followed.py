"""Each piece of advice: a scenario where it is given, which does better when it is followed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

import unpause
from scenarios import PFC, flow, scheme, traffic
from test_advice import DWRR, POOL, TWO, harm, overload, single_switch
from unpause.data.result import Run
from unpause.explanation import advice, causes, incidents


def of_run(source: str) -> tuple[Run, str]:
    """The run of a scenario, and all that is advised about it."""
    result = unpause.run(source, progress=False)
    run = result.runs_of(result.schemes[0])[0]
    return run, "\n".join(map(advice.of_run(result, run), causes.of_run(run)))


def lost(source: str) -> int:
    """Frames that were lost after XOFF."""
    run, _ = of_run(source)
    return sum(row["headroom_dropped_packets"] for row in run.table("ports").to_pylist())


def pauses(source: str) -> int:
    return harm(source)[0]


def paused_ns(source: str) -> float:
    """How long all links together were held."""
    run, _ = of_run(source)
    return sum(row["paused_ns"] for row in run.table("ports").to_pylist())


def slow(*keys: str, rate: str = "50Gbps") -> str:
    return "\n".join(['[slow_receiver]\nhosts = "H0"', f'drain_rate = "{rate}"', *keys])


ONE = flow("t", "H1", "H0")
FOUR = flow("t", "H1..H4", "H0")
EIGHT = flow("t", "H1..H8", "H0")
XOFF = '[pfc]\nxoff = "100KB"'
DCQCN = scheme("PFC", "dcqcn")
RECEIVER = slow('xoff = "100KB"', 'buffer = "105KB"')
ONCE = '[pfc]\nxoff = "100KB"\nmode = "once"\npause_quanta = 200'


def model(name: str, *keys: str) -> str:
    table = name.replace("-", "_")
    return "\n".join([f'[switch]\nmodel = "{name}"\n[switch.{table}]', *keys])


def pipeline(packets_per_second: int, ingress_max: str) -> str:
    return model(
        "pipeline",
        f"packets_per_second = {packets_per_second}",
        f'ingress_max = "{ingress_max}"',
        'egress_max = "1MB"',
    )


def crossbar(name: str, input_buffer: str) -> str:
    return model(name, f'input_buffer = "{input_buffer}"') + '\n[pfc]\nxoff = "50KB"'


#: Advice, its place, the change that follows it, and the measure that falls.
LOSSES = [
    (
        "[pfc] headroom_delays (1) is too small: raise pfc.headroom_delays to ",
        single_switch(3, f"{XOFF}\nheadroom_delays = 1", PFC, TWO),
        ("headroom_delays = 1", ""),
    ),
    (
        "[slow_receiver] buffer (105KB) is too small: raise slow_receiver.buffer to ",
        single_switch(2, RECEIVER, PFC, ONE),
        ('buffer = "105KB"', ""),
    ),
    (
        'set [pfc] mode = "standard", which repeats PAUSE',
        single_switch(9, ONCE, PFC, EIGHT),
        ('mode = "once"', 'mode = "standard"'),
    ),
    (
        "raise ingress_max of [switch.pipeline], or lower its ingress_xoff",
        single_switch(3, pipeline(10_000_000, "60KB"), PFC, TWO),
        ('ingress_max = "60KB"', 'ingress_max = "150KB"'),
    ),
    (
        "raise input_buffer of [switch.cioq], or lower [pfc] xoff",
        single_switch(5, crossbar("cioq", "60KB"), PFC, FOUR),
        ('input_buffer = "60KB"', 'input_buffer = "200KB"'),
    ),
    (
        "raise input_buffer of [switch.input_queued], or lower [pfc] xoff",
        single_switch(5, crossbar("input-queued", "60KB"), PFC, FOUR),
        ('xoff = "50KB"', 'xoff = "20KB"'),
    ),
    (
        "[switch] buffer (250KB) does not hold the headroom of all ports beyond XOFF",
        single_switch(3, '[switch]\nbuffer = "250KB"', XOFF, PFC, TWO),
        ('buffer = "250KB"', 'buffer = "1MB"'),
    ),
]


@pytest.mark.parametrize(("advised", "source", "change"), LOSSES)
def test_a_key_that_limits_what_xoff_leaves_room_for(
    advised: str, source: str, change: tuple[str, str]
) -> None:
    assert lost(source) > 0
    assert advised in of_run(source)[1]
    assert change[0] in source
    followed = source.replace(*change)
    assert lost(followed) == 0
    # Nor is anything more said of it.
    assert advised not in of_run(followed)[1]


LOSSLESS_POOL = single_switch(
    34,
    '[switch]\nlossless = [3, 4]\nbuffer = "2MB"',
    "[pfc]\ndynamic_shift = 0",
    PFC,
    flow("many", "H3..H32", "H1", priority=4),
    flow("one", "H33", "H0", start="300us"),
    duration="600us",
)


def fabric(spines: int, *keys: str) -> str:
    head = f"""
duration = "1ms"
[topology]
builder = "leaf-spine"
leaves = 2
spines = {spines}
hosts_per_leaf = 4
host_rate = "100Gbps"
delay = "1us"
"""
    flows = [flow(f"f{host}", f"H{host}", f"H{host + 4}") for host in range(4)]
    rest = ['[probes]\ncauses = true\n[pfc]\nxoff = "50KB"', DCQCN, *flows]
    return head + "\n".join([*keys, *rest])


def of_priority(source: str, priority: int) -> float:
    """How long the senders of a priority were held."""
    run, _ = of_run(source)
    rows = run.table("ports").to_pylist()
    return sum(row["paused_ns"] for row in rows if row["priority"] == priority)


SLOW_PROCESSOR = single_switch(2, pipeline(60_000, "60KB"), PFC, ONE, duration="20ms").replace(
    "100Gbps", "1Gbps"
)
#: A frame of 1048 B takes three slots of 512 B each: the crossbar carries 68 of 100 Gb/s.
CELLS = single_switch(5, model("input-queued", 'cell = "512B"'), '[pfc]\nxoff = "50KB"', PFC, ONE)
#: Four hosts send to four others, each to all: no output is overloaded.
FIFO = single_switch(
    8,
    model("input-queued", 'queues = "fifo"'),
    '[pfc]\nxoff = "50KB"',
    PFC,
    traffic("poisson", "all", "H0..H3", "H4..H7", size="4KB", load=0.7),
)
#: H1 sends to H4 as well, behind frames for H0, which is overloaded.
BEHIND = single_switch(
    6,
    model("input-queued", 'queues = "fifo"'),
    '[pfc]\nxoff = "50KB"',
    PFC,
    FOUR.replace("H1..H4", "H1..H3"),
    flow("beside", "H1", "H4"),
)
Harm = Callable[[str], float]
MORE: list[tuple[str, str, tuple[str, str], Harm]] = [
    (
        "look at H0: its NIC accepts less than its link delivers",
        single_switch(2, slow(), PFC, ONE),
        (slow(), ""),
        pauses,
    ),
    (
        "look at H0 first: its NIC kept S0->H0 paused for",
        single_switch(3, XOFF, slow(rate="10Gbps"), PFC, TWO),
        (slow(rate="10Gbps"), ""),
        paused_ns,
    ),
    (
        "a faster processor in S0 (packets_per_second of [switch.pipeline])",
        SLOW_PROCESSOR,
        ("packets_per_second = 60000", "packets_per_second = 1000000"),
        pauses,
    ),
    (
        'set queues = "voq" in [switch.input_queued], which gives each output its own queue',
        FIFO,
        ('queues = "fifo"', 'queues = "voq"'),
        pauses,
    ),
    (
        "a higher speedup of [switch.input_queued], or larger input buffers there",
        CELLS,
        ('cell = "512B"', 'cell = "512B"\nspeedup = 2'),
        pauses,
    ),
    (
        "or give each lossless ingress memory of its own ([pfc] reserve)",
        POOL,
        ("dynamic_shift = 0", 'dynamic_shift = 0\nreserve = "50KB"'),
        pauses,
    ),
    (
        "priority 4 held 838 KB of the shared buffer at S0->H1: raise [switch] buffer (2MB)",
        LOSSLESS_POOL,
        ('buffer = "2MB"', 'buffer = "3MB"'),
        pauses,
    ),
    (
        'let them take turns ([switch.scheduler] kind = "dwrr")',
        overload(""),
        ("lossless = [3, 4]\n", f"lossless = [3, 4]\n{DWRR}"),
        lambda source: of_priority(source, 3),
    ),
    (
        "raise the share of priority 4 (weights of [switch.scheduler], now 1)",
        overload(DWRR, "40Gbps"),
        ("4 = 1", "4 = 4"),
        lambda source: of_priority(source, 4),
    ),
    (
        "set a congestion_control in the scheme that does (dcqcn)",
        single_switch(
            9,
            scheme("PFC", marking="red"),
            '[scheme.red]\nkmin = "5KB"\nkmax = "200KB"\npmax = 1',
            EIGHT,
        ),
        ('marking = "red"\n\n[scheme.red]', 'congestion_control = "dcqcn"\n[scheme.dcqcn]'),
        pauses,
    ),
    ("give the fabric more capacity here", fabric(1), ("spines = 1", "spines = 4"), pauses),
    (
        "give the fabric more capacity here",
        fabric(1),
        ("spines = 1", 'spines = 1\nfabric_rate = "400Gbps"'),
        pauses,
    ),
    (
        "8 hosts sent to one faster than dcqcn could slow them: start fewer at a time",
        single_switch(9, '[pfc]\nxoff = "20KB"', DCQCN, EIGHT),
        ("H1..H8", "H1..H2"),
        pauses,
    ),
    (
        "or raise [pfc] xoff",
        single_switch(9, '[pfc]\nxoff = "20KB"', DCQCN, EIGHT),
        ('xoff = "20KB"', 'xoff = "200KB"'),
        pauses,
    ),
]


@pytest.mark.parametrize(("advised", "source", "change", "of"), MORE)
def test_advice_that_is_followed_helps(
    advised: str, source: str, change: tuple[str, str], of: Harm
) -> None:
    assert advised in of_run(source)[1]
    assert change[0] in source
    followed = source.replace(*change)
    assert of(followed) < of(source) / 2


def test_a_switch_that_fills_its_link_is_not_called_slow() -> None:
    for source in (
        SLOW_PROCESSOR.replace("packets_per_second = 60000", "packets_per_second = 1000000"),
        CELLS.replace('cell = "512B"', "").replace("H1", "H1..H4"),
        single_switch(5, crossbar("cioq", "200KB"), PFC, FOUR),
    ):
        _, text = of_run(source)
        assert "speedup" not in text
        assert "processor" not in text


def test_queues_for_each_output_are_not_advised_where_they_are_or_change_nothing() -> None:
    assert "voq" not in of_run(FIFO.replace("fifo", "voq"))[1]
    # PAUSE of the whole input stops the flow beside with either.
    assert "voq" not in of_run(BEHIND)[1]
    assert "voq" not in of_run(CELLS.replace("cell =", 'queues = "fifo"\ncell ='))[1]


def test_a_plain_incast_is_advised_about_its_law_only() -> None:
    """Nothing that any other rule would say is there."""
    plain = single_switch(3, XOFF, PFC, TWO)
    assert of_run(plain)[1] == (
        "add a congestion_control to the scheme: under PFC alone nothing slows the senders, so "
        "PAUSE also stops whoever shares a link with them"
    )
    slowed = single_switch(9, '[pfc]\nxoff = "20KB"', DCQCN, EIGHT)
    assert of_run(slowed)[1] == (
        "8 hosts sent to one faster than dcqcn could slow them: start fewer at a time or below "
        "line rate, or raise [pfc] xoff"
    )


def test_flows_without_control_that_are_the_smaller_part_are_not_blamed() -> None:
    free = flow("free", "H1", "H0", controlled=False, rate_limit="10Gbps")
    source = single_switch(9, '[pfc]\nxoff = "20KB"', DCQCN, free, flow("t", "H2..H8", "H0"))
    assert "controlled" not in of_run(source)[1]
    assert "controlled" in of_run(source.replace("H2..H8", "H2").replace("10Gbps", "90Gbps"))[1]


def test_a_dynamic_threshold_with_memory_left_is_not_blamed() -> None:
    assert "dynamic threshold" not in of_run(LOSSLESS_POOL.replace("2MB", "3MB"))[1]
    assert "lossy" not in of_run(LOSSLESS_POOL)[1]


@pytest.mark.parametrize(
    "switch",
    [
        "",
        crossbar("cioq", "200KB"),
        crossbar("input-queued", "200KB"),
        crossbar("input-queued", "200KB").replace("[pfc]", "speedup = 2\n[pfc]"),
        pipeline(1_000_000_000, "150KB"),
    ],
    ids=["shared-buffer", "cioq", "input-queued", "speedup", "pipeline"],
)
def test_an_incast_is_one_wherever_its_packets_wait(switch: str) -> None:
    run, _ = of_run(single_switch(5, switch, PFC, FOUR))
    tree = causes.of_run(run)[0]
    assert (tree.kind, str(tree.root)) == ("incast", "S0->H0")
    ports, rate, senders = tree.inputs
    assert (ports, rate, senders) == (4, 400e9, 4)


def test_a_switch_that_does_not_fill_a_link_is_the_root() -> None:
    run, _ = of_run(CELLS)
    [tree] = causes.of_run(run)
    assert (tree.kind, tree.root.node, tree.root.peer) == ("switch", "S0", None)
    # Behind the head of a queue waits what another output could take.
    run, _ = of_run(BEHIND)
    assert {(it.kind, str(it.root)) for it in causes.of_run(run)} == {
        ("incast", "S0->H0"),
        ("switch", "S0"),
    }


#: A setting with the value that is advised for it.
_ADVISED = re.compile(r"(?:raise|set|and) ([\w.]+) to ([\d.,]+) ?([kKMG]?B)? or more")


def random_incast(number: int, kind: str) -> str:
    """Hosts of random links send to one, with too little memory of a kind."""
    draw = random.Random(f"{kind} {number}")
    rate, delay = draw.choice([10, 25, 100, 400]), draw.choice([50, 500, 2_000, 10_000])
    payload, hosts = draw.choice([1_000, 4_096, 9_000]), draw.choice([3, 5, 9])
    need = 2 * delay * rate // 8 + 2 * (payload + 68) + 84
    xoff = max(20_000, 4 * payload, need // 2)
    pfc, switch = f'[pfc]\nxoff = "{xoff}B"\n', ""
    if kind == "buffer":
        shared = (hosts - 1) * xoff * draw.choice([3, 6, 9]) // 10
        switch = f'[switch]\nbuffer = "{hosts * need + shared}B"\n'
    elif kind == "headroom":
        pfc += f'headroom = "{need * draw.choice([1, 5, 9]) // 10}B"\n'
    elif kind == "headroom_delays":
        pfc += "headroom_delays = 1\n"
    else:
        pfc += f'headroom = "{need}B"\nheadroom_pool = "{need * 3 // 2}B"\n'
    micros = min(6_000, max(200, 15 * (xoff + need) * 8 // rate // 1_000 + delay // 50))
    return (
        f'duration = "{micros}us"\n[topology]\nbuilder = "single-switch"\nhosts = {hosts}\n'
        f'rate = "{rate}Gbps"\ndelay = "{delay}ns"\n[host]\npayload = "{payload}B"\n'
        f"[probes]\ncauses = true\n{switch}{pfc}{PFC}\n{flow('t', f'H1..H{hosts - 1}', 'H0')}"
    )


@pytest.mark.parametrize("kind", ["buffer", "headroom", "headroom_delays", "headroom_pool"])
def test_memory_that_explain_advises_loses_nothing(kind: str) -> None:
    tried = 0
    for number in range(8):
        source = random_incast(number, kind)
        run, text = of_run(source)
        if not any(row["headroom_dropped_packets"] for row in run.table("ports").to_pylist()):
            continue
        # Where the buffer is full before PAUSE begins, there is no tree.
        every = [*text.splitlines(), *incidents.losses(run.result, run)]
        of_key = [line for line in every if _ADVISED.search(line)]
        assert of_key, (source, text)
        advised = _ADVISED.findall(of_key[0])
        assert advised, of_key[0]
        followed = source
        for key, value, unit in advised:
            name = key.rpartition(".")[2]
            new = f'"{value.replace(",", "")}{unit}"' if unit else value
            followed, replaced = re.subn(rf"(?m)^{name} = .*$", f"{name} = {new}", followed)
            assert replaced == 1, (key, source)
        assert lost(followed) == 0, (of_key[0], source)
        tried += 1
    assert tried >= 3


def _victims_wait(run: Run) -> float:
    return sum(row["waited_ns"] for row in run.table("victims").to_pylist())


def test_a_watchdog_that_explain_advises_frees_the_victims_of_a_storm() -> None:
    tried = 0
    for number in range(6):
        draw = random.Random(f"storm {number}")
        rate, quanta = draw.choice([25, 100, 400]), draw.choice([2_000, 8_000, 65_535])
        pause_us = quanta * 512 / rate / 1_000
        length = int(pause_us * draw.uniform(6, 12)) + 100
        source = (
            f'duration = "{length + 400}us"\n[topology]\nbuilder = "two-switch"\n'
            f'left = "H0..H2"\nright = ["R0", "R1"]\nrate = "{rate}Gbps"\ndelay = "1us"\n'
            f'[probes]\ncauses = true\n[pfc]\nxoff = "50KB"\npause_quanta = {quanta}\n{PFC}\n'
            '[[event]]\nkind = "pause-storm"\nnode = "R0"\nat = "50us"\n'
            f'until = "{length + 50}us"\n'
            f"{flow('culprit', 'H0', 'R0')}\n{flow('victim', 'H1', 'R1')}\n"
        )
        run, text = of_run(source)
        table = re.search(r"\[switch\.watchdog\] (.*)", text)
        assert table, (source, text)
        keys = re.findall(r'(\w+ = "[^"]*")', table[1])
        assert len(keys) == 4, table[1]
        followed, _ = of_run("\n".join([source, "[switch.watchdog]", *keys]))
        assert followed.table("storms").num_rows, (keys, source)
        assert _victims_wait(followed) < 0.7 * _victims_wait(run), (keys, source)
        tried += 1
    assert tried == 6
