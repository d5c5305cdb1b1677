"""Text of others made harmless: of scenarios, results and files that may come from anybody.

What a terminal, a page or TeX would obey instead of showing it becomes U+FFFD. All output of this
package goes through here before anything is coloured or marked.
"""

from __future__ import annotations

import re

#: Control characters but tab and the end of a line, and what turns the direction of text (UAX #9,
#: 2.1 to 2.6) or ends lines and paragraphs (U+2028, U+2029).
_ODD = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_HARMFUL = re.compile(f"[{_ODD}]")
#: The same in JSON of ASCII, and a backslash that stands for itself.
_IN_JSON = re.compile(r"\\(\\|u(00(0[0-8bcef]|1.|7f|[89].)|061c|200[ef]|202[89a-e]|206[6-9])|[bf])")
#: Spreadsheets take cells that begin so for formulas.
_FORMULA = ("=", "+", "-", "@")


def clean(text: str) -> str:
    """The text with U+FFFD for what is no text; tabs and ends of lines stay."""
    return _HARMFUL.sub("\ufffd", text)


def line(text: str) -> str:
    """The same on one line."""
    return clean(" ".join(text.split()))


def in_json(text: str) -> str:
    """JSON of ASCII, with its strings cleaned."""
    return _IN_JSON.sub(lambda found: found[0] if found[1] == "\\" else "\\ufffd", text)


def cell(text: str) -> str:
    """A cell of CSV that holds text: none that a spreadsheet computes."""
    text = clean(text)
    return f"'{text}" if text.startswith(_FORMULA) else text
