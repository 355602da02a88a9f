"""What is remembered of themes from one day to the next: `themes/<suite>.json` in the project, of runs
`themes/runs/<suite>.json`. Filing remembers them; listing only reads.

It holds no text of a session: a theme's identity as hashes of shingles, since when it is there, how frequent it was,
and its issue. Where the file is lost, themes are found anew; an id is a digest of the texts that began its theme, so
that many of them are others then.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from harness.disk import make_folder
from harness.documents import read_document, write_atomically
from harness.themes.grouping import ThemeText
from harness.values import Frozen, digest_of_text

FOLDER: Final = "themes"
_KEPT_DAYS: Final = 90
_MOST_KEPT: Final = 5_000


class KnownTheme(Frozen):
    """One theme that was seen before."""

    text: ThemeText
    first_ns: int
    """When the first session that showed it was received."""
    first_release: str
    last_ns: int
    rate: float
    """The lower bound of the share of the sessions that it touched when it was last seen."""
    issue: str = ""
    """The reference of its issue; "" where none was filed."""


class KnownThemes(Frozen):
    """The known themes of one suite."""

    schema_version: int = 1
    themes: tuple[KnownTheme, ...] = ()

    @property
    def by_id(self) -> dict[str, KnownTheme]:
        return {one.text.id: one for one in self.themes}

    @property
    def texts(self) -> tuple[ThemeText, ...]:
        return tuple(one.text for one in self.themes)

    def with_themes(self, seen: dict[str, KnownTheme]) -> "KnownThemes":
        """With these themes as they were seen last; forgets those without an issue that stayed away for 90 days."""
        merged = self.by_id | seen
        newest = max((one.last_ns for one in merged.values()), default=0)
        oldest = newest - _KEPT_DAYS * 86_400 * 10**9
        kept = [one for one in merged.values() if one.issue or one.last_ns >= oldest]
        kept.sort(key=lambda one: (-one.last_ns, one.text.id))
        return KnownThemes(themes=tuple(sorted(kept[:_MOST_KEPT], key=lambda one: (one.first_ns, one.text.id))))


def known_themes_path(project: Path, suite: str, *, of_runs: bool) -> Path:
    """Runs have a file of their own: what a run does not show says nothing about production.

    The name of a suite that sessions or an untrusted run name is not a path.
    """
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in suite)[:80]
    name = plain if plain == suite else f"{plain}-{digest_of_text(suite)[:8]}"
    return project / FOLDER / ("runs" if of_runs else "") / f"{name}.json"


def read_known_themes(path: Path) -> KnownThemes:
    """An empty one where there is none. Raises InvalidDocument that names file and field."""
    return read_document(path, KnownThemes) if path.is_file() and not path.is_symlink() else KnownThemes()


@contextmanager
def known_themes_lock(project: Path) -> Iterator[None]:
    """Held from reading the file to writing it."""
    make_folder(project / FOLDER)
    with (project / FOLDER / ".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write_known_themes(path: Path, known: KnownThemes) -> None:
    """Whole, or not at all."""
    make_folder(path.parent)
    write_atomically(path, (known.model_dump_json(indent=1) + "\n").encode())
