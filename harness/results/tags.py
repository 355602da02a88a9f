"""Tags of a run, which people give it: `tags.json` in its folder. They are in no digest and change no figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from harness.documents import first_words, write_atomically
from harness.errors import ResultsError, UsageError
from harness.results.storage import json_bytes, read_as
from harness.values import Frozen

_TAGS = "tags.json"
_Tag = Annotated[str, Field(pattern=r"^[^\s,\x00-\x1f\x7f][^,\x00-\x1f\x7f]{0,39}$")]


class Tags(Frozen):
    """The file."""

    tags: tuple[_Tag, ...] = Field(max_length=12)


def tags_of(run: Path) -> tuple[str, ...]:
    """The tags of a run; none where the file is damaged: tags must not make a run unreadable."""
    path = run / _TAGS
    try:
        return read_as(path, Tags).tags if path.exists() else ()
    except ResultsError:
        return ()


def set_tags(run: Path, tags: Sequence[str]) -> None:
    """Replaces the tags of a run. Raises UsageError for a tag that cannot be one."""
    try:
        named = Tags(tags=tuple(dict.fromkeys(tags)))
    except ValidationError as error:
        raise UsageError(
            f"these are not tags: {first_words(error)[1]}",
            remedy="at most 12 tags of at most 40 characters each, without commas",
        ) from None
    write_atomically(run / _TAGS, json_bytes(named))
