"""The state of an issue between drift checks: stored in a hidden marker at the end of its body, so that no database is
needed.

    <!-- harness-drift:v1 key=0123456789ab {"suite": ...} -->

The key identifies the subject of the issue (suite, tool, severity); the rest is counted and compared. A damaged marker
still contains the key: the issue is found, and its state starts anew.
"""

import hashlib
import json
import re
from datetime import date, datetime
from typing import Literal

from pydantic import ValidationError

from harness.results import ChangeClass, DriftFinding, Severity
from harness.values import Frozen

CLEAN_LOOKS = 3
"""The number of consecutive checks that exercised a path and found it as recorded, after which a change
counts as gone.
"""

MOST_COUNTED = 1000
"""The number of fingerprints that are counted beyond the rows; further ones are not distinguished."""

_MARKER = re.compile(r"^<!-- harness-drift:v1 key=(?P<key>[0-9a-f]{12}) (?P<state>.*) -->\s*$", re.MULTILINE)

About = Severity | Literal["summary"]


class KnownChange(Frozen):
    """One fingerprint of an issue, and the dates since which the change is present or gone."""

    fingerprint: str
    tool: str
    severity: Severity
    operation: str
    change: ChangeClass
    path: str
    old_kind: str
    new_kind: str
    since: date
    clean: int = 0
    """Consecutive clean checks, counted up to `CLEAN_LOOKS`."""
    gone: date | None = None
    """The date of the first of them; None: the change is present."""

    @property
    def is_gone(self) -> bool:
        return self.clean >= CLEAN_LOOKS


class IssueState(Frozen):
    """The stored state of one issue."""

    suite: str
    tool: str
    """The tool; empty in a summary of several tools."""
    about: About
    changes: tuple[KnownChange, ...] = ()
    more: tuple[str, ...] = ()
    """Fingerprints beyond the rows of the issue; they are only counted."""
    cases: tuple[str, ...] = ()
    """Every case that was affected so far, sorted."""
    flips: tuple[str, ...] = ()
    first_seen: date
    last_seen: date
    """The value of the last write of the issue; not every check writes."""
    looked: datetime
    """The time of the latest check that was taken into account."""
    accepted: tuple[str, ...] = ()
    """Fingerprints whose instructions for acceptance the issue has shown."""
    shown: str = ""
    """Digest of the body's content, except excerpts and `last_seen`: while it is unchanged, nothing is written."""
    revision: int = 0
    twin_of: str | None = None
    """The older issue with the same content, where this one is closed as its duplicate."""

    @property
    def key(self) -> str:
        return issue_key(self.suite, self.tool, self.about)


def issue_key(suite: str, tool: str, about: About) -> str:
    """Twelve hexadecimal digits that identify the subject of an issue."""
    return hashlib.sha256("|".join(("v1", suite, tool, about)).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def known(finding: DriftFinding, since: date) -> KnownChange:
    """A finding in its stored form: kinds, and never a value."""
    fields = ("fingerprint", "tool", "severity", "operation", "change", "path", "old_kind", "new_kind")
    return KnownChange(since=since, **{field: getattr(finding, field) for field in fields})


def marker_of(state: IssueState) -> str:
    """The hidden line; nothing in it can end the comment that contains it."""
    plain = json.dumps(state.model_dump(mode="json", exclude_defaults=True), ensure_ascii=True, separators=(",", ":"))
    for mark, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("--", "-\\u002d")):
        plain = plain.replace(mark, escaped)
    return f"<!-- harness-drift:v1 key={state.key} {plain} -->"


def key_in(body: str) -> str | None:
    """The key of the issue with this body; None: it is not an issue of the harness."""
    found = _marker_in(body)
    return None if found is None else found["key"]


def state_in(body: str) -> IssueState | None:
    """The state in the body of an issue; None: no readable state."""
    found = _marker_in(body)
    if found is None:
        return None
    try:
        state = IssueState.model_validate_json(found["state"])
    except ValidationError:
        return None
    return state if state.key == found["key"] else None


def _marker_in(body: str) -> re.Match[str] | None:
    """The last marker of the body: text of a tool above it could contain another one."""
    return next(reversed(list(_MARKER.finditer(body))), None)
