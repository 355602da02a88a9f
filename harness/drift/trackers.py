"""Trackers by name, and the built-in one: issues as Markdown files of the project."""

import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import yaml

from harness.disk import write_atomically
from harness.drift.issue import LABEL, IssueTracker, Note, TrackedIssue, TrackerOptions
from harness.errors import InvalidDocument, TrackerUnavailable, UsageError
from harness.plugins import extra_remedy, find_object
from harness.runs.store.drift_report import IssueDraft
from harness.suite.documents import shaped, yaml_values
from harness.values import Frozen

if TYPE_CHECKING:
    from harness.drift.github import GithubTracker


# The tracker `folder`: issues as Markdown files of the project, for a team without a token, and for reading offline.
#
#     issues/0001-drift-drive-thru-get-order-answers-differently-breaking.md
#
# A file has a YAML head (number, title, state, labels, times), the body, and the comments below it. People change
# labels in the head, and answer at the end. A lock serialises concurrent processes.

FOLDER = "issues"

_FILE = re.compile(r"\A---\n(?P<head>.*?\n)---\n\n(?P<text>.*)\Z", re.DOTALL)
_END = re.compile(r"^<!-- harness-drift:v1 key=.* -->\n?", re.MULTILINE)
_WAIT_S = 60.0


class Head(Frozen):
    """The fields at the top of an issue's file."""

    number: int
    title: str
    state: Literal["open", "closed", "declined"]
    """`declined`: closed by a person as not planned."""
    labels: tuple[str, ...] = ()
    created: datetime
    updated: datetime
    closed: datetime | None = None


class _Filed(Frozen):
    """A parsed file."""

    path: Path
    head: Head
    body: str
    comments: str


class FolderTracker:
    """Issues in `<project>/issues`."""

    name = "folder"

    def __init__(self, options: TrackerOptions) -> None:
        self._folder = options.project / FOLDER
        self._shown = options.project

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Locks the folder; raises TrackerUnavailable if another process holds the lock for more than a minute."""
        self._folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _lock(handle, self._folder)
            yield
        finally:
            os.close(handle)

    def find(self) -> Sequence[TrackedIssue]:
        return [_tracked(filed, self._shown) for filed in self._all_issues() if LABEL in filed.head.labels]

    def file(self, draft: IssueDraft) -> TrackedIssue:
        now = _utc_now()
        number = max((int(path.name[:4]) for path in self._paths()), default=0) + 1
        head = Head(number=number, title=draft.title, state="open", labels=draft.labels, created=now, updated=now)
        path = self._folder / f"{number:04}-{_slug(draft.title)}.md"
        return self._write_issue(_Filed(path=path, head=head, body=draft.body, comments=""))

    def update(
        self, issue: TrackedIssue, draft: IssueDraft, note: Note | None, *, reopen: bool = False
    ) -> TrackedIssue:
        change = {"state": "open", "closed": None} if reopen else {}
        return self._store_changed(issue, draft, note, change)

    def close(self, issue: TrackedIssue, draft: IssueDraft, note: Note | None) -> TrackedIssue:
        return self._store_changed(issue, draft, note, {"state": "closed", "closed": _utc_now()})

    def _store_changed(
        self, issue: TrackedIssue, draft: IssueDraft, note: Note | None, change: Mapping[str, object]
    ) -> TrackedIssue:
        filed = next(one for one in self._all_issues() if one.head.number == issue.number)
        now = _utc_now()
        head = filed.head.model_copy(update={"title": draft.title, "updated": now, **change})
        comments = filed.comments
        if note is not None and note.mark not in comments:
            comments = f"{comments.rstrip()}\n\n---\n\n**{now:%Y-%m-%d %H:%M} UTC**\n\n{note.comment}\n"
        return self._write_issue(filed.model_copy(update={"head": head, "body": draft.body, "comments": comments}))

    def _write_issue(self, filed: _Filed) -> TrackedIssue:
        head = yaml.safe_dump(filed.head.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=1000)
        text = f"---\n{head}---\n\n{filed.body.rstrip()}\n{filed.comments}"
        write_atomically(filed.path, text.encode("utf-8", "backslashreplace"))
        return _tracked(filed, self._shown)

    def _all_issues(self) -> list[_Filed]:
        return [filed for path in self._paths() if (filed := _parsed_issue(path)) is not None]

    def _paths(self) -> list[Path]:
        return sorted(path for path in self._folder.glob("*.md") if re.match(r"\d{4,}-", path.name))


def _parsed_issue(path: Path) -> _Filed | None:
    """The parsed file; None: no issue of the harness. Raises InvalidDocument for a malformed head."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidDocument(path, f"cannot be read: {error}") from None
    ours = _END.search(text)
    if ours is None:
        return None
    found = _FILE.match(text)
    if found is None:
        raise InvalidDocument(path, "has no head between two lines of ---", remedy="put it back, or remove the file")
    end = ours.end() - found.start("text")
    return _Filed(path=path, head=_head(path, found["head"]), body=found["text"][:end], comments=found["text"][end:])


def _head(path: Path, text: str) -> Head:
    said, _ = yaml_values(path, text)
    return shaped(path, said, Head, {})


def _tracked(filed: _Filed, project: Path) -> TrackedIssue:
    head = filed.head
    return TrackedIssue(
        number=head.number,
        reference=filed.path.name,
        url=str(filed.path.relative_to(project)),
        title=head.title,
        body=filed.body,
        is_open=head.state == "open",
        closed=head.closed or (None if head.state == "open" else head.updated),
        labels=head.labels,
        declined=head.state == "declined",
    )


def _lock(handle: int, folder: Path) -> None:
    until = time.monotonic() + _WAIT_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > until:
                raise TrackerUnavailable(
                    f"{folder} is locked by another harness for more than {_WAIT_S:.0f} s",
                    remedy="wait until it has ended; the drafts are filed next time",
                ) from None
            time.sleep(0.05)
        else:
            return


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")[:80] or "drift"


def _utc_now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


# Selects the tracker: by name, or the one whose requirements are met.

TOKEN = "GITHUB_TOKEN"


def tracker_named(name: str | None, options: TrackerOptions, environment: Mapping[str, str]) -> IssueTracker:
    """Opens the tracker `name`; None: `github` if a token and a repository are set, else `folder`.

    Other names are entry points in the group `harness.tracker`, or `module:Name`: a class, or a function, that takes
    TrackerOptions. Raises UsageError if something is missing.
    """
    chosen = name or ("github" if environment.get(TOKEN) and options.repo else "folder")
    match chosen:
        case "folder":
            return FolderTracker(options)
        case "github":
            return _github(options, environment.get(TOKEN, ""))
        case _:
            found = find_object("tracker", chosen, {"folder": FolderTracker, "github": _github})
            if not callable(found):
                raise UsageError(f"tracker {chosen!r} is not a class")
            return cast(Callable[[TrackerOptions], IssueTracker], found)(options)


def github_tracker(options: TrackerOptions, environment: Mapping[str, str]) -> "GithubTracker":
    """The GitHub tracker, for operations that only it supports."""
    return _github(options, environment.get(TOKEN, ""))


def _github(options: TrackerOptions, token: str) -> "GithubTracker":
    if not token:
        raise UsageError(f"the tracker `github` needs a token in {TOKEN}", remedy="or use --tracker folder")
    if options.repo is None:
        raise UsageError(
            "the tracker `github` needs a repository", remedy="GITHUB_REPOSITORY=owner/name, or --tracker folder"
        )
    try:
        from harness.drift.github import GithubTracker
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the tracker `github` needs a package that is not installed: {error.name}",
            remedy=f"{extra_remedy('github')}, or use --tracker folder",
        ) from None
    return GithubTracker(options, token)
