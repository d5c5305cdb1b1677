"""The points of a sweep: the scenario of each, what its result depends on, and its row."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import tomli_w

from unpause import schema
from unpause.data import iterations, repeated
from unpause.data.result import Result, Run
from unpause.errors import ScenarioError, SweepError
from unpause.running import Scenario, run_native
from unpause.sweeps import named, recorded
from unpause.sweeps.axes import Axis, points, split_key
from unpause.sweeps.finished import Finished
from unpause.sweeps.warned import marked
from unpause.text import listed, nearest


@dataclass(frozen=True)
class Failure:
    """Why a point has no result."""

    message: str


@dataclass(frozen=True)
class Point:
    """One scheme at one combination of values.

    Attributes:
        scheme: Name of the scheme.
        settings: Value by key, of the axes that concern this scheme.
        digest: Hash of everything that the result depends on.
        label: For people: scheme and values.
    """

    scheme: str
    settings: tuple[tuple[str, Any], ...] = field(hash=False)
    digest: str
    label: str


@dataclass
class Plan:
    """Every point of a sweep, in the order of its table.

    Attributes:
        origin: The scenario file; relative paths start at its directory.
        document: The scenario.
        axes: What is varied.
        points: Schemes in the order of the file, within each the combinations.
        combinations: Index into the values of each axis, one for each combination.
        named: Names of further statistics that points measure; see :mod:`unpause.sweeps.named`.
    """

    origin: Path
    source: str
    document: dict[str, Any]
    axes: list[Axis]
    points: list[Point]
    combinations: list[tuple[int, ...]]
    named: tuple[named.Named, ...] = ()

    @classmethod
    def of(cls, scenario: Scenario, axes: list[Axis], schemes: list[str]) -> Plan:
        """Checks scenario, axes and schemes, and lays out the points."""
        source, origin = _source(scenario)
        # Mistakes are those of the file, with their lines.
        source = _parse(source, origin).source
        document = _without(tomllib.loads(source), axes)
        plan = cls(origin, source, document, axes, [], points(axes))
        names = [s["name"] for s in document["scheme"]]
        for name in schemes:
            if name not in names:
                raise SweepError(
                    f"there is no scheme {name!r} in {origin}{nearest(name, names)} "
                    f"(known: {', '.join(names)})"
                )
        chosen = [name for name in names if name in schemes or not schemes]
        plan._check(chosen)
        for scheme in chosen:
            for combination in plan.combinations:
                pairs = zip(axes, combination, strict=True)
                values = {axis.key: axis.values[i] for axis, i in pairs}
                plan.points.append(plan.point(scheme, values))
        return plan

    @property
    def schemes(self) -> list[str]:
        """Names of the scenario's schemes."""
        return [scheme["name"] for scheme in self.document["scheme"]]

    def point(self, scheme: str, values: Mapping[str, Any]) -> Point:
        """The point of a scheme at these values by key."""
        names = self.schemes
        concern = ((k, v) for k, v in values.items() if _concerns(split_key(k), scheme, names))
        settings = tuple(concern)
        label = ", ".join([scheme, *(f"{key}={value}" for key, value in values.items())])
        return Point(scheme, settings, self._digest(scheme, settings), label)

    def _check(self, chosen: list[str]) -> None:
        names = self.schemes
        for axis in self.axes:
            steps = tuple(axis.steps)
            if steps[0] == "sweep":
                raise SweepError(f"{axis.key}: a sweep cannot be varied; vary what it sweeps")
            if steps[0] == "scheme" and not any(_concerns(axis.steps, s, names) for s in chosen):
                raise SweepError(
                    f"{axis.key}: there is no scheme with that name{nearest(steps[1], chosen)} "
                    f"(known: {', '.join(chosen)})"
                )
            self._check_set(axis, chosen)
        columns = [a.column()[0] for a in self.axes]
        for sweep in self.document.get("sweep", []):
            if sweep["name"] in columns:
                raise SweepError(f"the file has a [[sweep]] with the name {sweep['name']!r}, too")
        first = {a.key: a.values[0] for a in self.axes}
        for axis in self.axes:
            # The ends of a long range: the values between them are of the same kind.
            whole = all(type(v) is int for v in axis.values) and len(axis.values) > 20
            for value in (axis.values[0], axis.values[-1]) if whole else axis.values:
                self.check_value(axis, value, first, chosen)

    def _check_set(self, axis: Axis, chosen: list[str]) -> None:
        # Its runs would have another value than the scheme asks for.
        for scheme in self.document["scheme"]:
            own = [tuple(axis.steps) == _steps(key) for key in scheme.get("set", {})]
            if scheme["name"] in chosen and any(own):
                raise SweepError(
                    f"{axis.key}: scheme {scheme['name']!r} sets it; remove it from `set` there, "
                    "or leave this scheme out: --scheme names those to run"
                )

    def check_value(
        self, axis: Axis, value: Any, first: Mapping[str, Any], chosen: list[str]
    ) -> None:
        """Refuses a value that fits neither with the values `first` of other keys, nor alone.

        A combination that does not fit fails as a point.

        Raises:
            SweepError: with the scenario's own message.
        """
        names = self.schemes
        for settings in ({**first, axis.key: value}, {axis.key: value}):
            of_scheme = {
                s: {k: v for k, v in settings.items() if _concerns(split_key(k), s, names)}
                for s in chosen
            }
            try:
                _parse(self._text(of_scheme), self.origin)
                return
            except ScenarioError as error:
                found = error
        hint = f" ({found.help})" if found.help else ""
        raise SweepError(f"{axis.key}={value}: {found.message}{hint}")

    def text_of(self, point: Point) -> str:
        """The scenario of a point, as TOML."""
        return self._text({point.scheme: dict(point.settings)})

    def _text(self, settings: Mapping[str, Mapping[str, Any]]) -> str:
        schemes = [
            _with_settings(entry, settings.get(entry["name"], {}))
            for entry in self.document["scheme"]
        ]
        return tomli_w.dumps({**self.document, "scheme": schemes})

    def _digest(self, scheme: str, settings: tuple[tuple[str, Any], ...]) -> str:
        schemes = [
            _with_settings(s, dict(settings)) if s["name"] == scheme else {"name": s["name"]}
            for s in self.document["scheme"]
        ]
        told = {k: v for k, v in self.document.items() if k not in ("title", "source", "report")}
        told["scheme"] = schemes
        files = {name: _file_digest(path) for name, path in self._files(told)}
        everything = {"scheme": scheme, "document": told, "files": files, "program": _program()}
        if self.named:
            everything["named"] = [each.text for each in self.named]
        text = json.dumps(everything, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:40]

    def _files(self, value: Any, key: str = "") -> Iterator[tuple[str, Path]]:
        """Files that the scenario names: topologies, flows, flow-size distributions."""
        if isinstance(value, Mapping):
            for name, inner in value.items():
                yield from self._files(inner, name)
        elif isinstance(value, list):
            for inner in value:
                yield from self._files(inner, key)
        elif isinstance(value, str) and key.rpartition(".")[2] in ("file", "cdf"):
            path = self.origin.parent / value
            if path.is_file():
                yield value, path

    def assemble(self, done: Finished) -> pa.Table:
        """The sweep's table, of the points in `done`."""
        measured, of = done.rows(point.digest for point in self.points)
        index = [number % len(self.combinations) for number in of]
        names = [c.name for c in (*schema.TABLES["runs"], *recorded.COLUMNS)]
        if measured is None:
            columns = [c for c in (*schema.TABLES["runs"], *recorded.COLUMNS) if c.name != "run"]
            fields = [pa.field(c.name, c.type, c.nullable) for c in columns]
            measured = pa.schema(fields).empty_table()
        run = pa.field("run", pa.uint32(), False)
        table = pa.table(
            {"run": pa.array(range(measured.num_rows), pa.uint32())}, schema=pa.schema([run])
        )
        table = table.append_column(measured.field("scheme"), measured.column("scheme"))
        for position, axis in enumerate(self.axes):
            name, values, kind = axis.column()
            if name not in names:
                cells = [values[self.combinations[i][position]] for i in index]
                column = pa.field(name, kind, False, {repeated.KEYS: json.dumps([axis.key])})
                table = table.append_column(column, pa.array(cells, kind))
        keys = repeated.keys_by_column(self.document)
        for name in measured.column_names:
            if name != "scheme":
                column = measured.field(name)
                if name in keys:
                    more = {repeated.KEYS: json.dumps(keys[name])}
                    column = column.with_metadata({**(column.metadata or {}), **more})
                table = table.append_column(column, measured.column(name))
        return table

    def about(self) -> dict[str, Any]:
        """For ``sweep.json``: what was swept."""
        from unpause import __version__

        sha256 = hashlib.sha256(self.source.encode()).hexdigest()
        return {
            "unpause": __version__,
            "scenario": {
                "title": self.document.get("title"),
                "file": os.fsencode(self.origin).decode("utf-8", "replace"),
                "sha256": sha256,
                "text": self.source,
            },
            "axes": {axis.key: list(axis.values) for axis in self.axes},
            "points": len({p.digest for p in self.points}),
        }


def measure(
    text: str,
    origin: Path,
    scheme: str,
    *,
    threads: int = 1,
    version: str | None = None,
    force: bool = False,
    stop: threading.Event | None = None,
    also: Sequence[named.Named] = (),
) -> pa.Table | Failure:
    """Runs one point, with columns of the statistics `also`; also what a Dask worker does."""
    from unpause import __version__

    if version not in (None, __version__):
        return Failure(f"the Dask worker has unpause {__version__}, not {version}")

    def watch(*_: object) -> None:
        if stop is not None and stop.is_set():
            raise _Stopped

    try:
        native = _parse(text, origin)
        result = run_native(native, schemes=[scheme], threads=threads, force=force, progress=watch)
        table = _with_named(result, row_of(result), also)
        return marked(table, result.manifest.get("warnings", []))
    except ScenarioError as error:
        return Failure(f"{error.message}{f' (hint: {error.help})' if error.help else ''}")
    except _Stopped:
        return Failure("stopped")
    except Exception as error:
        return Failure(f"{type(error).__name__}: {error}")


class _Stopped(Exception):
    pass


def row_of(result: Result) -> pa.Table:
    """The columns of `runs` but the number of the run, statistics and jobs: a row for each run."""
    table = result.runs
    found = [
        recorded.statistics(Run(result, row["run"], row["scheme"], row))
        for row in table.to_pylist()
    ]
    for column in recorded.COLUMNS:
        values = pa.array([f[column.name] for f in found], column.type)
        table = table.append_column(pa.field(column.name, column.type, column.nullable), values)
    for name, values in _of_jobs(result).items():
        field = pa.field(name, pa.float64(), True)
        table = table.append_column(field, pa.array(values, pa.float64()))
    return with_names(result, table).drop_columns(["run"])


def _with_named(result: Result, table: pa.Table, also: Sequence[named.Named]) -> pa.Table:
    """A table of points with two columns of each statistic; see :func:`named.columns`."""
    rows = [Run(result, row["run"], row["scheme"], row) for row in result.runs.to_pylist()]
    for statistic in also:
        found = [statistic.of(run) for run in rows]
        value, exact = named.columns(statistic.text)
        values = [each.at_least if each else None for each in found]
        table = table.append_column(value, pa.array(values, pa.float64()))
        of_bounds = [bool(each and each.is_exact) for each in found]
        table = table.append_column(exact, pa.array(of_bounds, pa.bool_()))
    return table


def with_names(result: Result, table: pa.Table) -> pa.Table:
    """A table with columns of `runs`, with swept names, such as "packed", instead of numbers."""
    rows = [*map(result.named, result.runs.to_pylist())]
    for name in result.sweep_columns:
        values = [row[name] for row in rows]
        if any(isinstance(value, str) for value in values):
            field = pa.field(name, pa.string(), False)
            place = table.schema.get_field_index(name)
            table = table.set_column(place, field, pa.array(values, pa.string()))
    return table


def _of_jobs(result: Result) -> dict[str, list[float | None]]:
    """By column what each run's jobs measured; see :mod:`unpause.data.iterations`."""
    runs = result.runs.column("run").to_pylist()
    place = {run: at for at, run in enumerate(runs)}
    found: dict[str, list[float | None]] = {}
    for (run, job), numbers in iterations.of_jobs(result).items():
        for column, number in numbers.items():
            values = found.setdefault(schema.job_column(job, column), [None] * len(runs))
            values[place[run]] = number
    return found


def _parse(text: str, origin: Path) -> Any:
    from unpause import _native

    return _native.Scenario.parse(text, origin)


def _source(scenario: Scenario) -> tuple[str, Path]:
    """The scenario's text, and its origin."""
    if isinstance(scenario, Mapping):
        return tomli_w.dumps(scenario), Path("<mapping>")
    if isinstance(scenario, str) and "\n" in scenario:
        return scenario, Path("<string>")
    from unpause import _native

    path = Path(scenario)
    return _native.Scenario.load(path).source, path


def _with_settings(scheme: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """A scheme's table with more in its `set`, which replaces keys of the file for this scheme."""
    if not settings:
        return dict(scheme)
    return {**scheme, "set": {**scheme.get("set", {}), **settings}}


def _steps(key: str) -> tuple[str, ...]:
    try:
        return tuple(split_key(key))
    except SweepError:
        return (key,)


def _without(document: dict[str, Any], axes: list[Axis]) -> dict[str, Any]:
    """The scenario without sweeps of its own over what `axes` vary.

    Raises:
        SweepError: such a sweep changes other keys with it.
    """
    varied = [tuple(axis.steps) for axis in axes]
    kept = []
    for sweep in document.pop("sweep", []):
        key = sweep.get("key")
        if not isinstance(key, str) or tuple(split_key(key)) not in varied:
            kept.append(sweep)
        elif others := [*sweep.get("also", []), *(it["key"] for it in sweep.get("with", []))]:
            raise SweepError(
                f"{key}: the file's [[sweep]] {sweep['name']!r} sets {listed(others)} with it, "
                f"which other values of {key} would leave out\nhint: remove that sweep, or leave "
                "its values as they are"
            )
    return {**document, "sweep": kept} if kept else document


def _concerns(steps: list[str], scheme: str, names: list[str]) -> bool:
    """Whether a key has anything to do with a scheme: `scheme.NAME.key` speaks of one only."""
    if steps[0] != "scheme" or len(steps) < 2:
        return True
    if steps[1] in names or not steps[1].isdigit():
        return steps[1] == scheme
    return int(steps[1]) < len(names) and names[int(steps[1])] == scheme


@cache
def _program() -> str:
    """This build: another one may give other results."""
    from unpause import _native

    return hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()


def _file_digest(path: Path) -> str:
    stat = path.stat()
    return _digest_of(path, stat.st_mtime_ns, stat.st_size)


@cache
def _digest_of(path: Path, _modified: int, _size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
