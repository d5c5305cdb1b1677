"""Warnings of runs for people: grouped, and what is only worth knowing apart from what is amiss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unpause.data.result import Result, warning_text
from unpause.text import value_text

_MOST_OF_A_KIND = 4
_MOST_NAMES = 6

#: Beginnings of messages that say what happened, not that something is wrong.
_NOTES = ("no PAUSE was sent", "DCQCN's default thresholds")


@dataclass
class Notices:
    """Sentences: warnings, and notes."""

    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def of_result(result: Result) -> Notices:
    """The warnings of a result, with the swept values of their runs."""
    labels = {row["run"]: _values(result, row) for row in result.runs.to_pylist()}
    return condensed(result.manifest.get("warnings", []), labels)


def _values(result: Result, row: Mapping[str, Any]) -> str:
    names = result.axes or [name for name in result.sweep_columns if name != "seed"]
    return ", ".join(f"{name} {value_text(name, row[name])}" for name in names)


def condensed(warnings: Sequence[Any], labels: Mapping[int, str] | None = None) -> Notices:
    """Warnings as text, those that say the same of several runs as one.

    Of each kind the first four, and how many more there are.
    """
    found = Notices()
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for warning in warnings:
        if not isinstance(warning, Mapping):
            found.warnings.append(str(warning))
            continue
        kind, message = warning.get("kind", ""), warning.get("message", "")
        # The measurement follows the colon; without one, the whole message is compared.
        groups.setdefault((kind, message.partition(":")[0], warning.get("help") or ""), []).append(
            warning
        )
    kinds: dict[str, int] = {}
    for (kind, _, _), alike in groups.items():
        kinds[kind] = kinds.get(kind, 0) + 1
        if kind and kinds[kind] > _MOST_OF_A_KIND:
            continue
        text = _sentence(alike, labels or {})
        into = found.notes if _is_note(alike[0]) else found.warnings
        into.append(text)
    for kind, count in kinds.items():
        if kind and count > _MOST_OF_A_KIND:
            more = f"{count - _MOST_OF_A_KIND} more of the kind {kind}; see manifest.json."
            found.warnings.append(more)
    return found


def _is_note(warning: Mapping[str, Any]) -> bool:
    return str(warning.get("message", "")).startswith(_NOTES)


def _sentence(alike: Sequence[Mapping[str, Any]], labels: Mapping[int, str]) -> str:
    first = alike[0]
    if len(alike) == 1:
        place = labels.get(first.get("run", -1), "")
        text = warning_text(first)
        scheme = first.get("scheme")
        return text.replace(f"{scheme}: ", f"{scheme}, {place}: ", 1) if place and scheme else text
    names = list(dict.fromkeys(_name(warning, labels) for warning in alike))
    shown = "; ".join(names[:_MOST_NAMES])
    more = f"; and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    message = first.get("message", "")
    same = all(warning.get("message", "") == message for warning in alike)
    remedy = f" ({first['help']})" if first.get("help") else ""
    return f"{message if same else message.partition(':')[0]}{remedy}: {shown}{more}."


def _name(warning: Mapping[str, Any], labels: Mapping[int, str]) -> str:
    place = labels.get(warning.get("run", -1), "")
    scheme = warning.get("scheme", "")
    return f"{scheme}, {place}" if scheme and place else scheme or place
