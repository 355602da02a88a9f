"""Finds a trial's changes to files behind an overlay; the cost depends on the changes, not on the number of files.

Only folders that the trial has touched are in the overlay's upper folder, and only these are read, as the
trial saw them: what the upper folder has of its own is changed; of the rest, what is not the entry that was created at
this path has been moved there with its folder; and what was created and is not seen is gone. So nothing of the
overlay's own marks has to be read, which would need a capability that the launcher does not have.
"""

from __future__ import annotations

import posix

from harness.sandbox.inside.files import DEPTH_MAX, FOLDER, KIND, NO_LINKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.sandbox.inside.files import Entry
    from harness.sandbox.inside.layer_cache import LayerCache

_FOLDERS = posix.O_RDONLY | posix.O_DIRECTORY | NO_LINKS


class Overlaid:
    """The places of one trial that are overlays; `uppers` are descriptors of their upper folders."""

    def __init__(self, kept: LayerCache, uppers: dict[bytes, int]) -> None:
        self._kept = kept
        self._uppers = uppers

    def has(self, place: bytes) -> bool:
        """Whether the place is an overlay."""
        return place in self._uppers

    def changed(self, place: bytes, real: bytes, gone: dict[bytes, None]) -> Iterator[Entry]:
        """Entries, in the form of `files.walk`, that may have changed below a place; deleted paths are added to
        `gone`.
        """
        upper = posix.open(".", _FOLDERS, dir_fd=self._uppers[place])
        return self._changed(place, posix.open(real, _FOLDERS), upper, 1, gone)

    def _changed(
        self, shown: bytes, seen: int, upper: int | None, depth: int, gone: dict[bytes, None]
    ) -> Iterator[Entry]:
        try:
            own = set() if upper is None else set(posix.listdir(upper))
            missing = dict.fromkeys(self._kept.names(shown))
            for text in sorted(posix.listdir(seen)):
                name = text.encode("utf-8", "surrogateescape")
                missing.pop(name, None)
                state = posix.stat(name, dir_fd=seen, follow_symlinks=False)
                path = shown + b"/" + name
                if text not in own and self._kept.is_untouched(shown, name, state):
                    continue
                if not self._kept.is_folder_as_created(shown, name, state):
                    yield path, seen, name, depth, state
                if state.st_mode & KIND != FOLDER:
                    gone.update(dict.fromkeys(self._kept.below(path)[1:]))
                elif depth < DEPTH_MAX:
                    below = posix.open(name, _FOLDERS, dir_fd=upper) if upper is not None and text in own else None
                    yield from self._changed(path, posix.open(name, _FOLDERS, dir_fd=seen), below, depth + 1, gone)
            for name in missing:
                gone.update(dict.fromkeys(self._kept.below(shown + b"/" + name)))
        finally:
            posix.close(seen)
            if upper is not None:
                posix.close(upper)
