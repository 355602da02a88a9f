"""One row of the table that `make soak` prints."""

from dataclasses import dataclass


class Unable(Exception):
    """A part cannot run on this machine: it says what it needs, and is not a pass."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """An attack or a fault, and what came of it."""

    what: str
    tries: int
    survived: int
    """Tries after which everything was as it has to be; what is not lost or left behind may still be wrong."""
    lost: int = 0
    """Finished results, recordings or findings that were gone or different afterwards."""
    left: int = 0
    """Containers, networks, mounts, sockets, processes and temporary files that were left behind."""
    said: str = ""
    """A figure or the seed with which the row can be made again."""
    void: bool = False
    """The positive control did not succeed: the row says nothing."""

    @property
    def good(self) -> bool:
        return not self.void and self.survived == self.tries and self.lost == 0 and self.left == 0
