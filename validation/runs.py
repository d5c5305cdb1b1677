"""A directory for each run with what both programs read, and the runs themselves."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import unpause
from unpause.data.result import Result

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "validation" / "scenarios"
WORK = ROOT / "target" / "validation"


@dataclass(frozen=True, order=True)
class Flow:
    """A flow as a line of an HPCC flow file; hosts by number."""

    start_s: float
    src: int
    dst: int
    size_bytes: int
    priority: int = 0


@dataclass(frozen=True)
class Experiment:
    """A scenario file and its topology beside the flows of one seed, in a directory of its own."""

    scenario: Path
    topology: Path
    flow_file: Path
    flows: list[Flow]
    seed: int

    def unpause(self, scheme: str, duration_ms: int | None = None) -> Result:
        """Runs one scheme of the scenario, for as long as the file says by default."""
        return unpause.run(
            self.scenario,
            schemes=[scheme],
            seed=self.seed,
            duration=f"{duration_ms}ms" if duration_ms else None,
            threads=1,
            progress=False,
        )

    def ns3(self, program: Path, *arguments: str) -> dict:
        """What the program prints, as JSON."""
        files = [f"--topology={self.topology}", f"--flows={self.flow_file}"]
        command = [str(program), *files, f"--seed={self.seed}", *arguments]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        return json.loads(output)


def prepare(
    name: str, scenario: str, topology: str, flows: Iterable[Flow], seed: int
) -> Experiment:
    """Writes the files of one seed; `unpause run` takes them, too."""
    directory = WORK / f"{name}-{seed}"
    directory.mkdir(parents=True, exist_ok=True)
    for file in (scenario, topology):
        shutil.copy(SCENARIOS / file, directory)
    flows = sorted(flows)
    write_flows(directory / "flows.txt", flows)
    return Experiment(
        directory / scenario, directory / topology, directory / "flows.txt", flows, seed
    )


def write_flows(path: Path, flows: Sequence[Flow]) -> None:
    """An HPCC flow file; starts to the picosecond."""
    lines = [f"{f.src} {f.dst} {f.priority} 100 {f.size_bytes} {f.start_s:.12f}" for f in flows]
    path.write_text("\n".join([str(len(lines)), *lines]) + "\n")
