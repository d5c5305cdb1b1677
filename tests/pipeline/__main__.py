"""``python -m tests.pipeline random|planted``: see :mod:`tests.pipeline.many`."""

import sys

from tests.pipeline.many import main

# Arguments of pool processes must be of a module that they can import.
sys.exit(main())
