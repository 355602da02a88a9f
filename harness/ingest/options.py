"""Options of an import, and its notes."""

from pathlib import Path

from pydantic import Field

from harness.values import Frozen

READS = (
    "get_*", "list_*", "search_*", "find_*", "lookup_*", "read_*", "view_*", "show_*", "check_*", "query_*",
    "count_*", "describe_*", "fetch_*", "calculate*", "think", "can_*", "is_*", "has_*", "test_*", "*_test",
)  # fmt: skip


class ImportOptions(Frozen):
    """Every field is optional and adds information that a file lacks."""

    suite: str | None = None
    """Name of the suite; None: that of the file or folder."""
    tools: Path | None = None
    """A JSON file with the tools' definitions (OpenAI or Anthropic shape), for formats that do not carry them."""
    reads: tuple[str, ...] = READS
    """Names (with wildcards) of tools that only read: no format says it, and what is not told counts as a write."""
    score: str | None = None
    """Which of several scores is the reward; None: the first."""
    conversations: bool = True
    """Traces of one conversation are one trial; else every trace is one."""
    secrets: dict[str, str] = Field(default={}, repr=False)
    """Known secret values by name, to be taken out beside what looks like a credential."""


class ImportNote(Frozen):
    """A part of the input that was changed or omitted, and how often."""

    file: Path
    record: str | None
    """The first record in which it was met."""
    field: str | None
    problem: str
    remedy: str | None = None
    count: int = 1


class ImportNotes:
    """Collects notes, one for each kind of problem in each file."""

    def __init__(self) -> None:
        self._notes: dict[tuple[Path, str | None, str], ImportNote] = {}

    @property
    def notes(self) -> tuple[ImportNote, ...]:
        """In the order in which they were first met."""
        return tuple(self._notes.values())

    def add(
        self,
        file: Path,
        record: str | None,
        field: str | None,
        problem: str,
        *,
        remedy: str | None = None,
        count: int = 1,
    ) -> None:
        """Counts a problem; only the first record of a kind is named."""
        known = self._notes.get((file, field, problem))
        total = count + (known.count if known else 0)
        first = known.record if known else record
        self._notes[file, field, problem] = ImportNote(
            file=file, record=first, field=field, problem=problem, remedy=remedy, count=total
        )
