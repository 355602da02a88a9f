"""What a harness knows of its own trial beside the spans, as one log record: so that it is scored online as offline.

The record counts only where every record of the session came with a trusted token; nothing that a session says about
itself counts as observed.
"""

import base64
import binascii
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.online.record import StoredRecord
from harness.trace import Trajectory, Trial
from harness.values import Frozen, JsonObject, JsonValue

EVENT: Final = "harness.trial"
_TRIAL: Final = "harness.trial.evidence"
_ARCHIVE: Final = "harness.trial.end_state"
MAX_ARCHIVE: Final = 700_000
"""Bytes of an end state's archive that is sent; in base64 it is within the bound of one text."""


class TrialRecord(Frozen):
    """A trial without its steps, and the content of the files that it changed."""

    evidence: JsonObject
    final_output: JsonValue = None
    archive: str | None = None
    """In base64; None: not sent."""

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


def trial_attributes(trial: Trial, archive: Path | None) -> JsonObject:
    """Attributes of the log record for a stored trial."""
    fields = trial.model_dump(mode="json", exclude={"trajectory"})
    facts: JsonObject = {
        _TRIAL: json.dumps({"evidence": fields, "final_output": trial.trajectory.final_output}, ensure_ascii=True)
    }
    if archive is not None and archive.stat().st_size <= MAX_ARCHIVE:
        facts[_ARCHIVE] = base64.b64encode(archive.read_bytes()).decode()
    return facts


def trial_record_in(records: Sequence[StoredRecord]) -> TrialRecord | None:
    """The last record of a trial among trusted records; None where there is none that can be read."""
    for record in reversed(records):
        if record.kind != "log" or record.name != EVENT or not record.trusted:
            continue
        facts = json.loads(record.body).get("attributes") or {}
        try:
            document = json.loads(str(facts.get(_TRIAL)))
            archive = facts.get(_ARCHIVE)
            return TrialRecord(
                evidence=document["evidence"],
                final_output=document.get("final_output"),
                archive=archive if isinstance(archive, str) else None,
            )
        except (ValueError, KeyError, TypeError, ValidationError):
            continue
    return None
