"""Messages of jobs by name, and where the time of those of a connection went.

A message is named by its connection and its number there, as in table ``messages``: ``17:3``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from unpause.data.result import Run
from unpause.explanation import delays
from unpause.explanation.delays import Delay
from unpause.text import plural, size, time


def parsed(name: str) -> tuple[int, int] | None:
    """Connection and number of a message; None if `name` is not that of a message."""
    match = re.fullmatch(r"(\d+):(\d+)", name)
    return (int(match[1]), int(match[2])) if match else None


def of_number(run: Run, flow_id: int, number: int) -> dict[str, Any] | None:
    """The row of a message in table `messages`; None if it did not arrive or was not recorded."""
    rows = _of_flows(run, [flow_id])
    rows = rows.filter(pc.equal(rows.column("number"), number))
    return rows.to_pylist()[0] if rows.num_rows else None


def known(run: Run, flow_id: int) -> str:
    """What is recorded of the messages of a connection."""
    numbers = _of_flows(run, [flow_id]).column("number")
    if not len(numbers):
        return f"no message of flow {flow_id} arrived, or none was recorded"
    return f"those of flow {flow_id} that arrived are 0 to {pc.max(numbers).as_py()}"


def sentences(run: Run, flow_id: int, number: int) -> Iterator[str]:
    """Where the time of a message went, and who was behind it."""
    message = of_number(run, flow_id, number)
    row = next(iter(_delays(run, [flow_id], number)), None)
    if message is None or row is None:
        return
    delay = _delay(message, row)
    took = f"{_name(message)} took {time(message['end_ns'] - message['start_ns'])}"
    if message["ideal_ns"] is not None:
        took += f", and {time(message['ideal_ns'])} alone"
    if delay.total_ns <= 0:
        yield f"{took}: nothing delayed it."
        return
    yield f"{took}. The other {time(delay.total_ns)}: {delays.shares(row)}."
    yield from delays.behind(run, delay)


def of_connections(run: Run, flows: pa.Table) -> Iterator[str]:
    """Where the time of all messages of connections went, and of the most delayed in detail."""
    ids = flows.column("flow_id").to_pylist()
    rows = _delays(run, ids)
    if not rows:
        return
    traffic = flows.column("traffic")[0].as_py()
    table = pa.Table.from_pylist(rows)
    yield f"{traffic}, all {plural(len(rows), 'message')} that arrived: {delays.shares(table)}."
    worst = max(rows, key=lambda row: float(row["delay_ns"]))
    for number, text in enumerate(sentences(run, worst["flow_id"], worst["message"])):
        yield f"Most delayed: {text}" if not number else text


def _of_flows(run: Run, flows: list[int]) -> pa.Table:
    table = run.table("messages")
    ids = pa.array(flows, table.schema.field("flow_id").type)
    return table.filter(pc.is_in(table.column("flow_id"), ids))


def _delays(run: Run, flows: list[int], number: int | None = None) -> list[dict[str, Any]]:
    if not delays.are_there(run):
        return []
    table = run.table("delays")
    ids = pa.array(flows, table.schema.field("flow_id").type)
    table = table.filter(pc.is_in(table.column("flow_id"), ids))
    table = table.filter(pc.is_valid(table.column("message")))
    if number is not None:
        table = table.filter(pc.equal(table.column("message"), number))
    return table.to_pylist()


def _name(message: dict[str, Any]) -> str:
    return (
        f"message {message['flow_id']}:{message['number']} of {message['job']} (rank "
        f"{message['from_rank']} to {message['to_rank']}, {message['src']} -> {message['dst']}, "
        f"{size(message['size_bytes'])}, iteration {message['iteration']})"
    )


def _delay(message: dict[str, Any], row: dict[str, Any]) -> Delay:
    """The message as :mod:`unpause.explanation.delays` describes a flow."""
    flow = {
        "flow_id": message["flow_id"],
        "src": message["src"],
        "dst": message["dst"],
        "start_ns": message["start_ns"],
        "fct_ns": message["end_ns"] - message["start_ns"],
        "ideal_fct_ns": message["ideal_ns"],
        "delivered_bytes": message["size_bytes"],
    }
    return Delay(flow, row)
