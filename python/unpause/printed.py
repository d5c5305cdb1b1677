"""Output to terminals of any kind, of text from files that may be hostile."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from unpause import plain

#: In the place of an escape of this package. Nobody else knows it, so that no text of others has
#: one: theirs are replaced.
_ESCAPE = f"\ue000{secrets.token_hex(8)}\ue000"


def painted(text: str, code: str) -> str:
    """The text in a colour or weight of ECMA-48, as ``"1"`` for bold, where there are colours."""
    return f"{_ESCAPE}[{code}m{text}{_ESCAPE}[0m" if colours() else text


def over(text: str) -> None:
    """Writes a line of progress on standard error, in the place of the last one."""
    stream = sys.stderr
    stream = stream.unfiltered if isinstance(stream, Printed) else stream
    stream.write(f"\r\x1b[2K{plain.line(text)}")
    stream.flush()


def printable(text: str) -> str:
    """The text as it is written: without escapes but those of :func:`painted`."""
    return plain.clean(text).replace(_ESCAPE, "\x1b")


def discard(stream: TextIO) -> None:
    """Discards everything that is written to the stream from now on."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class Printed:
    """A stream that writes what is printable; characters that its encoding lacks as "?".

    If the reader is gone, as with ``| head``, or the disk is full, the rest is discarded and the
    command continues: it may still have files to write.

    Attributes:
        failed: Why something could not be written; not for a reader that is gone.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.failed: OSError | None = None

    def write(self, text: str) -> int:
        """Writes a text; answers its length."""
        clean = printable(text)
        encoding = self._stream.encoding or "utf-8"
        self._try(self._stream.write, clean.encode(encoding, "replace").decode(encoding))
        return len(text)

    @property
    def unfiltered(self) -> TextIO:
        """The stream itself."""
        return self._stream

    def flush(self) -> None:
        """Writes the buffered text."""
        self._try(self._stream.flush)

    def _try(self, call: Callable[..., Any], *arguments: str) -> None:
        try:
            call(*arguments)
        except BrokenPipeError:
            discard(self._stream)
        except OSError as error:
            self.failed = error
            discard(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_standard() -> None:
    """Opens the standard streams that this program was started without, as with ``>&-``.

    Else the next file that is opened would have their number, and get what is printed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one.
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def use() -> None:
    """From now on, standard output and standard error are such streams."""
    open_standard()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, Printed):
            setattr(sys, name, Printed(stream))


def width(wanted: int | None = None) -> int:
    """Columns of the terminal, or as many as are wanted."""
    return wanted or max(40, min(160, shutil.get_terminal_size((100, 24)).columns))


def wrapped(text: str, columns: int) -> str:
    """A sentence, its further lines indented."""
    return textwrap.fill(text, columns, subsequent_indent="  ")


def shown(text: str) -> str:
    """A sentence as it is for a program that reads it, in lines for a person at a terminal."""
    if not sys.stdout.isatty():
        return text
    own = len(text) - len(text.lstrip())
    return textwrap.fill(text, width(), subsequent_indent=" " * (own + 2))


def said(sentences: Sequence[tuple[str, str]], columns: int) -> str:
    """A paragraph for each scheme, its name in front."""
    paragraphs = []
    for scheme, text in sentences:
        whole = wrapped(f"{scheme}: {text}", columns)
        paragraphs.append(painted(whole[: len(scheme)], "1") + whole[len(scheme) :])
    return "\n".join(paragraphs)


def colours() -> bool:
    """Whether standard output shows colours, and nobody has asked for none."""
    unwanted = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return isinstance(sys.stdout, Printed) and sys.stdout.isatty() and not unwanted
