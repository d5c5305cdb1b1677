"""Rows of finished points are kept together."""

from __future__ import annotations

import pyarrow as pa

from unpause.sweeps.finished import Finished


def test_rows_are_found_again_in_any_order() -> None:
    done = Finished()
    for number in range(600):
        values = pa.array([float(number)] * (number % 3), pa.float64())
        done.add(f"p{number}", pa.table({"x": values}))
    assert len(done) == 600
    assert "p599" in done
    assert "p600" not in done
    table, of = done.rows(["p599", "p2", "p600", "p7", "p2", "p3"])
    assert table is not None
    assert table.column("x").to_pylist() == [599, 599, 2, 2, 7, 2, 2]
    assert of == [0, 0, 1, 1, 3, 4, 4]


def test_nothing_has_no_table() -> None:
    done = Finished()
    done.add("empty", pa.table({"x": pa.array([], pa.float64())}))
    assert done.rows(["empty", "other"]) == (None, [])
