"""JSON objects with their own SHA-256 in them, so that a damaged one is not believed.

The last field of a sealed object, ``sha256``, is that of the whole text with zeros for its digits.
"""

from __future__ import annotations

import hashlib
import re

_ZEROS = b"0" * 64
_END = re.compile(rb',\n  "sha256": "(.{64})"\n\}\s*\Z', re.DOTALL)


def seal(text: str) -> str:
    """An object that was written with an indent of two, sealed."""
    body = text.rstrip().removesuffix("\n}")
    unsealed = f'{body},\n  "sha256": "{_ZEROS.decode()}"\n}}\n'.encode()
    digest = hashlib.sha256(unsealed).hexdigest()
    return f'{body},\n  "sha256": "{digest}"\n}}\n'


def is_broken(text: bytes) -> bool:
    """Whether it is another than was sealed; those of versions before have no seal."""
    found = _END.search(text)
    if found is None:
        return False
    zeros = text[: found.start(1)] + _ZEROS + text[found.end(1) :]
    return hashlib.sha256(zeros).hexdigest().encode() != found[1]
