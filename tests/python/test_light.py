"""Replacements of commands in Matplotlib change no figure."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from conftest import Builder
from unpause import figures
from unpause.data.result import Result, load

_LIGHT = """
import sys
from pathlib import Path
from unpause import light
light.imports()
from unpause import figures
from unpause.data.result import load
result, place = load(sys.argv[1]), Path(sys.argv[2])
for name in sys.argv[3:]:
    figures.save(figures.draw(result, name), place, name)
from matplotlib.axis import Axis
from matplotlib.text import Text
print(Axis._update_ticks.__module__, Text._get_layout.__module__)
"""


def test_figures_of_commands_are_the_same_bytes(
    pcn_f2: Callable[[], Builder], tmp_path: Path
) -> None:
    result = load(pcn_f2().write(tmp_path / "result"))
    names = [name for name in figures.of_result(result) if _drawn(result, name, tmp_path)]
    assert len(names) > 3
    light = tmp_path / "light"
    light.mkdir()
    told = subprocess.run(
        [sys.executable, "-c", _LIGHT, result.directory, light, *names],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.split() == ["unpause.light", "unpause.light"]
    for file in sorted(light.iterdir()):
        assert file.read_bytes() == (tmp_path / file.name).read_bytes(), file.name


def _drawn(result: Result, name: str, place: Path) -> bool:
    try:
        figures.save(figures.draw(result, name), place, name)
    except figures.NothingToDraw:
        return False
    return True
