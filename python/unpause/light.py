"""Commands that leave out what they would import for nothing."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec


class _NoPandas:
    """pyarrow imports pandas when it first converts a value: a fifth of a second for nothing."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("commands of unpause do without pandas", name=name)
        return None


def no_pandas() -> None:
    """From now on this process finds no pandas, unless it has imported it before.

    For programs of this package alone: :meth:`unpause.data.result.Result.to_pandas` fails after it.
    """
    sys.meta_path.insert(0, _NoPandas())
