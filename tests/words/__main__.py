"""Finds words of the project's earlier private vocabulary: `python -m tests.words`, part of `make lint`.

Exit status 1, with file, line, word and replacement, where one stands in a name, sentence or message of `harness/` or
`docs/`. Listed are only words that have no other use here. Stored names that keep an old spelling are passed over.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

REPLACEMENTS: Final = {
    r"tapes?|taping|taped": "cassette",
    r"seals?|sealing|unsealed": "snapshot, checksums or isolation; `sealed` is a tool mode",
    r"sealed (?:states?|files?|snapshots?|entry|entries|folders?)": "snapshot; `sealed` is a tool mode",
    r"doorsteps?": "protocol sniffer",
    r"entrances?": "trial proxy",
    r"crossings?": "interaction or exchange",
    r"sittings?": "session",
    r"momentary": "transient",
    r"levelling": "normalisation",
    r"mints?|minting|minted": "generated",
    r"no cycles sought": "gc paused",
    r"afterthoughts?": "trailing thought",
    r"half made": "incomplete or partial",
    r"(?:behind|past) the door": "in the gateway",
}
STORED: Final = ('"afterthought"', "seal.json", ".sealing-", "sittings: int", ".sittings", "sittings=", "mints")
"""Names in files that exist already: they are read and written as they are."""

_WORDS: Final = {word: re.compile(rf"(?<![a-z])(?:{word})(?![a-z])", re.IGNORECASE) for word in REPLACEMENTS}
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FOLDERS: Final = {"harness": (".py", ".md"), "docs": (".md",)}
_PASSED_OVER: Final = frozenset({"docs/reference/glossary.md"})
"""The glossary names the words that are not to be used."""


class Found(NamedTuple):
    """One old word, and what to write in its place."""

    line: int
    word: str
    instead: str


def old_words(lines: Iterable[str]) -> Iterator[Found]:
    """Old words in the lines of a file, numbered from 1; names are taken apart at humps and underscores."""
    for number, line in enumerate(lines, 1):
        text = line
        for name in STORED:
            text = text.replace(name, "")
        text = _HUMP.sub(" ", text).replace("_", " ")
        for word, expression in _WORDS.items():
            if found := expression.search(text):
                yield Found(number, found[0], REPLACEMENTS[word])


def main(project: Path) -> int:
    """Prints every old word below `project`; gives the exit status."""
    status = 0
    for folder, endings in _FOLDERS.items():
        for path in sorted(path for path in (project / folder).rglob("*") if path.suffix in endings):
            name = path.relative_to(project).as_posix()
            if name in _PASSED_OVER:
                continue
            for found in old_words(path.read_text(encoding="utf-8").splitlines()):
                print(f"{name}:{found.line}: old word {found.word!r}: write {found.instead}")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parents[2]))
