"""What a harness knows of its own trial beside the spans, as log records: so that it is scored online as offline.

A text that is longer than the receiver's bound of one text is sent in pieces, each a record of its own. The records
count only where every record of the session came with a trusted token; nothing that a session says about itself counts
as observed.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.case import Case, Suite
from harness.online.record import StoredRecord
from harness.score import ReferenceState, is_state_of
from harness.trace import Trajectory, Trial
from harness.values import Frozen, JsonObject, JsonValue

EVENT: Final = "harness.trial"
PIECE: Final = "harness.trial.piece"
"""The names of the log records; those of pieces begin as the trial's own does."""
_TRIAL: Final = "harness.trial.evidence"
_ARCHIVE: Final = "harness.trial.end_state"
_OF: Final = "harness.trial.piece.of"
_PLACE: Final = "harness.trial.piece.place"
_CONTENT: Final = "harness.trial.piece.content"
_PIECES: Final = "pieces:"
"""Before the digest and the number of pieces, in place of a text that is sent in pieces."""
_LONGEST: Final = 900_000
"""Characters of one piece: the receiver cuts a text at 1 MB."""
MAX_ARCHIVE: Final = 32 << 20
"""Bytes of an end state's archive that is sent."""


class TrialRecord(Frozen):
    """A trial without its steps, and the content of the files that it changed."""

    evidence: JsonObject
    final_output: JsonValue = None
    archive: str | None = None
    """In base64; None: not sent."""
    reference: JsonObject | None = None
    """The state that the case's reference leaves, as it is stored with the run; None: there is none."""

    def reference_state(self, suite: Suite, case: Case) -> ReferenceState | None:
        """None where none was sent that is of this case as it is now."""
        try:
            state = None if self.reference is None else ReferenceState.model_validate(self.reference)
        except ValidationError:
            return None
        return state if state is not None and is_state_of(state, suite, case) else None

    def trial(self, trajectory: Trajectory) -> Trial:
        """The trial of this record with a trajectory that was read from spans. Raises ValidationError."""
        complete = trajectory.model_copy(update={"final_output": self.final_output})
        return Trial.model_validate({**self.evidence, "trajectory": complete})

    def write_archive(self, folder: Path) -> Path | None:
        """The archive as a file in `folder`; None where it was not sent."""
        if self.archive is None:
            return None
        try:
            content = base64.b64decode(self.archive, validate=True)
        except (binascii.Error, ValueError):
            return None
        path = folder / "end_state.tar"
        path.write_bytes(content)
        return path


def trial_attributes(
    trial: Trial, archive: Path | None, reference: ReferenceState | None = None
) -> list[tuple[str, dict[str, str]]]:
    """(event, attributes) of the log records for a stored trial: pieces first, and then what they are pieces of."""
    fields = trial.model_dump(mode="json", exclude={"trajectory"})
    document = {
        "evidence": fields,
        "final_output": trial.trajectory.final_output,
        "reference": None if reference is None else reference.model_dump(mode="json"),
    }
    texts = {_TRIAL: json.dumps(document, ensure_ascii=True)}
    if archive is not None and is_sent(archive):
        texts[_ARCHIVE] = base64.b64encode(archive.read_bytes()).decode()
    found: list[tuple[str, dict[str, str]]] = []
    facts: dict[str, str] = {}
    for name, text in texts.items():
        if len(text) <= _LONGEST:
            facts[name] = text
            continue
        digest = hashlib.sha256(text.encode()).hexdigest()
        starts = range(0, len(text), _LONGEST)
        for place, start in enumerate(starts):
            piece = {_OF: digest, _PLACE: str(place), _CONTENT: text[start : start + _LONGEST]}
            found.append((PIECE, piece))
        facts[name] = f"{_PIECES}{digest}:{len(starts)}"
    return [*found, (EVENT, facts)]


def is_sent(archive: Path) -> bool:
    """Whether an end state's archive is small enough."""
    return archive.stat().st_size <= MAX_ARCHIVE


def trial_record_in(records: Sequence[StoredRecord]) -> TrialRecord | None:
    """The last record of a trial among trusted records; None where there is none that can be read."""
    trusted = [one for one in records if one.kind == "log" and one.trusted and one.name in (EVENT, PIECE)]
    pieces = {(digest, place): text for digest, place, text in _pieces(trusted)}
    for record in reversed(trusted):
        if record.name != EVENT:
            continue
        facts = json.loads(record.body).get("attributes") or {}
        try:
            document = json.loads(_whole(str(facts.get(_TRIAL)), pieces) or "")
            archive = facts.get(_ARCHIVE)
            return TrialRecord(
                evidence=document["evidence"],
                final_output=document.get("final_output"),
                reference=document.get("reference"),
                archive=_whole(archive, pieces) if isinstance(archive, str) else None,
            )
        except (ValueError, KeyError, TypeError, ValidationError):
            continue
    return None


def _pieces(records: Sequence[StoredRecord]) -> Iterator[tuple[str, int, str]]:
    for record in records:
        facts = json.loads(record.body).get("attributes") or {} if record.name == PIECE else {}
        place = str(facts.get(_PLACE, ""))
        if place.isascii() and place.isdecimal() and len(place) < 6:
            yield str(facts.get(_OF)), int(place), str(facts.get(_CONTENT))


def _whole(text: str, pieces: dict[tuple[str, int], str]) -> str | None:
    """The text, put together where it was sent in pieces; None where one is missing or another than was sent."""
    if not text.startswith(_PIECES):
        return text
    digest, _, count = text.removeprefix(_PIECES).partition(":")
    if not count.isdecimal() or len(count) > 5:
        return None
    found = [pieces.get((digest, place)) for place in range(int(count))]
    whole = "".join(one for one in found if one is not None)
    return whole if None not in found and hashlib.sha256(whole.encode()).hexdigest() == digest else None
