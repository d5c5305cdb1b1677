"""Data of a run for a page: JSON, and arrays of whole numbers as differences, deflated together.

A frame is the length of the JSON in bytes (32 bit, little-endian), the JSON with spaces up to a
multiple of four bytes, and the differences (32 bit, little-endian), all of it as one zlib stream.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unpause import plain


@dataclass
class Pack:
    """Arrays of whole numbers, one after the other; the JSON says where each of them lies."""

    parts: list[np.ndarray] = field(default_factory=list)
    size: int = 0

    def add(self, values: np.ndarray) -> list[int]:
        """Where the values will lie: first and how many."""
        whole = np.rint(values).astype(np.int64)
        differences = np.diff(whole, prepend=np.int64(0)).astype(np.int32)
        place = [self.size, len(differences)]
        self.parts.append(differences)
        self.size += len(differences)
        return place

    def frame(self, told: Any) -> bytes:
        """The JSON of `told` and the arrays."""
        json_text = json.dumps(told, separators=(",", ":"), allow_nan=False)
        text = plain.in_json(json_text).encode()
        text += b" " * (-len(text) % 4)
        numbers = np.concatenate([*self.parts, np.empty(0, np.int32)]).astype("<i4")
        whole = len(text).to_bytes(4, "little") + text + numbers.tobytes()
        return zlib.compress(whole, 6)
