"""The expected files changed, and nothing else did."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import ClassVar, Literal

from harness.score.comparison.textrule import TextRule
from harness.score.evidence import Evidence
from harness.score.unmeasured import BY_AGENT
from harness.trace import EndState, FileChange, FileKind
from harness.values import Frozen, JsonObject

_PART = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
Change = Literal["added", "modified", "deleted"]
_CHANGES: tuple[Change, ...] = ("added", "modified", "deleted")
_KINDS: dict[FileKind, str] = {
    "file": "a regular file",
    "directory": "a folder",
    "link": "a link",
    "other": "a device, pipe or socket",
}


_FILE_BYTES_MAX = 16 * 1024 * 1024
"""The size limit of a file whose text is compared with a rule: a text takes several times its bytes in memory."""


class Files(Frozen):
    """Patterns of paths: `*` and `?` stay inside one folder, `**` crosses folders, `/work/` is the default start.

    Each pattern must match at least one change of its kind, and each change must match a pattern or be allowed. `added`
    and `modified` mean regular files, with a `/` at the end folders; only `links` matches links, and no pattern matches
    devices, pipes and sockets. The parent folders of an expected file may be new, and so may folders that match its
    pattern. An end state above the size limit of the harness fails: it cannot show that nothing else changed.
    """

    version: ClassVar[str] = "2"

    added: tuple[str, ...] = ()
    """Patterns of files that must be new."""
    modified: tuple[str, ...] = ()
    """Patterns of files whose content must have changed."""
    deleted: tuple[str, ...] = ()
    """Patterns of files that must be deleted."""
    allow: tuple[str, ...] = ()
    """May change in any way, and need not."""
    links: dict[str, str] = {}
    """Path (no pattern) of a link that was added or changed -> where it leads, as it is written in it."""
    content: dict[str, TextRule] = {}
    """Path (no pattern) of a changed file -> what its text must be."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        end = evidence.trial.end_state
        if end is None:
            return None, "no end state was kept", {}
        seen: JsonObject = {"changes": [f"{change.change} {change.path}" for change in end.changes[:100]]}
        problem = self._unexpected(end) or (self._missing(end) if end.complete else None)
        if problem is not None:
            return False, problem, seen
        if not end.complete:
            return None, f"the end state is not complete: {end.problem or 'it was too large'}", seen | BY_AGENT
        passed, reason = self._content(evidence)
        return passed, reason, seen | BY_AGENT if passed is None and evidence.end_state_archive is not None else seen

    def _unexpected(self, end: EndState) -> str | None:
        folders: set[str] = set()
        rest: list[FileChange] = []
        for change in end.changes:
            if self._expects(change) or matches_any(change.path, self.allow):
                folders.update(str(folder) for folder in PurePosixPath(change.path).parents)
            else:
                rest.append(change)
        others = [change for change in rest if not self._may_be(change, folders)]
        if not others:
            return None
        more = f" (and {len(others) - 1} more)" if len(others) > 1 else ""
        first = others[0]
        kind = "" if first.kind == "file" or first.change == "deleted" else f" as {_KINDS[first.kind]}"
        return f"{first.path!r} was {first.change}{kind}, which is not expected{more}"

    def _may_be(self, change: FileChange, folders: set[str]) -> bool:
        """Of what meets no pattern: a new folder above, or among, what does."""
        if change.kind != "directory" or change.change != "added":
            return False
        return change.path in folders or matches_any(change.path, self.added)

    def _missing(self, end: EndState) -> str | None:
        for kind in _CHANGES:
            changes = [change for change in end.changes if change.change == kind]
            for pattern in self._patterns(kind):
                if not any(_is_meant(change, pattern) for change in changes):
                    return self._missing_words(kind, pattern, changes)
        links = {change.path: change.link for change in end.changes if change.kind == "link"}
        for path, target in self.links.items():
            if links.get(_absolute(path)) != target:
                return f"{path!r} is not a link to {target!r}"
        return None

    def _missing_words(self, kind: Change, pattern: str, changes: Sequence[FileChange]) -> str:
        other = next((change for change in changes if matches_any(change.path, (pattern.rstrip("/"),))), None)
        if other is None:
            return f"nothing that meets {pattern!r} was {kind}"
        wanted = _KINDS["directory" if pattern.endswith("/") else "file"]
        return f"{other.path!r} was {kind} as {_KINDS[other.kind]}, where {pattern!r} means {wanted}"

    def _content(self, evidence: Evidence) -> tuple[bool | None, str]:
        from harness.sandbox import ChangedFileTooLarge, read_changed_file

        archive = evidence.end_state_archive
        if self.content and archive is None:
            return None, "the content of the changed files was not kept"
        for path, rule in self.content.items():
            try:
                content = None if archive is None else read_changed_file(archive, _absolute(path), _FILE_BYTES_MAX)
            except ChangedFileTooLarge as too_large:
                return None, str(too_large)
            if content is None:
                return False, f"{path!r} was not written"
            problem = rule.problem(content.decode(errors="replace"))
            if problem is not None:
                return False, f"{path!r} {problem}"
        return True, "the expected files changed, and nothing else"

    def _expects(self, change: FileChange) -> bool:
        if any(_is_meant(change, pattern) for pattern in self._patterns(change.change)):
            return True
        if change.change == "deleted":
            return False
        named: Mapping[FileKind, Collection[str]] = {"file": self.content, "link": self.links}
        return change.path in {_absolute(path) for path in named.get(change.kind, ())}

    def _patterns(self, kind: Change) -> tuple[str, ...]:
        match kind:
            case "added":
                return self.added
            case "modified":
                return self.modified
            case "deleted":
                return self.deleted


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/work/{path}"


def _is_meant(change: FileChange, pattern: str) -> bool:
    """Whether the change matches the pattern and its kind; a deleted entry may have been of any kind."""
    if change.change == "deleted":
        return matches_any(change.path, (pattern.rstrip("/"),))
    kind = "directory" if pattern.endswith("/") else "file"
    return change.kind == kind and matches_any(change.path, (pattern.rstrip("/"),))


def matches_any(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether the absolute path matches one of the patterns, which begin at `/work/` where they begin with no `/`."""
    return any(_fits(path, _absolute(pattern)) for pattern in patterns)


def _fits(path: str, pattern: str) -> bool:
    """Matches each part of the pattern from every position that the previous part can reach.

    It uses no regular expression: one with several stars can backtrack for hours on a long path, and the agent chooses
    the paths.
    """
    parts = _PART.findall(pattern)
    if not parts[-1].startswith(("*", "?")) and not path.endswith(parts[-1]):  # the fast path for most entries
        return False
    reached = {0}
    for part in parts:
        reached = _reached(part, path, reached)
        if not reached:
            return False
    return len(path) in reached


def _reached(part: str, path: str, starts: set[int]) -> set[int]:
    match part:
        case "**":
            return set(range(min(starts), len(path) + 1))
        case "**/":
            return starts | {end + 1 for end in range(min(starts), len(path)) if path[end] == "/"}
        case "*":
            return _within_folders(path, starts)
        case "?":
            return {start + 1 for start in starts if start < len(path) and path[start] != "/"}
        case _:
            return {start + len(part) for start in starts if path.startswith(part, start)}


def _within_folders(path: str, starts: set[int]) -> set[int]:
    reached: set[int] = set()
    for start in sorted(starts):
        if start not in reached:  # else it is as far as an earlier one of the same folder
            end = path.find("/", start)
            reached.update(range(start, (len(path) if end < 0 else end) + 1))
    return reached
