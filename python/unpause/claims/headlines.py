"""The promises of a paper's first page, each with its verdicts.

Headlines are data: ``[[headline]]`` of a paper's ``paper.toml`` (:mod:`unpause.papers`). Each names
claims, or some of their checks by label, that carry it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unpause import papers
from unpause.claims.claim import Claim, Counted, Finding, measured_text
from unpause.claims.judges import Verdict


@dataclass(frozen=True)
class Headline:
    """One of the paper's main statements.

    Attributes:
        says: The statement.
        paper: Its numbers.
        measured: Ours, as text.
        verdict: Worst of what carries it.
        sentence: What to know of it.
    """

    says: str
    paper: str
    measured: str
    verdict: str
    sentence: str


def of(paper: str, claims: Sequence[Claim]) -> list[Headline]:
    """The headlines of `paper`, judged by its own reading; none if nothing of them was run."""
    ours = {c.id: c for c in claims if c.counted is not Counted.READING}
    found = [_headline(entry, ours) for entry in papers.stated(paper).get("headline", [])]
    return found if any(h.measured for h in found) else []


def _headline(entry: Mapping[str, Any], claims: Mapping[str, Claim]) -> Headline:
    carried = [f for part in entry["by"] for f in _findings(part, claims)]
    every = [f.verdict for f in carried]
    verdict = max(every, key=lambda v: v.rank) if every else Verdict.NOT_EVALUATED
    said = f"{entry['says']} {entry['paper']}"
    measured = "; ".join(dict.fromkeys(measured_text(f, said=said) for f in carried))
    return Headline(entry["says"], entry["paper"], measured, verdict.value, entry["sentence"])


def _findings(part: Mapping[str, Any], claims: Mapping[str, Claim]) -> list[Finding]:
    if part["claim"] not in claims:
        return []
    wanted = part.get("labels")
    findings = claims[part["claim"]].findings
    return [f for f in findings if wanted is None or f.label in wanted]
