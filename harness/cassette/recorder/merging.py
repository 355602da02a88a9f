"""The rules by which a trial's recordings are merged into a cassette.

An answer that the cassette has is kept, because other agents' recordings depend on it; a different one replaces it only
on `refresh`, or where what the cassette has cannot be right:
- it is a transient error, which older versions of this harness kept
- it was recorded after a write that was lost, so that only the present trial knows its answer
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.cassette.recorder.transient_errors import is_transient, is_transient_of_model
from harness.cassette.recording import Recording
from harness.cassette.state import WORLD, next_state

Place = tuple[str, str, int]


@dataclass(frozen=True, kw_only=True)
class Merge:
    """How many recordings a merge has added, kept, replaced and dropped."""

    added: int = 0
    kept: int = 0
    """Of the trial's answers, the number that the cassette had already."""
    replaced: int = 0
    dropped: int = 0
    """Recordings that depended on a lost write, and that the trial did not repeat."""
    marked: int = 0
    """The number of kept recordings whose provenance was unknown or has changed: the trial received the same answer."""
    differs: int = 0
    """Of the trial's answers, the number that differ from the cassette's; the cassette keeps its own unless it is
    refreshed.
    """
    differing: tuple[str, ...] = ()
    """The tools that gave the different answers."""

    @property
    def changes_cassette(self) -> bool:
        return bool(self.added or self.replaced or self.dropped or self.marked)


def merged_recordings(
    held: Iterable[Recording], new: Iterable[Recording], *, refresh: bool = False
) -> tuple[tuple[Recording, ...], Merge]:
    """The cassette's recordings after the trial's, which are in the order in which they were made."""
    cassette = {recording.place: recording for recording in held}
    before = dict(cassette)
    renewed: set[str] = set()
    made: set[Place] = set()
    added = kept = replaced = 0
    differing: list[str] = []
    dropped: set[Place] = set()
    for recording in new:
        old = before.get(recording.place)
        made.add(recording.place)
        failed = old is not None and is_failure(old)
        if recording.mark.effect == "write" and (old is None or failed):
            renewed.add(recording.mark.state_name)
        if old is not None and failed:
            dropped |= set(_after(before, recording))
        if old is None:
            added += 1
        elif recording.answers_like(old):
            kept += 1
            cassette[recording.place] = _confirmed(old, recording, refresh=refresh)
            continue
        else:
            differing.append(recording.mark.tool)
            if not (refresh or failed or _rests_on(recording, renewed)):
                kept += 1
                continue
            replaced += 1
        cassette[recording.place] = recording
    gone = dropped - made
    done = Merge(
        added=added,
        kept=kept,
        replaced=replaced,
        dropped=len(gone),
        marked=sum(_is_marked(old, cassette[place]) for place, old in before.items()),
        differs=len(differing),
        differing=tuple(sorted(set(differing))),
    )
    return tuple(recording for place, recording in cassette.items() if place not in gone), done


def _confirmed(old: Recording, new: Recording, *, refresh: bool) -> Recording:
    """A recording whose answer was returned again, with the provenance of that answer where it states none."""
    provenance = new.mark.provenance
    known = old.mark.provenance is not None and not refresh
    return old if provenance is None or known else old.with_provenance(provenance)


def _is_marked(old: Recording, kept: Recording) -> bool:
    return kept.answers_like(old) and kept.mark.provenance != old.mark.provenance


def is_failure(recording: Recording) -> bool:
    """Whether the recording holds a transient error; such recordings come from older versions."""
    if recording.mark.outcome != "answer":
        return True
    of_model = recording.mark.kind == "model"
    return is_transient_of_model(recording.status) if of_model else is_transient(recording.status)


def _rests_on(recording: Recording, renewed: set[str]) -> bool:
    """Whether the recording was made after a write whose answer the cassette did not have."""
    mark = recording.mark
    return bool(renewed) and (mark.server == WORLD or mark.state_name in renewed or bool(mark.elsewhere))


def _after(cassette: dict[Place, Recording], write: Recording) -> Iterator[Place]:
    """The recordings of the states that the write leads to."""
    states = {next_state(write.mark.state, write.mark.key)}
    follows = sorted(
        (one for one in cassette.values() if one.mark.state_name == write.mark.state_name),
        key=lambda one: one.mark.writes,
    )
    for recording in follows:
        mark = recording.mark
        if mark.state in states and mark.writes > write.mark.writes:
            if mark.effect == "write":
                states.add(next_state(mark.state, mark.key))
            yield recording.place
