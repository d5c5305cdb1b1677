"""Exceptions of scenarios. The extension module raises them."""

from __future__ import annotations


class ScenarioError(ValueError):
    """A scenario cannot be read or run.

    Attributes:
        message: What is wrong.
        file: The file, if the mistake is in one.
        line: Line from 1, if known.
        column: Column from 1, if known.
        help: What to do about it, if there is something to say.
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        help: str | None = None,
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.help = help
        place = ":".join(str(p) for p in (file, line, column) if p is not None)
        text = f"{place}: {message}" if place else message
        super().__init__(f"{text}\nhelp: {help}" if help else text)


class TooLargeError(ScenarioError, MemoryError):
    """A run needs more memory or disk than there is; ``force=True`` runs it anyway."""


class SweepError(ValueError):
    """A sweep cannot be run: an axis makes no sense, or the cluster is not there."""


class ResultError(Exception):
    """A result directory cannot be read; the message says what is wrong and what to do."""
