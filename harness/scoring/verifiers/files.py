"""Checks of the end state in the sandbox: changed files, a command's result, the tests of a task folder."""

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import ClassVar, Literal

from pydantic import Field

from harness.scoring.evidence import BY_AGENT, Evidence
from harness.scoring.json_values import TextRule
from harness.scoring.texts import composed
from harness.suite.checks import CommandCheck, task_tests_command
from harness.traces.trajectory import Content
from harness.traces.trial import CommandResult, EndState, FileChange, FileKind
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

    version: ClassVar[str] = "3"
    reads: ClassVar[frozenset[Content]] = frozenset()

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
        problem = self._unexpected(end) or (self._capture_problem(end) if end.complete else None)
        if problem is not None:
            return False, problem, seen
        if not end.complete:
            return None, f"the end state is not complete: {end.problem or 'it was too large'}", seen | BY_AGENT
        passed, reason = self._changes_result(evidence)
        return passed, reason, seen | BY_AGENT if passed is None and evidence.end_state_archive is not None else seen

    def _unexpected(self, end: EndState) -> str | None:
        folders: set[str] = set()
        rest: list[FileChange] = []
        for change in end.changes:
            if self._is_expected(change) or matches_any(change.path, self.allow):
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
        """Of what matches no pattern: a new folder above, or among, what does."""
        if change.kind != "directory" or change.change != "added":
            return False
        return change.path in folders or matches_any(change.path, self.added)

    def _capture_problem(self, end: EndState) -> str | None:
        for kind in _CHANGES:
            changes = [change for change in end.changes if change.change == kind]
            for pattern in self._patterns(kind):
                if not any(_is_meant(change, pattern) for change in changes):
                    return self._missing_words(kind, pattern, changes)
        links = {composed(change.path): change.link for change in end.changes if change.kind == "link"}
        for path, target in self.links.items():
            if links.get(composed(_absolute(path))) != target:
                return f"{path!r} is not a link to {target!r}"
        return None

    def _missing_words(self, kind: Change, pattern: str, changes: Sequence[FileChange]) -> str:
        other = next((change for change in changes if matches_any(change.path, (pattern.rstrip("/"),))), None)
        if other is None:
            return f"nothing that meets {pattern!r} was {kind}"
        wanted = _KINDS["directory" if pattern.endswith("/") else "file"]
        return f"{other.path!r} was {kind} as {_KINDS[other.kind]}, where {pattern!r} means {wanted}"

    def _changes_result(self, evidence: Evidence) -> tuple[bool | None, str]:
        from harness.sandbox.endstate import ChangedFileTooLarge, read_changed_file

        archive = evidence.end_state_archive
        if self.content and archive is None:
            return None, "the content of the changed files was not kept"
        for path, rule in self.content.items():
            try:
                written = written_path(evidence, path)
                content = None if archive is None else read_changed_file(archive, written, _FILE_BYTES_MAX)
            except ChangedFileTooLarge as too_large:
                return None, str(too_large)
            if content is None:
                return False, f"{path!r} was not written"
            problem = rule.problem(content.decode(errors="replace"))
            if problem is not None:
                return False, f"{path!r} {problem}"
        return True, "the expected files changed, and nothing else"

    def _is_expected(self, change: FileChange) -> bool:
        if any(_is_meant(change, pattern) for pattern in self._patterns(change.change)):
            return True
        if change.change == "deleted":
            return False
        named: Mapping[FileKind, Collection[str]] = {"file": self.content, "link": self.links}
        return composed(change.path) in {composed(_absolute(path)) for path in named.get(change.kind, ())}

    def _patterns(self, kind: Change) -> tuple[str, ...]:
        match kind:
            case "added":
                return self.added
            case "modified":
                return self.modified
            case "deleted":
                return self.deleted


def written_path(evidence: Evidence, path: str) -> str:
    """The absolute path of a changed file in the spelling (NFC or another) that the agent gave it."""
    meant = composed(_absolute(path))
    changes = () if evidence.trial.end_state is None else evidence.trial.end_state.changes
    return next((change.path for change in changes if composed(change.path) == meant), _absolute(path))


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/work/{path}"


def _is_meant(change: FileChange, pattern: str) -> bool:
    """Whether the change matches the pattern and its kind; a deleted entry may have been of any kind."""
    if change.change == "deleted":
        return matches_any(change.path, (pattern.rstrip("/"),))
    kind = "directory" if pattern.endswith("/") else "file"
    return change.kind == kind and matches_any(change.path, (pattern.rstrip("/"),))


def matches_any(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether the absolute path matches one of the patterns, which begin at `/work/` if they begin with no `/`."""
    return any(_path_matches(composed(path), composed(_absolute(pattern))) for pattern in patterns)


def _path_matches(path: str, pattern: str) -> bool:
    """Matches each part of the pattern from every position that the previous part can reach.

    It uses no regular expression: one with several stars can backtrack for hours on a long path, and the agent chooses
    the paths.
    """
    parts = _PART.findall(pattern)
    if not parts[-1].startswith(("*", "?")) and not path.endswith(parts[-1]):  # the fast path for most entries
        return False
    reached = {0}
    for part in parts:
        reached = _reachable_positions(part, path, reached)
        if not reached:
            return False
    return len(path) in reached


def _reachable_positions(part: str, path: str, starts: set[int]) -> set[int]:
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


# The runner runs it; here only its result is read, so that a stored trial can be scored again. A check whose command
# has changed since is undecided.


class Command(Frozen):
    """Exit status and output of `run`.

    The command executes no file of the agent unless the check allows it: HOME and the working directory are empty
    folders of its own, Python looks for modules neither beside the script nor in a user's packages, PATH contains only
    the image's programs, and the agent's files are read-only and not executable. `cwd: "{work}"` starts it in the
    agent's working directory, `executes: true` lets it execute and change the agent's files.
    """

    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset()

    run: tuple[str, ...] = Field(min_length=1)
    """Program and arguments, run after the agent has ended, on a copy of what it left. No shell."""
    cwd: str | None = None
    """Where it starts: `{work}` for the agent's working directory; None: an empty folder."""
    executes: bool = False
    """Whether it may execute and change what the agent left."""
    timeout_s: float = Field(default=30.0, gt=0)
    """Seconds until it is ended, which fails the check."""
    exit_code: int | None = 0
    """None: any exit status will do."""
    stdout: TextRule = TextRule()
    """What its standard output must be."""
    stderr: TextRule = TextRule()
    """What its standard error must be."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        check = CommandCheck(name="", run=self.run, cwd=self.cwd, executes=self.executes, timeout_s=self.timeout_s)
        result = _result_of(evidence, check.digest, "the command")
        if isinstance(result, tuple):
            return result
        ended = result.exit
        seen: JsonObject = {"code": ended.code, "signal": ended.signal, "stdout": ended.stdout[:2000]}
        if ended.timed_out:
            return False, f"the command did not end within {self.timeout_s:g} s", seen
        problem = self._problem_with(result)
        return problem is None, problem or "the command gave what it should", seen

    def _problem_with(self, result: CommandResult) -> str | None:
        ended = result.exit
        if self.exit_code is not None and ended.code != self.exit_code:
            how = f"signal {ended.signal}" if ended.code is None else f"status {ended.code}"
            return f"the command ended with {how}, not status {self.exit_code}"
        wrong = self.stdout.problem(ended.stdout)
        if wrong is not None:
            return f"its standard output {wrong}"
        wrong = self.stderr.problem(ended.stderr)
        return None if wrong is None else f"its standard error {wrong}"


def _result_of(evidence: Evidence, digest: str, what: str) -> CommandResult | tuple[None, str, JsonObject]:
    """The stored result of a command; else the verdict that there is none, or none of the whole end state."""
    result = next((result for result in evidence.trial.commands.values() if result.digest == digest), None)
    if result is None:
        why = "changed since it was run" if evidence.trial.commands else "was not run"
        return None, f"{what} {why}: run again", {}
    end = evidence.trial.end_state
    if end is not None and not end.complete:
        return None, f"{what} saw a part of the end state only: {end.problem or 'it was too large'}", BY_AGENT
    return result


_SHOWN = 2000


class TaskTests(Frozen):
    """The reward that the test script of a task folder wrote is at least 1.

    The check is set if a `task.toml` is read, not by hand. The tests run after the agent has ended, in a sandbox
    restored to what it left; their exit status is ignored. `/logs/verifier/reward.json` comes before `reward.txt`: its
    `reward` decides, else each of its values must be at least 1. No reward, or one that is not a finite number, fails.
    """

    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset()

    digest: str
    """Sha-256 of the task folder: a result of other tests is undecided."""
    timeout_s: float = Field(default=600.0, gt=0)
    """Seconds until the tests are ended, which fails the check."""
    env: dict[str, str] = {}
    """Environment variables of the tests."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        command = task_tests_command({"digest": self.digest, "timeout_s": self.timeout_s, "env": dict(self.env)})
        result = _result_of(evidence, command.digest, "the test script")
        if isinstance(result, tuple):
            return result
        seen: JsonObject = {
            "code": result.exit.code,
            "stdout": result.exit.stdout[-_SHOWN:],
            "stderr": result.exit.stderr[-_SHOWN:],
        }
        if result.exit.timed_out:
            return False, f"the tests did not end within {self.timeout_s:g} s", seen
        rewards = _rewards(result)
        if isinstance(rewards, str):
            return False, rewards, seen
        deciding = {"reward": rewards["reward"]} if "reward" in rewards else rewards
        passed = all(value >= 1 for value in deciding.values())
        said = ", ".join(f"{name} {value:g}" for name, value in deciding.items())
        return passed, f"the tests gave {said}", {**seen, "rewards": dict(rewards)}


def _rewards(result: CommandResult) -> dict[str, float] | str:
    """The rewards by name; a text that says why there are none."""
    name = next((name for name in ("reward.json", "reward.txt") if name in result.written), None)
    if name is None:
        return "the tests wrote no reward to /logs/verifier"
    text = result.written[name]
    if text is None:
        return f"{name} of the tests cannot be read"
    try:
        found = json.loads(text) if name.endswith(".json") else float(text)
    except (ValueError, RecursionError):
        return f"{name} of the tests is malformed: {text[:80]!r}"
    rewards = found if isinstance(found, dict) else {"reward": found}
    if not rewards:
        return f"{name} of the tests holds no reward"
    for key, value in rewards.items():
        if isinstance(value, bool):
            rewards[key] = float(value)
        elif not isinstance(value, int | float) or not _is_finite(value):
            return f"{name} of the tests: {key} is {str(value)[:80]!r}, and no finite number"
    return {str(key): float(value) for key, value in rewards.items()}


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
