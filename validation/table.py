"""Rows as Markdown, as JSON, and beside what is on record."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from validation.compare import ALIKE, Row

WHY = Path(__file__).resolve().parent / "why.toml"
BEGIN = "<!-- written by make validate-ns3-update -->"
END = "<!-- to here -->"
HEAD = """\
| | quantity | runs | unpause | ns-3 | ns-3 / unpause | verdict |
|---|---|---|---|---|---|---|"""


def as_record(rows: Iterable[Row]) -> list[dict]:
    """Rows with their ratios, for JSON."""
    return [asdict(row) | {"ratio": row.ratio} for row in rows]


def reasons() -> dict[str, str]:
    """Why a case differs, by its name."""
    return tomllib.loads(WHY.read_text("utf-8"))


def markdown(rows: list[dict]) -> str:
    """A table of rows, and below it why they differ where they do."""
    lines = [HEAD]
    before = ""
    for row in rows:
        case = row["case"] if row["case"] != before else ""
        before = row["case"]
        lines.append(
            f"| {case} | {row['quantity']} | {row['seeds']} | {number(row, 'ours')} | "
            f"{number(row, 'ns3')} | {ratio(row)} | {row['verdict']} |"
        )
    why = reasons()
    differing = dict.fromkeys(row["case"] for row in rows if row["verdict"] != ALIKE)
    notes = [f"- **{case}**: {why.get(case, 'not explained.')}" for case in differing]
    return "\n".join([*lines, "", *notes] if notes else lines)


def number(row: dict, key: str) -> str:
    """A value with its unit."""
    unit = f" {row['unit']}" if row["unit"] else ""
    return f"{row[key]:.{row['digits']}f}{unit}"


def ratio(row: dict) -> str:
    """ns-3's over unpause's, with the 95 % interval where there were several runs."""
    if row["ratio"] is None:
        return "-"
    text = f"{row['ratio']:.4f}" if row["seeds"] == 1 else f"{row['ratio']:.3f}"
    if row["seeds"] > 1:
        text += f" ({1 + row['low'] / row['ours']:.3f} to {1 + row['high'] / row['ours']:.3f})"
    return text


def document(record: dict) -> str:
    """What stands between the marks in docs/validation.md."""
    versions = record["versions"]
    return "\n".join(
        [
            f"unpause {versions['unpause']} and ns-3 {versions['ns3']}; `validation/ns3.json`.",
            "",
            markdown(record["cases"]),
            "",
            "With one setting changed:",
            "",
            markdown(record["variants"]),
        ]
    )


def replaced(text: str, record: dict) -> str:
    """The document with the table of this record."""
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    return f"{head}{BEGIN}\n\n{document(record)}\n\n{END}{tail}"


def changed(record: dict, before: dict) -> list[str]:
    """Rows whose verdict is not the one on record, and rows that are in one of the two only."""
    verdicts = [
        {(row["case"], row["quantity"]): row["verdict"] for row in some["cases"] + some["variants"]}
        for some in (before, record)
    ]
    old, new = verdicts
    return [
        f"{case}, {quantity}: {old.get((case, quantity), 'not there')} on record, "
        f"{new.get((case, quantity), 'not there')} now"
        for case, quantity in dict.fromkeys([*old, *new])
        if old.get((case, quantity)) != new.get((case, quantity))
    ]
