"""The command ``unpause``: the Rust command line, run inside this Python.

What is Python's of it, reports, sweeps and reproductions, is called back in this process.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def _stop(number: int, frame: FrameType | None) -> None:
    os.write(2, b"interrupted\n")
    os._exit(128 + number)


def main() -> int:
    """Run the command line with the process's arguments; answers the exit code."""
    from unpause import printed

    printed.open_standard()
    # Until the Rust half listens.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    from unpause import _native, light

    light.imports()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    try:
        return _native.main(["unpause", *sys.argv[1:]])
    finally:
        from unpause import signals

        signals.ignore()
        light.end()


if __name__ == "__main__":
    sys.exit(main())
