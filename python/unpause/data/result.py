"""What a scenario measured: the tables of every run.

What is drawn and judged from them is in :class:`unpause.api.Result`.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause import plain, schema
from unpause.data import beneath, manifests, repeated, schemes, shapes
from unpause.data.files import BATCH, NO_BOUNDS, Bounds, TableFiles, written
from unpause.errors import ResultError
from unpause.text import beside, nearest

if TYPE_CHECKING:
    import pandas as pd

#: What a row of `port_series` is of, but its priority.
_OF_PORT = ("run", "scheme", "time_ns", "node", "port", "peer")
#: Types of what is read of a scenario; who runs it checks all of it.
SCENARIO: dict[str, Any] = {
    "title": str,
    "source": (str, {}),
    "report": {"figures": [str], "claims": ([str], str)},
    "topology": {"builder": str},
    "probes": {},
    "switch": {},
    "scheme": [{"name!": str, "set": {}}],
    "traffic": [{"name!": str}],
    "job": [{"name!": str}],
    "sweep": [{"name": str, "key": str, "unit": str, "also": [str], "with": [{"key": str}]}],
}


@dataclass
class Result:
    """Tables of a finished scenario; :class:`unpause.Result` describes its attributes."""

    tables: Mapping[str, pa.Table] = field(repr=False)
    source: str = field(default="", repr=False)
    manifest: dict[str, Any] = field(default_factory=dict, repr=False)
    directory: Path | None = None
    _native: Any = field(default=None, repr=False)

    @property
    def runs(self) -> pa.Table:
        """One row for each run: seed, swept values, totals (packets, frames, flows)."""
        return self.tables["runs"]

    @property
    def flows(self) -> pa.Table:
        """One row for each flow: ``start_ns``, ``fct_ns``, ``slowdown``, ``delivered_bytes``."""
        return self.tables["flows"]

    @property
    def loads(self) -> pa.Table:
        """One row for each traffic entry with a ``load``: the load asked for and that offered."""
        return self.tables["loads"]

    @property
    def ports(self) -> pa.Table:
        """One row for each egress port and priority: totals of packets, bytes, PAUSE, drops."""
        return self.tables["ports"]

    @property
    def pauses(self) -> pa.Table:
        """One row for each PAUSE: egress of ``node`` stopped by ``peer``, from and until (ns)."""
        return self.tables["pauses"]

    @cached_property
    def port_series(self) -> pa.Table:
        """Probed ports over time: ``queue_bytes`` now, the other counters since the start.

        One row for each port and instant, with the sums of its priorities: a mean over the rows of
        a port is a mean over time. :attr:`priority_series` has them apart.
        """
        table = self.priority_series
        counters = [name for name in table.column_names if name not in (*_OF_PORT, "priority")]
        # Without threads the order stays.
        groups = table.group_by(list(_OF_PORT), use_threads=False)
        sums = groups.aggregate([(name, "sum") for name in counters])
        sums = sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names])
        fields = [table.schema.field(name) for name in table.column_names if name != "priority"]
        return sums.select([each.name for each in fields]).cast(pa.schema(fields))

    @property
    def priority_series(self) -> pa.Table:
        """The same with a row for each priority of a port, most of them 0: the table as it is."""
        return self.tables["port_series"]

    @property
    def flow_series(self) -> pa.Table:
        """Recorded flows over time: rate or window now, bytes since the start."""
        return self.tables["flow_series"]

    @property
    def packets(self) -> pa.Table:
        """One row for each packet that left by a port of ``probes.packets``."""
        return self.tables["packets"]

    @property
    def causes(self) -> pa.Table:
        """What held the bytes at each PAUSE, and where it began; with ``probes.causes``."""
        return self.tables["causes"]

    @property
    def victims(self) -> pa.Table:
        """Flows that waited for a root that is not on their way; with ``probes.causes``."""
        return self.tables["victims"]

    @property
    def delays(self) -> pa.Table:
        """Where the time of completed flows went; with ``probes.causes``."""
        return self.tables["delays"]

    @property
    def losses(self) -> pa.Table:
        """Packets lost to links that were down, and those for which switches had no route."""
        return self.tables["losses"]

    @property
    def link_changes(self) -> pa.Table:
        """What changed at links, and when routes followed."""
        return self.tables["link_changes"]

    @property
    def storms(self) -> pa.Table:
        """One row for each storm that a PFC watchdog found."""
        return self.tables["storms"]

    @property
    def jobs(self) -> pa.Table:
        """One row for each job of each run: how long its iterations took."""
        return self.tables["jobs"]

    @property
    def iterations(self) -> pa.Table:
        """One row for each iteration that all ranks of a job have ended."""
        return self.tables["iterations"]

    @property
    def ranks(self) -> pa.Table:
        """One row for each rank of each iteration of a job."""
        return self.tables["ranks"]

    @property
    def messages(self) -> pa.Table:
        """One row for each message of a job that has arrived."""
        return self.tables["messages"]

    @property
    def critical(self) -> pa.Table:
        """The critical path of each iteration of a job: a row for each segment, in order."""
        return self.tables["critical"]

    @property
    def collectives(self) -> pa.Table:
        """One row for each collective operation of a group of ranks, in each iteration."""
        return self.tables["collectives"]

    @property
    def job_links(self) -> pa.Table:
        """What each job put on each link, by direction."""
        return self.tables["job_links"]

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The scenario as parsed TOML."""
        file = (self.directory or Path()) / "scenario.toml"
        try:
            scenario = tomllib.loads(self.source)
        except (ValueError, RecursionError) as error:
            raise ResultError(f"{file}: damaged: not TOML: {error}") from error
        misfit = shapes.misfit(scenario, SCENARIO)
        if misfit:
            raise ResultError(f"{file}: damaged: no scenario: {misfit}; run the scenario again")
        return scenario

    @property
    def title(self) -> str:
        """The scenario's title."""
        return plain.line(str(self.scenario.get("title") or "Untitled scenario"))

    @property
    def warnings(self) -> list[str]:
        """What the run found odd: drops in a lossless class, probes that saw nothing, …."""
        found = self.manifest.get("warnings", [])
        return [warning_text(w) for w in found]

    @cached_property
    def schemes(self) -> list[str]:
        """Names of the schemes, in the order in which they are shown."""
        return schemes.ordered(self.runs.column("scheme").to_pylist())

    @property
    def sweep_columns(self) -> list[str]:
        """Columns of table `runs` that hold swept values."""
        return schema.sweep_columns(self.runs)

    @property
    def same_with_any_seed(self) -> bool:
        """Whether nothing in it is random: a run with another seed gave the same tables."""
        return bool(self.manifest.get("seeds_alike"))

    @cached_property
    def axes(self) -> list[str]:
        """Swept columns of `runs` but those that only repeat a run with other seeds."""
        return repeated.axes(self.sweep_columns, self.runs, self.scenario)

    def runs_of(self, scheme: str) -> list[Run]:
        """The runs of one scheme, in order."""
        return list(self._runs_by_scheme.get(scheme, []))

    @cached_property
    def _runs_by_scheme(self) -> dict[str, list[Run]]:
        found: dict[str, list[Run]] = {}
        for row in map(self.named, self.runs.to_pylist()):
            found.setdefault(row["scheme"], []).append(Run(self, row["run"], row["scheme"], row))
        return found

    def named(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row of `runs`; swept names, such as "packed", instead of their numbers there."""
        names = self._swept_names
        return {k: names[k][int(v)] if k in names else v for k, v in row.items()}

    @cached_property
    def _swept_names(self) -> dict[str, list[str]]:
        """The names that the numbers of a swept column stand for, in sweeps over names."""
        fields = {name: self.runs.schema.field(name) for name in self.sweep_columns}
        noted = {name: (it.metadata or {}).get(b"names") for name, it in fields.items()}
        return {name: json.loads(names) for name, names in noted.items() if names}

    def rows(self, table: str) -> int:
        """Number of rows of a table."""
        if isinstance(self.tables, TableFiles):
            return self.tables.rows(table)
        return self.tables[table].num_rows

    def _rows_of(self, table: str, run: int) -> pa.Table:
        """The rows of one run. Runs follow one another, so that they are a slice."""
        whole = self.tables[table]
        starts = self._starts.get(table)
        if starts is None:
            chunks = whole.column("run").chunks  # the column's own to_numpy would import pandas
            runs = np.concatenate([np.empty(0, np.uint32), *map(np.from_dlpack, chunks)])
            in_order = bool(np.all(runs[1:] >= runs[:-1]))
            starts = self._starts[table] = runs if in_order else np.empty(0)
        if len(starts) != whole.num_rows:
            return whole.filter(pc.field("run") == run)
        first, last = np.searchsorted(starts, [run, run + 1])
        return whole.slice(first, last - first)

    @cached_property
    def _starts(self) -> dict[str, np.ndarray]:
        """By table its column `run`; nothing if its rows are in no order."""
        return {}

    def to_pandas(self, table: str = "runs", *, priorities: bool = False) -> pd.DataFrame:
        """One table as a pandas data frame (needs ``pip install unpause[pandas]``).

        Args:
            table: Its name.
            priorities: Whether `port_series` has a row for each priority of a port, with
                `priority` as its index. By default a port has one row for each instant, with the
                sums of its priorities: a mean over its rows is a mean over time.

        Raises:
            KeyError: there is no such table.
        """
        if table not in self.tables:
            near = nearest(table, self.tables)
            raise KeyError(f"no table {table!r}{near} (known: {', '.join(self.tables)})")
        by_port = table == "port_series" and not priorities
        frame = (self.port_series if by_port else self.tables[table]).to_pandas()
        return frame.set_index("priority") if priorities and table == "port_series" else frame

    def write(self, directory: str | Path) -> Path:
        """Write Parquet tables, manifest and scenario into `directory`."""
        if self._native is None:
            raise ResultError("this result was loaded from a directory and is already written")
        path = Path(directory)
        self._native.write(path)
        self.directory = path
        self.manifest = _read_manifest(path)
        return path


@dataclass(frozen=True)
class Run:
    """One run of a result: one scheme at one point of a sweep.

    Attributes:
        result: What it is of.
        run: Its number.
        scheme: Its scheme.
        row: Its row of `runs`, with swept names instead of their numbers.
    """

    result: Result = field(repr=False, compare=False)
    run: int
    scheme: str
    row: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)

    def table(self, name: str) -> pa.Table:
        """The rows of table `name` that belong to this run."""
        return self.result._rows_of(name, self.run)

    def columns(self, name: str, columns: Sequence[str]) -> pa.Table:
        """Some columns of :meth:`table`, of a large file without reading the rest of it."""
        tables = self.result.tables
        if isinstance(tables, TableFiles) and not tables.is_read(name):
            return tables.of_run(name, self.run, columns)
        return self.table(name).select(list(columns))

    @property
    def warmup_ns(self) -> float:
        """The end of the warm-up; 0 without one, and in results of versions before."""
        return float(self.row.get("counted_from_ns") or 0.0)

    def counted(self, flows: pa.Table) -> pa.Table:
        """The rows of `flows` that statistics are of: flows that started after the warm-up.

        They may be those of any table with a column `start_ns`.
        """
        return flows.filter(pc.field("start_ns") >= self.warmup_ns) if self.warmup_ns else flows

    def counted_flows(self, columns: Sequence[str] = ()) -> pa.Table:
        """The flows that statistics are of, with these `columns` or all."""
        if not columns:
            return self.counted(self.table("flows"))
        found = self.counted(self.columns("flows", list(dict.fromkeys([*columns, "start_ns"]))))
        return found.select(list(columns))

    def batches(
        self, name: str, columns: Sequence[str], bounds: Bounds = NO_BOUNDS
    ) -> Iterator[pa.RecordBatch]:
        """The rows of :meth:`columns`, some at a time: a large file is never whole in memory.

        Of what lies outside of `bounds` of columns as much as possible is not read.
        """
        tables = self.result.tables
        if isinstance(tables, TableFiles) and not tables.is_read(name):
            return tables.batches_of_run(name, self.run, columns, bounds)
        return iter(self.table(name).select(list(columns)).to_batches(max_chunksize=BATCH))


def load(directory: str | Path) -> Result:
    """Read a result directory that ``unpause run`` or :meth:`Result.write` has made.

    Args:
        directory: The directory with ``manifest.json`` and the Parquet tables.

    Raises:
        ResultError: it is not a result directory, or the run did not finish.
    """
    path = Path(directory)
    if not path.is_dir():
        raise ResultError(f"{path}: no such directory{beside(path)}")
    while True:
        text = _manifest_text(path)
        try:
            return _load(path, manifests.parsed(text, path))
        except ResultError:
            # Unless another result has come, what was found is so.
            if _manifest_text(path) == text:
                raise


def _load(path: Path, manifest: dict[str, Any]) -> Result:
    digests = manifest.get("files", {})
    tables = TableFiles(path, digests, _announced(manifest))
    name = "scenario.toml"
    source = ""
    if name in digests or (path / name).is_file():
        with written(path, name, digests) as file:
            source = _utf8(file.read(), path / name)
    return Result(tables, source=source, manifest=manifest, directory=path)


def _announced(manifest: Mapping[str, Any]) -> int | None:
    """The number of runs that a manifest announces; None in those of versions before."""
    runs = manifest.get("runs")
    return len(runs) if isinstance(runs, list) else None


def _utf8(text: bytes, file: Path) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ResultError(f"{file}: damaged: not UTF-8: {error}") from error


def _read_manifest(path: Path) -> dict[str, Any]:
    return manifests.parsed(_manifest_text(path), path)


def _manifest_text(path: Path) -> str:
    """The manifest, of the new result if that is on its way to its names."""
    name = "manifest.json"
    for folders in (beneath.COMMIT, ()):
        try:
            with beneath.open_file(path, *folders, name) as file:
                return _utf8(file.read(), path / name)
        except FileNotFoundError:
            continue
        except ResultError:
            if not folders:
                raise
    if os.path.lexists(path / "sweep.json"):
        raise ResultError(
            f"{path}: the directory of a sweep, which keeps no results of single runs\n"
            f"hint: `unpause compare {path}` shows it, {path / 'sweep.parquet'} is its table; "
            "`unpause run` makes a result of one point"
        )
    raise ResultError(
        f"{path}: no manifest.json: not a result directory, or the run that wrote it "
        "was stopped; run the scenario again"
    )


def warning_text(warning: Any) -> str:
    """One paragraph: scheme, what happened, what to do about it."""
    if not isinstance(warning, Mapping):
        return str(warning)
    message, remedy = warning.get("message", ""), warning.get("help")
    scheme = f"{warning['scheme']}: " if warning.get("scheme") else ""
    return f"{scheme}{message}{f' ({remedy})' if remedy else ''}."
