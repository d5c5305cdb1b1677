"""``python -m unpause``: the command ``unpause``."""

import sys

from unpause.cli import main

sys.exit(main())
