"""Ctrl-C and SIGTERM: both end the command as a KeyboardInterrupt does."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType

from unpause import printed

_INTERRUPTED = 130

#: The signal that came, if one did.
caught: int | None = None


def listen() -> None:
    """Answers both signals from now on."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _answer)


def ignore() -> None:
    """From now on, signals have no effect: the work is done."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def run(main: Callable[[Sequence[str] | None], int], arguments: Sequence[str] | None = None) -> int:
    """Calls `main`; answers its exit code, or after a signal 130 or 143."""
    listen()
    printed.use()
    try:
        code = _flushed(main(arguments))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = _INTERRUPTED
    return 128 + caught if code == _INTERRUPTED and caught else code


def _flushed(code: int) -> int:
    """The exit code, once all that was printed is written."""
    try:
        sys.stdout.flush()
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        # The interpreter would try again at its end.
        printed.discard(sys.stdout)
        return max(code, 1)
    return code


def _answer(number: int, frame: FrameType | None) -> None:
    global caught
    caught = number
    raise KeyboardInterrupt
