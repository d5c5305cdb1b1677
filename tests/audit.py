"""Audit of the crates and packages of others: ``python tests/audit.py``.

cargo-deny judges licences, sources and known faults of crates by ``deny.toml``, pip-audit known
faults of the Python packages of this environment. Where a tool or its database cannot be had, one
line says what is skipped; with ``--strict`` that is a failure, as in the workflow of GitHub.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def _done(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def skipped_crates() -> str | None:
    """Judges crates; answers why something is skipped, if anything is.

    Raises:
        SystemExit: a crate breaks a rule or has a known fault.
    """
    if shutil.which("cargo-deny") is None:
        return "crates: no cargo-deny (cargo install --locked cargo-deny)"
    rules = _done("cargo", "deny", "check", "licenses", "bans", "sources")
    if rules.returncode:
        sys.exit(f"{rules.stdout}{rules.stderr}error: crates break the rules of deny.toml")
    print("crates: licences and sources are as deny.toml asks")
    faults = _done("cargo", "deny", "check", "advisories")
    if "failed to fetch advisory database" in faults.stderr:
        return "known faults of crates: the database of advisories cannot be fetched"
    if faults.returncode:
        sys.exit(f"{faults.stdout}{faults.stderr}error: crates have known faults")
    print("crates: no known faults")
    return None


def skipped_packages() -> str | None:
    """Judges Python packages; answers why something is skipped, if anything is.

    Raises:
        SystemExit: a package has a known fault.
    """
    audit = (sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--format", "json")
    done = _done(*audit, "--local", "--timeout", "30")
    if "No module named pip_audit" in done.stderr:
        return "Python packages: no pip-audit (pip install pip-audit)"
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        why = done.stderr.strip().splitlines() or ["pip-audit says nothing"]
        return f"Python packages: {why[-1]}"
    judged = [package for package in packages if "skip_reason" not in package]
    faulty = [package for package in judged if package["vulns"]]
    for package in faulty:
        for fault in package["vulns"]:
            fixed = ", ".join(fault["fix_versions"]) or "no version yet"
            print(f"{package['name']} {package['version']}: {fault['id']}, mended in {fixed}")
    if faulty:
        sys.exit("error: Python packages have known faults")
    # This package itself may be on no index.
    unknown = {package["name"] for package in packages} - {package["name"] for package in judged}
    unknown.discard("unpause")
    if unknown:
        return f"{len(unknown)} Python packages: the index does not say what faults are known"
    print(f"Python packages: {len(judged)} have no known faults")
    return None


def main() -> None:
    """Judges both."""
    skipped = [reason for reason in (skipped_crates(), skipped_packages()) if reason]
    for reason in skipped:
        print(f"audit: skipped: {reason}")
    if skipped and "--strict" in sys.argv[1:]:
        sys.exit("error: --strict, and something was skipped")


if __name__ == "__main__":
    main()
