"""Comments on issues: written only where a change appeared, disappeared or returned, so that every notification reports
a change.
"""

from collections.abc import Collection, Iterable

from harness.issues.body import draft_of, refresh_command
from harness.issues.lifecycle import IssueUpdate
from harness.issues.quoting import fenced, span
from harness.issues.state import CLEAN_LOOKS, IssueState, KnownChange
from harness.issues.tracker import Note, TrackedIssue
from harness.results import DriftReport, IssueDraft
from harness.values import digest_of

_MOST = 20


def changed_note(state: IssueState, seen: IssueUpdate) -> Note | None:
    """The comment about new, returned and gone changes; None where there are none."""
    parts = [
        *_part("New:", seen.new),
        *_part("There again:", seen.returned),
        *_part(f"Gone for {CLEAN_LOOKS} looks in a row:", seen.vanished),
    ]
    return _note(state, "\n\n".join(parts)) if parts else None


def accepted_note(state: IssueState, report: DriftReport) -> Note:
    """The comment on how to copy the new answers into the recordings."""
    command = f"{refresh_command(state, report.run)}\ngit apply accepted.patch"
    return _note(
        state,
        "Accepted. Take the new answers over into the recordings, and commit them:\n\n"
        f"{fenced(command, 'sh')}\n\n"
        "A run that CI made is among the artifacts of its workflow; unpack it first. "
        f"This issue closes by itself after {CLEAN_LOOKS} clean looks against the new recordings.",
    )


def closing_note(state: IssueState) -> Note:
    """The comment on why the issue is closed."""
    return _note(
        state,
        f"The tool answers as recorded again: {CLEAN_LOOKS} looks in a row exercised every path listed here and found "
        "no change. Closed; should it come back within 14 days, this issue is opened again.",
    )


def reopening_note(state: IssueState, seen: IssueUpdate, same: Collection[str]) -> Note:
    """The comment about the changes that returned."""
    back = [one for one in state.changes if one.fingerprint in same]
    return _note(state, "\n\n".join([*_part("There again:", back), *_part("New:", seen.new)]))


def as_duplicate(
    state: IssueState, duplicate: TrackedIssue, other: TrackedIssue, command: str
) -> tuple[IssueDraft, Note]:
    """The draft that closes a duplicate: its state names the issue that stays, so that it is never reopened."""
    closed = state.model_copy(update={"twin_of": other.reference, "revision": state.revision + 1})
    text = f"Says the same as {other.reference}, which is older: closed as its duplicate."
    return draft_of(closed, command, earlier_body=duplicate.body), _note(closed, text)


def _part(title: str, changes: Iterable[KnownChange]) -> list[str]:
    lines = [
        f"- `{one.change}` {span(one.operation)} {span(one.path)}: {span(one.old_kind, 80)} → {span(one.new_kind, 80)} "
        f"(`{one.fingerprint}`)"
        for one in changes
    ]
    if not lines:
        return []
    more = [f"- … and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
    return ["\n".join([title, "", *lines[:_MOST], *more])]


def _note(state: IssueState, text: str) -> Note:
    """A comment whose id depends on the text and the issue's state, so that it is not written twice."""
    return Note(id=f"{state.key}-{state.revision}-{digest_of([text])[:12]}", text=text)
