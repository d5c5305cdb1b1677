"""Verdicts of claims as counts, tables and files."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unpause.claims.claim import Claim, Counted
from unpause.claims.judges import Verdict

_NAMES = {
    Counted.PAPER: ("claim", "claims"),
    Counted.DERIVATION: ("derivation of ours", "derivations of ours"),
    Counted.READING: ("in another reading", "in other readings"),
}


def counts(claims: Sequence[Claim]) -> dict[str, dict[str, int]]:
    """How many have which verdict: those of the paper, our derivations, other readings."""
    found = Counter((c.counted, c.verdict) for c in claims)
    return {
        counted.value: {v.value: found[counted, v] for v in Verdict if found[counted, v]}
        for counted in Counted
        if any(c.counted is counted for c in claims)
    }


def counts_text(claims: Sequence[Claim]) -> str:
    """Such as "13 claims: 9 reproduced, 4 not reproduced. 2 derivations of ours: 2 reproduced."."""
    sentences = []
    for counted, of_verdict in counts(claims).items():
        every = sum(of_verdict.values())
        parts = ", ".join(f"{n} {verdict}" for verdict, n in of_verdict.items())
        sentences.append(f"{every} {_NAMES[Counted(counted)][every != 1]}: {parts}.")
    return " ".join(sentences)


def title(claims: Sequence[Claim]) -> str:
    """For a page's title, such as "9 of 13 claims reproduced"."""
    own = [claim for claim in claims if claim.counted is Counted.PAPER]
    held = sum(claim.verdict is Verdict.REPRODUCED for claim in own)
    return f"{held} of {len(own)} claims reproduced" if own else "what was measured"


_PARQUET = pa.schema(
    [
        ("claim", pa.string()),
        ("kind", pa.string()),
        ("text", pa.string()),
        ("counted", pa.string()),
        ("claim_verdict", pa.string()),
        ("check", pa.uint16()),
        ("label", pa.string()),
        ("metric", pa.string()),
        ("sweep", pa.string()),
        ("unit", pa.string()),
        ("judge", pa.string()),
        ("tolerance", pa.float64()),
        ("scheme", pa.string()),
        ("expected", pa.float64()),
        ("measured", pa.float64()),
        ("lowest", pa.float64()),
        ("highest", pa.float64()),
        ("runs_with_it", pa.uint32()),
        ("runs", pa.uint32()),
        ("check_verdict", pa.string()),
        ("assumed", pa.string()),
        ("at_half", pa.string()),
        ("at_twice", pa.string()),
        ("by_these", pa.string()),
        ("why", pa.string()),
    ]
)


def to_table(claims: Sequence[Claim]) -> pa.Table:
    """One row for each claim, check and scheme."""
    rows = [
        {
            "claim": c.id,
            "kind": c.kind,
            "text": c.text,
            "counted": c.counted.value,
            "claim_verdict": c.verdict.value,
            "check": i,
            "label": f.label,
            "metric": f.metric,
            "sweep": f.sweep,
            "unit": f.unit,
            "judge": f.judge,
            "tolerance": f.tolerance,
            "scheme": scheme,
            "expected": f.expected.get(scheme),
            "measured": value,
            "lowest": f.spread.get(scheme, (value, value))[0],
            "highest": f.spread.get(scheme, (value, value))[1],
            "runs_with_it": f.seeds.get(scheme, (None, None))[0],
            "runs": f.seeds.get(scheme, (None, None))[1],
            "check_verdict": f.verdict.value,
            "assumed": f.assumed,
            "at_half": f.at_half and f.at_half.value,
            "at_twice": f.at_twice and f.at_twice.value,
            "by_these": f.by_these and f.by_these.value,
            "why": f.why,
        }
        for c in claims
        for i, f in enumerate(c.findings)
        for scheme, value in f.measured.items()
    ]
    return pa.Table.from_pylist(rows, schema=_PARQUET)


def write(claims: Sequence[Claim], directory: Path) -> None:
    """Write ``claims.json`` and ``claims.parquet`` into a folder."""
    write_json([asdict(c) for c in claims], directory / "claims.json")
    pq.write_table(to_table(claims), directory / "claims.parquet")


def write_json(data: Any, file: Path) -> None:
    """Write data of claims as JSON."""
    text = json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False)
    file.write_text(text + "\n", "utf-8")


def _plain(value: Any) -> Any:
    """JSON has no infinity: it is written as the string "inf"."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return value
