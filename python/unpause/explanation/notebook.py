"""An explanation as a notebook shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from unpause.data.result import Result, Run
from unpause.explanation import causes, chosen, explained, flow_lines


@dataclass(frozen=True)
class Explanation:
    """Why flows and jobs of some runs were slow, or one flow.

    Attributes:
        runs: The runs.
        flow: The flow, entry, job or message that is asked about; None for all.
    """

    result: Result = field(repr=False)
    runs: tuple[Run, ...]
    flow: str | None

    @classmethod
    def of(
        cls,
        result: Result,
        flow: str | None,
        scheme: str | None,
        seed: int | None,
        point: Sequence[str],
    ) -> Explanation:
        """Of the first run of each scheme that is wanted; with `flow` of each that has it.

        Raises:
            ResultError: the result has no causes, or there is no such run or flow.
        """
        causes.needed(result)
        if flow is None:
            runs = chosen.the_runs(result, scheme, seed, point)
        else:
            runs = chosen.with_flow(result, flow, scheme, seed, point)
        return cls(result, tuple(runs), flow)

    def __str__(self) -> str:
        lines = []
        for run in self.runs:
            lines.append(f"{chosen.run_name(run)}:")
            if self.flow is not None:
                lines += flow_lines.sentences(run, self.flow, None)
                continue
            for part in explained.of_run(self.result, run):
                lines += [f"{part.title}:"] if part.title else []
                lines += part.texts
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return explained.html(self.result, list(self.runs), self.flow)
