"""Provenance of a cassette's recordings: counted, described, and set afterwards."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from harness.case import Provenance
from harness.cassette.cassette import Cassette, load_cassette, save_cassette
from harness.cassette.recorder.journal import only_writer
from harness.cassette.recording import Recording

UNKNOWN: Final = "unknown"
_WORDS: Final = {
    "service": "recorded from a service",
    "double": "recorded from a double",
    "trajectory": "taken from a trajectory",
    "hand": "written by hand",
    UNKNOWN: "unknown (recorded before provenance was kept)",
}


def provenance_of(recording: Recording) -> str:
    """The provenance of a recording; `unknown` where it states none."""
    return recording.mark.provenance or UNKNOWN


def provenance_counts(recordings: Iterable[Recording]) -> dict[str, int]:
    """Provenance -> number of recordings; only existing ones, in a fixed order."""
    found = Counter(provenance_of(recording) for recording in recordings)
    return {name: found[name] for name in _WORDS if found[name]}


def provenance_words(counts: Mapping[str, int]) -> str:
    """`recorded from a double`; how many of each where there are several kinds."""
    named = {name: count for name, count in counts.items() if count}
    if len(named) == 1:
        return _WORDS[next(iter(named))]
    return ", ".join(f"{count} {_WORDS[name]}" for name, count in named.items())


def state_provenance(path: Path, suite: str, of: Callable[[Recording], Provenance | None]) -> int:
    """Writes the results of `of` into a cassette's recordings with unknown provenance, and returns their number.

    A stated provenance is kept. Raises CassetteError where the cassette cannot be read.
    """
    with only_writer(path.parent):
        held = load_cassette(path).recordings
        stated = [_stated(one, of(one)) for one in held]
        changed = sum(old is not new for old, new in zip(held, stated, strict=True))
        if changed:
            save_cassette(path, Cassette(stated), suite=suite, case=path.stem)
    return changed


def _stated(recording: Recording, provenance: Provenance | None) -> Recording:
    if recording.mark.provenance is not None or provenance is None:
        return recording
    return recording.with_provenance(provenance)
