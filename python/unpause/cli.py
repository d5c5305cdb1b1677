"""The command ``unpause``: the Rust command line, run inside this Python.

What is Python's of it, reports, sweeps and reproductions, is called back in this process.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line with the process's arguments; answers the exit code."""
    from unpause import _native

    return _native.main(["unpause", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
