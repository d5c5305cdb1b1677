"""Code of others: its notices are those of what is shipped, and its audit says what it skips."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests import notices

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo here")
def test_notices_are_those_of_what_is_compiled() -> None:
    assert notices.NOTICES.read_text("utf-8") == notices.notices(), "make notices"


def test_notices_are_in_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert notices.NOTICES.name in project["license-files"]


def test_notices_name_what_has_to_be_named() -> None:
    text = notices.NOTICES.read_text("utf-8")
    for words in (
        "Copyright (c) 2022 Leon Sorokin",  # uPlot
        "Copyright (c) Meta Platforms, Inc.",  # zstd
        "Microsoft Corporation, Daan Leijen",  # mimalloc
        "This product includes software from the compact-thrift project",
    ):
        assert words in text, words


def _audit(
    tmp_path: Path, *words: str, cargo: str = "", pip: str = ""
) -> subprocess.CompletedProcess[str]:
    """The audit, with programs in place of cargo-deny and pip-audit."""
    binaries = tmp_path / "bin"
    binaries.mkdir(exist_ok=True)
    if cargo:
        for name in ("cargo", "cargo-deny"):
            (binaries / name).write_text(f"#!/bin/sh\n{cargo}\n")
            (binaries / name).chmod(0o755)
    modules = tmp_path / "modules"
    modules.mkdir(exist_ok=True)
    missing = "import sys; sys.exit('No module named pip_audit')"
    (modules / "pip_audit.py").write_text(pip or missing)
    return subprocess.run(
        [sys.executable, str(ROOT / "tests/audit.py"), *words],
        env={"PATH": f"{binaries}:/usr/bin:/bin", "PYTHONPATH": str(modules)},
        capture_output=True,
        text=True,
        check=False,
    )


def _known(fault: bool) -> str:
    vulns = [{"id": "X-1", "fix_versions": ["2"]}] if fault else []
    packages = [{"name": "a", "version": "1", "vulns": vulns}]
    return f"import json; print(json.dumps({{'dependencies': {packages!r}}}))"


_NO_NETWORK = 'test "$3" = advisories || exit 0; echo failed to fetch advisory database >&2; exit 1'
_UNKNOWN = (
    'print(\'{"dependencies": [{"name": "a", "skip_reason": "not found"},'
    ' {"name": "unpause", "skip_reason": "not found"}]}\')'
)


def test_an_audit_says_what_it_skips(tmp_path: Path) -> None:
    done = _audit(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("audit: skipped: ") == 2
    assert _audit(tmp_path, "--strict").returncode == 1
    done = _audit(tmp_path, cargo=_NO_NETWORK, pip=_UNKNOWN)
    assert done.returncode == 0, done.stderr
    assert "skipped: known faults of crates: the database of advisories" in done.stdout
    assert "skipped: 1 Python packages: the index does not say" in done.stdout
    done = _audit(tmp_path, pip="raise SystemExit('ERROR: no connection')")
    assert "skipped: Python packages: ERROR: no connection\n" in done.stdout
    assert _audit(tmp_path, "--strict", cargo=_NO_NETWORK, pip=_UNKNOWN).returncode == 1


def test_an_audit_that_skips_nothing_passes(tmp_path: Path) -> None:
    done = _audit(tmp_path, "--strict", cargo="exit 0", pip=_known(fault=False))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout


@pytest.mark.parametrize(
    ("cargo", "pip", "said"),
    [
        ('test "$3" = advisories', _known(fault=False), "crates break the rules of deny.toml"),
        ('test "$3" != advisories', _known(fault=False), "crates have known faults"),
        ("exit 0", _known(fault=True), "Python packages have known faults"),
    ],
)
def test_a_fault_fails_the_audit(tmp_path: Path, cargo: str, pip: str, said: str) -> None:
    done = _audit(tmp_path, cargo=cargo, pip=pip)
    assert done.returncode == 1
    assert said in done.stderr
