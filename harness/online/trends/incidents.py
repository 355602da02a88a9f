"""Incidents as they are stored in `watch/incidents.json`: their names, and what people decided about them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.documents import first_words, write_atomically
from harness.errors import ResultsError, UsageError
from harness.online.trends.charts import Shift
from harness.values import Frozen

INCIDENTS: Final = "incidents.json"


class FacetChange(Frozen):
    """Something else that changed when a shift began: the share of sessions with a release, model, prompt, ..."""

    facet: str
    """`release`, `model`, `prompt`, `judge`, `scorer`, `category`; `answers`: the value is a tool, and the shares are
    of its sessions in which an answer had a structure that was not known before."""
    value: str
    before: float
    """Share in the week before."""
    after: float
    """Share from the beginning of the shift to its alarm."""


class DriftNear(Frozen):
    """A finding of `harness drift` about a tool of the suite, made when a shift began."""

    run: str
    day: str
    tool: str
    operation: str
    change: str
    severity: str


class Incident(Frozen):
    """Shifts with one beginning."""

    id: str
    """Twelve hexadecimal digits; stays when the incident grows."""
    suite: str
    opened: str
    """The day of the first alarm."""
    since: str
    """The day on which the first of its shifts most likely began."""
    closed: str | None = None
    """The day on which all of them were over, by the charts of all sessions where one of these alarmed; None: one goes
    on. A part of the sessions takes longer to show it.
    """
    accepted: bool = False
    """A person took the new rates for the reference of later days."""
    withdrawn: bool = False
    """The charts do not show it any more: the sessions of these days were scored again, or what is watched changed."""
    shifts: tuple[Shift, ...]
    changes: tuple[FacetChange, ...] = ()
    """What changed beside them, the largest first. It is near in time, which proves no cause."""
    drift: tuple[DriftNear, ...] = ()
    """What drift checks found about then."""

    @property
    def is_open(self) -> bool:
        return self.closed is None and not self.accepted and not self.withdrawn


class IncidentFile(Frozen):
    """The content of `watch/incidents.json`."""

    incidents: tuple[Incident, ...] = ()


def accept_incident(folder: Path, incident: str) -> Incident:
    """Takes the rates of an incident for the reference of what came after it. Raises UsageError for an unknown one."""
    path = folder / INCIDENTS
    stored = read_incidents(path)
    found = [one for one in stored if one.id.startswith(incident)]
    if len(found) != 1:
        known = ", ".join(one.id for one in stored) or "none"
        raise UsageError(f"there is no single incident {incident!r}", remedy=f"the incidents: {known}")
    done = found[0].model_copy(update={"accepted": True})
    write_incidents(path, [done if one.id == done.id else one for one in stored])
    return done


def read_incidents(path: Path) -> tuple[Incident, ...]:
    """The stored incidents; none where there is no file. Raises ResultsError for one that is damaged."""
    if not path.is_file():
        return ()
    try:
        return IncidentFile.model_validate_json(path.read_bytes()).incidents
    except ValueError as error:
        field, problem = first_words(error) if isinstance(error, ValidationError) else ("", str(error)[:200])
        at = f"field {field!r}: " if field else ""
        remedy = "move it out of the folder: incidents are found anew, accepted ones are open again"
        raise ResultsError(f"{path}: is not a list of incidents: {at}{problem}", remedy=remedy) from None


def write_incidents(path: Path, incidents: Sequence[Incident]) -> None:
    """Whole, or not at all."""
    document = IncidentFile(incidents=tuple(incidents)).model_dump(mode="json")
    write_atomically(path, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
