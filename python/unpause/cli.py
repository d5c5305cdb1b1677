"""The command ``unpause``: the Rust command line, run inside this Python.

``unpause sweep`` is Python's own.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line with the process's arguments; answers the exit code."""
    if sys.argv[1:2] == ["sweep"]:
        from unpause import sweep_command

        return sweep_command.main(sys.argv[2:])

    from unpause import _native

    # `unpause run` draws its report with the Python that it was started from.
    os.environ.setdefault("UNPAUSE_PYTHON", sys.executable)
    return _native.main(["unpause", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
