"""Planted slow flows: the largest part of the delay is the planted cause, and who is named.

Each case is a scenario with one slow flow, `victim`, drawn by a number. CI runs one number for each
cause and scheme; ``UNPAUSE_PLANTED=100`` runs a hundred of each.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

import unpause
from unpause.explanation import delays, flow_lines

#: Numbers for each cause and scheme.
COUNT = int(os.environ.get("UNPAUSE_PLANTED", "1"))

BASE = """
duration = "{duration}"
[topology]
builder = "single-switch"
hosts = 16
rate = "100Gbps"
delay = "{delay}"
[probes]
causes = true
[[scheme]]
name = "{scheme}"
{keys}
[scheme.set]
{settings}
"""

TRIMMING = {
    "switch.lossless": "[]",
    "switch.lossy_queue": '"128KB"',
    "switch.trimming.size": '"64B"',
    "switch.trimming.cut": '"either"',
}
REPEAT = 'loss_recovery = "selective-repeat"'

#: Keys and settings of each scheme.
SCHEMES: dict[str, tuple[str, dict[str, str]]] = {
    "PFC": ("", {}),
    "DCQCN": ('congestion_control = "dcqcn"', {}),
    "TIMELY": ('congestion_control = "timely"', {}),
    "HPCC": ('congestion_control = "hpcc"', {}),
    "NSCC": (f'congestion_control = "nscc"\n{REPEAT}', TRIMMING),
    "RCCC": (f'congestion_control = "rccc"\n{REPEAT}', TRIMMING),
    "DCTCP": (
        'congestion_control = "dctcp"',
        {"switch.lossless": "[]", "switch.lossy_queue": '"1MB"'},
    ),
}
ROCE = ("PFC", "DCQCN", "TIMELY", "HPCC", "NSCC", "RCCC")
LOSSLESS = ("PFC", "DCQCN", "TIMELY", "HPCC")
LAWS = ("DCQCN", "TIMELY", "HPCC", "NSCC", "DCTCP")


class Planted(NamedTuple):
    """An addition to the scenario, and the expected answer.

    Attributes:
        text: Traffic and events.
        parts: Columns of table `delays`, one of which is the largest part.
        name: A pattern of words in the answer of ``--flow``.
        settings: Settings of the scheme.
        duration: Of the run.
    """

    text: str
    parts: tuple[str, ...]
    name: str
    settings: dict[str, str] = {}  # noqa: RUF012
    duration: str = "20ms"


def flow(name: str, src: str, dst: str, size: int, more: str = "") -> str:
    return (
        f'[[traffic]]\nname = "{name}"\nkind = "flow"\nfrom = {src}\nto = {dst}\n'
        f'size = "{size}KB"\n{more}\n'
    )


def victim(size: int, more: str = 'start = "10us"') -> str:
    return flow("victim", '"H0"', '"H1"', size, more)


def hosts(first: int, count: int) -> str:
    return "[" + ", ".join(f'"H{first + n}"' for n in range(count)) + "]"


def turn(dice: random.Random, _: str) -> Planted:
    # Few TCP connections do not fill the NIC before their windows have grown.
    others = dice.randint(9, 12)
    text = victim(dice.randint(200, 400)) + flow("bully", '"H0"', hosts(2, others), 2000)
    return Planted(text, ("turn_ns",), r"H0 also sent meanwhile: \d+ flows of bully")


def follows(dice: random.Random, _: str) -> Planted:
    text = flow("first", hosts(2, dice.randint(1, 4)), '"H0"', dice.randint(500, 1000))
    text += victim(dice.randint(10, 100), 'after = "first"')
    return Planted(text, (), r"It started at .* after flow \d+, first \(H\d -> H0\)")


def limit(dice: random.Random, _: str) -> Planted:
    text = victim(dice.randint(50, 300), f'rate_limit = "{dice.randint(1, 9)}Gbps"')
    return Planted(text, ("limit_ns",), "its rate limit")


def law(dice: random.Random, _: str) -> Planted:
    text = victim(dice.randint(1500, 2500), "")
    text += flow("burst", hosts(2, dice.randint(6, 12)), '"H1"', 3000)
    name = r"The fullest link on its path was S0->H1 .* flows of burst"
    return Planted(text, ("rate_ns", "window_ns"), name)


def window(dice: random.Random, _: str) -> Planted:
    size = dice.randint(2, 8)
    text = victim(dice.randint(100, 500))
    return Planted(text, ("window_ns",), "its window", {"host.window": f'"{size}KB"'})


def pause(dice: random.Random, _: str) -> Planted:
    start = dice.randint(15, 20)
    text = victim(dice.randint(200, 400))
    text += (
        f'[[event]]\nkind = "pause-storm"\nnode = "H1"\nat = "{start}us"\n'
        f'until = "{start + dice.randint(100, 900)}us"\n'
    )
    return Planted(
        text, ("pause_ns", "window_ns"), r"S0->H1 was paused for|PAUSE from the NIC of H1"
    )


def credits(dice: random.Random, _: str) -> Planted:
    text = victim(dice.randint(500, 900), "")
    text += flow("burst", hosts(2, dice.randint(6, 12)), '"H1"', 1000)
    return Planted(text, ("credit_ns",), r"The fullest link .* S0->H1 .* flows of burst")


def queue(dice: random.Random, scheme: str) -> Planted:
    late, size = (60, 500) if scheme == "DCTCP" else (16, 100)
    # More than a TCP connection sends at first would wait for ACKs of what waits there.
    own = 1 if scheme == "DCTCP" else dice.randint(1, 4)
    text = victim(own, f'start = "{late}us"')
    text += flow("burst", hosts(2, dice.randint(8, 12)), '"H1"', size, 'start = "10us"')
    name = r"waited longest, .* at S0->H1, behind .* of other flows, .* \(burst\)"
    if scheme == "DCTCP":
        # Its SYN waits there, too.
        return Planted(text, ("queue_ns", "open_ns"), f"{name}|S0->H1 .* flows of burst")
    longer = {"switch.lossy_queue": '"4MB"'} if scheme in ("NSCC", "RCCC") else {}
    return Planted(text, ("queue_ns",), name, longer)


def down(at: float, until: float) -> str:
    return "".join(
        f'[[event]]\nkind = "{kind}"\nat = "{time}us"\nlink = "S0-H1"\n'
        for kind, time in (("down", at), ("up", until))
    )


def timeout(dice: random.Random, _: str) -> Planted:
    text = victim(dice.randint(1, 20)) + down(10.2, dice.randint(40, 80))
    return Planted(text, ("timeout_ns",), "timeouts", duration="900ms")


def nack(dice: random.Random, scheme: str) -> Planted:
    if scheme in ("NSCC", "RCCC"):
        text = victim(dice.randint(8, 12), 'start = "13us"')
        text += flow("burst", hosts(2, dice.randint(10, 14)), '"H1"', 100, 'start = "10us"')
        return Planted(text, ("loss_ns",), "lost packets", {"switch.lossy_queue": '"8KB"'})
    start = dice.randint(13, 16)
    text = victim(dice.randint(300, 400))
    text += (
        f'[[event]]\nkind = "error-rate"\nlink = "S0->H1"\nloss = 1.0\nat = "{start}us"\n'
        f'until = "{start + dice.randint(1, 2)}us"\n'
    )
    return Planted(text, ("loss_ns",), "lost packets")


#: Each cause with the schemes that can have it.
CAUSES: dict[str, tuple[Callable[[random.Random, str], Planted], tuple[str, ...]]] = {
    "turn": (turn, tuple(SCHEMES)),
    "follows": (follows, tuple(SCHEMES)),
    "limit": (limit, tuple(SCHEMES)),
    "law": (law, LAWS),
    "window": (window, ROCE),
    "PAUSE": (pause, LOSSLESS),
    "credits": (credits, ("RCCC",)),
    "queue": (queue, tuple(SCHEMES)),
    "timeout": (timeout, tuple(SCHEMES)),
    "loss": (nack, ("PFC", "DCQCN", "TIMELY", "HPCC", "NSCC")),
}
CASES = [(cause, scheme) for cause, (_, schemes) in CAUSES.items() for scheme in schemes]


def explained(cause: str, scheme: str, number: int) -> str:
    """The fault of the explanation of a planted case; empty if it is right."""
    planted = CAUSES[cause][0](random.Random(f"{cause} {scheme} {number}"), scheme)
    keys, settings = SCHEMES[scheme]
    changed = {**settings, **planted.settings}
    delay = random.Random(number).choice(["500ns", "1us", "2us"])
    head = BASE.format(
        duration=planted.duration,
        delay=delay,
        scheme=scheme,
        keys=keys,
        settings="\n".join(f'"{key}" = {value}' for key, value in changed.items()),
    )
    run = unpause.run(head + planted.text, progress=False).runs_of(scheme)[0]
    said = " ".join(" ".join(flow_lines.lines(run, "victim", 100, None)).split())
    flows = run.table("flows").to_pylist()
    slow = next(it["flow_id"] for it in flows if it["traffic"] == "victim")
    found = delays.of_flow(run, slow)
    assert found is not None
    largest = max(delays.PARTS, key=lambda part: found.delay[part])
    if planted.parts and largest not in planted.parts:
        return f"{largest}: {said}"
    return "" if re.search(planted.name, said) else f"no {planted.name}: {said}"


@pytest.mark.parametrize(("cause", "scheme"), CASES)
def test_the_planted_cause_is_the_largest_part(cause: str, scheme: str) -> None:
    wrong = [text for number in range(COUNT) if (text := explained(cause, scheme, number))]
    assert len(wrong) <= COUNT // 100, wrong
