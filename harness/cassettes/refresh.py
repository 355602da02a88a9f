"""Updates recordings to a tool's current answers.

Only the passed answers are replaced: the rest of a cassette stays unchanged byte for byte.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from harness.cassettes.cassette import (
    Cassette,
    cassette_bytes,
    cassette_path,
    load_cassette,
    refuse_secrets,
)
from harness.cassettes.journals import only_writer
from harness.cassettes.recordings import Recording
from harness.cassettes.redaction import Redactor
from harness.disk import write_atomically

Fresh = Mapping[tuple[str, str, int], Recording]
"""Place on the cassette -> the current answer."""
_OF_ANSWER = ("outcome", "provenance")
"""The fields of a mark that concern the answer, and not the call."""


@dataclass(frozen=True, kw_only=True)
class RefreshedCassette:
    """One cassette that would change."""

    case: str
    path: Path
    replaced: int
    content: bytes


def with_answers(cassette: Cassette, fresh: Fresh) -> Cassette:
    """The cassette with its answers replaced; a place that the cassette lacks is not added."""
    return Cassette(_with_fresh_answer(recording, fresh.get(recording.place)) for recording in cassette.recordings)


def refreshed_cassettes(
    cassettes: Path, suite: str, fresh: Mapping[str, Fresh], redactor: Redactor
) -> Iterator[RefreshedCassette]:
    """The cassettes that the answers change, by case. Raises CassetteError if one contains a known secret."""
    for case, answers in sorted(fresh.items()):
        path = cassette_path(cassettes, suite, case)
        old = load_cassette(path)
        new = with_answers(old, answers)
        refuse_secrets(path, new.recordings, redactor)
        replaced = sum(not one.answers_like(other) for one, other in zip(old.recordings, new.recordings, strict=True))
        if replaced:
            content = cassette_bytes(path, new, suite=suite, case=case)
            yield RefreshedCassette(case=case, path=path, replaced=replaced, content=content)


def write_refreshed(cassettes: Iterable[RefreshedCassette]) -> None:
    """Writes every cassette under one lock that excludes other writers."""
    changed = list(cassettes)
    with ExitStack() as stack:
        for folder in sorted({cassette.path.parent for cassette in changed}):
            stack.enter_context(only_writer(folder))
        for cassette in changed:
            write_atomically(cassette.path, cassette.content)


def _with_fresh_answer(recorded: Recording, fresh: Recording | None) -> Recording:
    if fresh is None or recorded.answers_like(fresh):
        return recorded
    mark = recorded.mark.model_copy(update={name: getattr(fresh.mark, name) for name in _OF_ANSWER})
    return fresh.model_copy(update={"mark": mark, "arguments": recorded.arguments})
