"""The papers, a folder each: what is run, drawn and claimed, and what came of it.

========================== ================================================================
``paper.toml``             its name, experiments with their versions, headlines, figures as data
``claims.toml``            what it claims (:mod:`unpause.claims.claim`); ``claims-*.toml`` as well
``scenarios/``             its scenario files, and what they read
``*.py``                   figures that no data describes (:mod:`unpause.figures`)
``notes.md``, ``report.md`` how the scenarios read the paper; what was measured
========================== ================================================================

The folders are ``papers/`` in a checkout, and beside this file in an installed package.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

_INSTALLED = Path(__file__).parent
_CHECKOUT = Path(__file__).parents[3] / "papers"
_ROOT = _INSTALLED if any(_INSTALLED.glob("*/paper.toml")) else _CHECKOUT

# So that a paper's modules are unpause.papers.PAPER.MODULE in a checkout as well.
if _ROOT is _CHECKOUT:
    __path__.append(str(_CHECKOUT))


def folders() -> dict[str, Path]:
    """The folder of every paper, by the paper's name in commands: ``pcn``."""
    return {file.parent.name: file.parent for file in sorted(_ROOT.glob("*/paper.toml"))}


def stated(paper: str) -> dict[str, Any]:
    """What a paper's ``paper.toml`` states."""
    return tomllib.loads((folders()[paper] / "paper.toml").read_text("utf-8"))
