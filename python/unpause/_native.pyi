from collections.abc import Callable, Sequence
from os import PathLike
from typing import final

def main(arguments: Sequence[str]) -> int: ...
def tofino_division(dividend: int, divisors: list[int]) -> list[float]: ...
def pcn_reaction(
    cnps: Sequence[int | None],
    *,
    line_rate_bps: int,
    w_min: tuple[int, int],
    w_max: tuple[int, int],
    min_rate_bps: int,
    rec_rate_unit_bps: int,
) -> tuple[list[int], list[int]]: ...

@final
class Scenario:
    @staticmethod
    def load(path: str | PathLike[str]) -> Scenario: ...
    @staticmethod
    def parse(source: str, origin: str) -> Scenario: ...
    @property
    def source(self) -> str: ...
    @property
    def runs(self) -> list[str]: ...
    def run(
        self,
        *,
        schemes: list[str],
        seed: int | None = None,
        duration: str | None = None,
        threads: int | None = None,
        progress: Callable[[str, int, int, float, int], None] | None = None,
    ) -> Outcome: ...

@final
class Outcome:
    @property
    def manifest(self) -> str: ...
    def table(self, name: str) -> Table: ...
    def write(self, directory: str | PathLike[str]) -> None: ...

@final
class Table:
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
