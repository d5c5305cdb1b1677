"""Every command over damaged and hostile directories: :mod:`hostile` runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hostile
from scenarios import PFC, burst, star

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and pipes")

#: Seconds after which a command is taken to wait forever; they need a hundredth.
_FOR_EVER = 900

SCENARIO = star(
    3,
    PFC,
    burst("A", "H1..H2", "H0", size="100KB"),
    rate="40Gbps",
    seed=1,
    pfc={"xoff": "20KB"},
    probes={"causes": True, "packets": ["S0->H0"], "ports": ["S0->H0"], "interval": "100us"},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With `sound`, of which each case is a copy, and `outside`, which nothing may touch."""
    folder = tmp_path_factory.mktemp("hostile")
    sound = folder / "sound"
    sound.mkdir()
    (sound / "s.toml").write_text(SCENARIO)
    for words in (
        ["run", "s.toml", "--out", "out", "--no-report"],
        ["run", "s.toml", "--out", "other", "--no-report", "--seed", "2"],
        ["sweep", "s.toml", "--vary", "seed=1..2", "--out", "sweep"],
    ):
        made = subprocess.run(
            [sys.executable, "-m", "unpause", *words], cwd=sound, capture_output=True, text=True
        )
        assert made.returncode == 0, made.stderr
    hostile.prepare(folder)
    return folder


def told(folder: Path, command: str) -> list[hostile.Told]:
    """The outcome of a command over each damage; fails with the damage over which it hangs."""
    words = [sys.executable, hostile.__file__, str(folder), command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=_FOR_EVER, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [hostile.Told(**json.loads(line)) for line in done.stdout.splitlines()]


def timeless(text: str) -> str:
    """The output without durations and counts of kept runs."""
    return re.sub(r"in [0-9.]+ m?s(, \d+ of them kept from earlier)?", "in a moment", text)


@pytest.mark.parametrize("command", hostile.COMMANDS)
def test_a_command_names_what_is_wrong_and_touches_nothing_outside(
    folder: Path, command: str
) -> None:
    sound, *damaged = told(folder, command)
    assert len(damaged) > 40
    assert sound.code == (1 if command == "reproduce" else 0), sound.text
    refused = 0
    for it in damaged:
        where = f"{command}, {it.damage}: {it.text}"
        assert it.outside == [], where
        assert it.code in (0, 1), where
        assert not any(word in it.text for word in ("Traceback", "panicked")), where
        if it.code == 0:
            # A damaged point is run again; a report that cannot be written costs no table.
            said = any(word in it.text for word in ("damaged", "report was not written"))
            assert said or timeless(it.text) == timeless(sound.text), where
            continue
        refused += 1
        name = it.damage.partition(": ")[2]
        parts = name.split("/")
        # Where results are written, the directory is what cannot be used.
        named = parts if command not in ("run", "reproduce") else [*parts, "out exists"]
        assert "error: " in it.text, where
        assert any(part in it.text for part in named), where
    assert refused > 20
