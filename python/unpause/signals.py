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
    """The exit code, once all that was printed is written, or could not be."""
    sys.stdout.flush()
    failed = sys.stdout.failed if isinstance(sys.stdout, printed.Printed) else None
    if failed is None:
        return code
    print(f"error: cannot write standard output: {failed.strerror}", file=sys.stderr)
    return max(code, 1)


def _answer(number: int, frame: FrameType | None) -> None:
    global caught
    caught = number
    raise KeyboardInterrupt
