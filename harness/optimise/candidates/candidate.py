"""A candidate: one set of texts of the agent, kept as a folder of files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.disk import make_folder
from harness.documents import write_atomically
from harness.errors import ResultsError
from harness.plain_files import check_entries, read_plain_file
from harness.values import Frozen, digest_of

OF_TOOL: Final = "tool:"
"""Begins the name of a text that is a tool's description."""
_ABOUT = "candidate.json"
_TEXTS = "texts"


class Candidate(Frozen):
    """One set of texts; `candidate_of` gives it the id that its texts determine."""

    id: str
    """`c-` and twelve digits of the digest of `texts`: equal texts are one candidate, whoever proposed them."""
    parent: str | None = None
    """The candidate that it was made of; None: the texts in use."""
    texts: Mapping[str, str]
    """Path in the folder of the agent's files, or `tool:` and a tool's name -> the whole text."""

    @property
    def files(self) -> Mapping[str, str]:
        """The texts that are files of the agent."""
        return {name: text for name, text in self.texts.items() if not name.startswith(OF_TOOL)}

    @property
    def descriptions(self) -> Mapping[str, str]:
        """Tool -> its description."""
        found = ((name.removeprefix(OF_TOOL), text) for name, text in self.texts.items() if name.startswith(OF_TOOL))
        return {tool: text.strip() for tool, text in found}

    def write(self, folder: Path) -> None:
        """Writes `<folder>/candidate.json` and the texts below `<folder>/texts/`."""
        for path, text in self.texts.items():
            make_folder((folder / _TEXTS / path).parent)
            write_atomically(folder / _TEXTS / path, text.encode())
        about = {"id": self.id, "parent": self.parent, "files": sorted(self.texts)}
        write_atomically(folder / _ABOUT, json.dumps(about, indent=2).encode() + b"\n")


def candidate_of(texts: Mapping[str, str], parent: str | None = None) -> Candidate:
    """The candidate of these texts."""
    return Candidate(id=f"c-{digest_of(dict(texts))[:12]}", parent=parent, texts=dict(texts))


def read_candidate(folder: Path) -> Candidate:
    """A candidate as `Candidate.write` left it. Raises ResultsError for a folder that holds none."""
    try:
        check_entries(folder)
        about = json.loads(read_plain_file(folder / _ABOUT))
        root = folder / _TEXTS
        texts = {
            path.relative_to(root).as_posix(): read_plain_file(path).decode("utf-8")
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }
        found = candidate_of(texts, about["parent"])
        id = about["id"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{folder} holds no candidate: {error}") from None
    if found.id != id:
        raise ResultsError(f"{folder}: its texts are those of {found.id}, and candidate.json says {id!r}")
    return found
