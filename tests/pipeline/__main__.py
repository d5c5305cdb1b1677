"""``python -m tests.pipeline random|planted``: see :mod:`tests.pipeline.many`."""

import sys

from tests.pipeline.many import main

# What processes of a pool are given must be of a module that they can import.
sys.exit(main())
