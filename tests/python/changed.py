"""Changed result directories, well-formed and with right digests, and what commands make of them.

``python tests/python/changed.py`` makes every change of every column and prints the commands that
failed raw: minutes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import sys
import tempfile
import tomllib
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import tomli_w

import unpause
from unpause import _native
from unpause.commands import compare, explain, latex, report
from unpause.data import seals
from unpause.errors import ResultError

#: With rows in every table.
SCENARIO = (Path(__file__).parents[1] / "all-tables.toml").read_text("utf-8")

#: A changed table, of the table and a column of it; None if there is no such change of it.
Change = Callable[[pa.Table, str], pa.Table | None]


def _replaced(table: pa.Table, column: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    place = table.schema.get_field_index(column)
    field = table.schema.field(column)
    return table.set_column(place, pa.field(column, values.type, True, field.metadata), values)


def _constant(table: pa.Table, column: str, value: object) -> pa.Table | None:
    type_ = table.schema.field(column).type
    try:
        values = pa.array([value] * table.num_rows, type_)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None
    return _replaced(table, column, values)


def _one(table: pa.Table, column: str, value: object) -> pa.Table | None:
    """With another value in the middle row."""
    type_ = table.schema.field(column).type
    try:
        values = table.column(column).to_pylist()
        values[len(values) // 2] = value
        return _replaced(table, column, pa.array(values, type_))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None


def _retyped(table: pa.Table, column: str) -> pa.Table:
    values = table.column(column)
    text = pa.types.is_string(values.type)
    other = pa.array(range(table.num_rows), pa.int64()) if text else values.cast(pa.string())
    return _replaced(table, column, other)


def _largest(table: pa.Table, column: str) -> pa.Table | None:
    type_ = table.schema.field(column).type
    if not pa.types.is_integer(type_):
        return None
    bits = type_.bit_width - pa.types.is_signed_integer(type_)
    return _one(table, column, 2**bits - 1)


def _scaled(table: pa.Table, column: str) -> pa.Table | None:
    values = table.column(column)
    if not pa.types.is_floating(values.type):
        return None
    return _replaced(table, column, pc.multiply(values, 1e9))


def _renamed(table: pa.Table, column: str) -> pa.Table | None:
    values = table.column(column)
    if not pa.types.is_string(values.type):
        return None
    return _replaced(table, column, pc.binary_join_element_wise(values, "X", ""))


#: Changes of one column.
OF_COLUMN: dict[str, Change] = {
    "dropped": lambda table, column: table.drop_columns([column]),
    "retyped": _retyped,
    "null": lambda table, column: _constant(table, column, None),
    "one null": lambda table, column: _one(table, column, None),
    "NaN": lambda table, column: _one(table, column, float("nan")),
    "infinite": lambda table, column: _one(table, column, float("inf")),
    "negative": lambda table, column: _one(table, column, -1.0),
    "largest": _largest,
    "0": lambda table, column: _constant(table, column, 0),
    "empty name": lambda table, column: _constant(table, column, ""),
    "another name": _renamed,
    "one other name": lambda table, column: _one(table, column, "nobody"),
    "later": _scaled,
    "one huge": lambda table, column: _one(table, column, 1e300),
}
#: Changes of all rows.
OF_ROWS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "rows twice": lambda table: pa.concat_tables([table, table]),
    "row many times": lambda table: table.take(pa.array([0] * 50)),
    "no rows": lambda table: table.slice(0, 0),
    "first row only": lambda table: table.slice(0, 1),
    "without the first row": lambda table: table.slice(1),
    "reversed": lambda table: table.take(pa.array(range(table.num_rows))[::-1]),
    "column twice": lambda table: table.append_column(table.schema.field(1), table.column(1)),
    "another column": lambda table: table.append_column("mine", pa.array([1] * table.num_rows)),
}


def changes(sound: Path, every: bool = False) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Names of changes, and what makes each in a copy of `sound`.

    All of :data:`OF_ROWS` of each table; of each table and change of :data:`OF_COLUMN` one column,
    another for each, or `every` column.
    """
    number = 0
    for name in unpause.schema.TABLES:
        table = pq.read_table(sound / f"{name}.parquet")
        for kind, change in OF_ROWS.items():
            if table.num_rows > 1 and not (name == "runs" and kind == "column twice"):
                yield f"{name}: {kind}", _written(name, change(table))
        for kind, of_column in OF_COLUMN.items():
            columns = table.column_names
            start = number % len(columns)
            for column in columns[start:] + columns[:start]:
                changed = of_column(table, column) if table.num_rows else None
                if changed is not None and not changed.equals(table):
                    number += 1
                    yield f"{name}.{column}: {kind}", _written(name, changed)
                    if not every:
                        break


def _written(name: str, table: pa.Table) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        pq.write_table(table, directory / f"{name}.parquet", compression="zstd")
        sealed(directory)

    return write


def scenarios(sound: Path) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Changes of the scenario that lies beside the tables."""
    text = (sound / "scenario.toml").read_text("utf-8")
    values: list[object] = [7, "text", [], [7], {}, {"name": 7}, [{"name": 7}], [{}]]
    for key in tomllib.loads(text):
        for value in values:
            changed = tomllib.loads(text)
            changed[key] = value
            yield f"scenario.{key}: {value}", _with_scenario(tomli_w.dumps(changed))
    for number, other in enumerate(["", "x = 1", "scheme = 1\nsweep = 2\nreport = 3"]):
        yield f"scenario: other text {number}", _with_scenario(other)


def _with_scenario(text: str) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        (directory / "scenario.toml").write_text(text, "utf-8")
        sealed(directory)

    return write


def sealed(directory: Path) -> None:
    """Gives the manifest the digests of the files that are there."""
    file = directory / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    manifest.pop("sha256", None)
    for name in manifest["files"]:
        content = (directory / name).read_bytes()
        manifest["files"][name] = hashlib.sha256(content).hexdigest()
    file.write_text(seals.seal(json.dumps(manifest, indent=2)), "utf-8")


def make(folder: Path) -> Path:
    """A sound result in `folder`."""
    return unpause.run(SCENARIO, threads=1).write(folder / "sound")


def _load(directory: Path, _: Path) -> int:
    result = unpause.load(directory)
    every = [result.tables[name] for name in result.tables]
    return 0 if every else 1


def _native_main(*words: str | Path) -> int:
    return _native.main(["unpause", *map(str, words)])


#: By name what is done with a changed directory, and a sound one beside it.
COMMANDS: dict[str, Callable[[Path, Path], int]] = {
    "load": _load,
    "compare": lambda it, sound: compare.main([str(sound), str(it)]),
    "explain": lambda it, _: explain.main([str(it)]),
    "report": lambda it, _: report.main([str(it)]),
    "latex": lambda it, _: latex.main([str(it), "--force"]),
    "native compare": lambda it, sound: _native_main("compare", sound, it, "--output", "json"),
    "export": lambda it, _: _native_main("export", it, "--force", "--quiet"),
    "captures": lambda it, _: _native_main("export", "--pcapng", it, "--force"),
    "trace": lambda it, _: _native_main("export", "--perfetto", it, "--force"),
}


def outcomes(
    sound: Path, change: Callable[[Path], None], folder: Path, commands: list[str]
) -> Iterator[tuple[str, int | None, str]]:
    """Each command, its exit code, None if it failed raw, and what it printed on standard error."""
    directory = folder / "changed"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(sound, directory)
    change(directory)
    for name in commands:
        said = io.StringIO()
        code: int | None = None
        with _native_errors() as native, contextlib.redirect_stderr(said):
            with contextlib.redirect_stdout(io.StringIO()):
                try:
                    code = COMMANDS[name](directory, sound)
                except ResultError as error:
                    code = 1
                    print(f"error: {error}", file=sys.stderr)
                except SystemExit as error:
                    code = error.code if isinstance(error.code, int) else 1
                except BaseException:
                    traceback.print_exc()
            native.seek(0)
            printed = native.read().decode("utf-8", "replace")
        yield name, code, printed + said.getvalue()


@contextlib.contextmanager
def _native_errors() -> Iterator[BinaryIO]:
    """Takes what native code writes on standard output and standard error."""
    kept = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as taken, open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(taken.fileno(), 2)
        try:
            yield taken
        finally:
            for number, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, number)
                os.close(copy)


def main() -> None:
    """Every change, every command."""
    wanted = sys.argv[1:] or list(COMMANDS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sound = make(folder)
        os.chdir(folder)
        made = [*changes(sound, every=True), *scenarios(sound)]
        raw = refused = 0
        for what, change in made:
            for command, code, said in outcomes(sound, change, folder, wanted):
                refused += code == 1
                if code not in (0, 1) or "Traceback" in said or "panicked" in said:
                    raw += 1
                    print(f"{what}: {command}: {code}\n{said[-1500:]}", flush=True)
        print(f"{len(made)} changes, {refused} refusals, {raw} raw failures")


if __name__ == "__main__":
    main()
