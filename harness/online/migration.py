"""Older stores become stores of this schema: one step a version, each of which may be begun again after a crash.

A reader takes a store of any older version as it is. Whoever writes a store migrates it first: the receiver when it
starts, and `harness online compact`.
"""

from collections.abc import Callable
from typing import Final

from harness.online.compaction import Compactor
from harness.online.storage.layout import SCHEMA, StoreLayout


def migrate(layout: StoreLayout) -> list[int]:
    """The versions that the store was brought to, in order; none where it is of this schema already.

    Raises ResultsError where the store cannot be read or a newer harness wrote it.
    """
    done: list[int] = []
    for version in range(layout.open().schema_version, SCHEMA):
        _STEPS[version](layout)
        layout.set_version(version + 1)
        done.append(version + 1)
    return done


def _index_parts(layout: StoreLayout) -> None:
    """From 1 to 2: every part has an index."""
    Compactor(layout).index_parts()


_STEPS: Final[dict[int, Callable[[StoreLayout], None]]] = {1: _index_parts}
"""Schema version -> what brings a store of it to the next one."""
