"""Runs what a profile-guided build learns from: every switch model, most laws, some seconds.

Called by maturin (``[tool.maturin] pgo-command``) where the instrumented package is installed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNS = [
    ["papers/pcn/scenarios/f2.toml"],
    ["papers/pcn/scenarios/t3.toml", "--duration", "3ms"],
    ["scenarios/clos-websearch.toml"],
    ["papers/capfc/scenarios/cross-burst.toml"],
    ["papers/qcn-inputs/scenarios/f2.toml", "--duration", "20ms"],
    ["papers/ecn-sharp/scenarios/t1.toml"],
    ["scenarios/dctcp.toml"],
    ["scenarios/hpcc/replay.toml"],
]


def main():
    """Runs them, one thread each: counters of several threads would be lost to one another."""
    for run in RUNS:
        with tempfile.TemporaryDirectory(prefix="unpause-training-") as place:
            options = ["--threads", "1", "--no-report", "--quiet", "--out", f"{place}/result"]
            command = [sys.executable, "-m", "unpause", "run", *run, *options]
            subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
