"""Which cases a change of files affects (`harness run --watch`)."""


import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from harness.suite.cases import Case
from harness.suite.digests import suite_digest
from harness.suite.loading import load_suite, tool_groups
from harness.suite.suites import Suite
from harness.values import digest_of
from pathlib import Path
from typing import Final


POLL_S: Final = 0.5
_HASHED_BYTES: Final = 1 << 20
"""Larger files are told apart by time and size alone."""

_Stamp = tuple[int, int, int]

Contents = Mapping[Path, str]
"""File -> a fingerprint of its content."""


class FileWatch:
    """The files in some folders, without hidden ones and compiled code. A file that is only touched has not changed."""

    def __init__(self, roots: Sequence[Path], ignored: Callable[[Path], bool] = lambda _: False) -> None:
        """`roots` are folders or files; those that do not exist are watched for."""
        self.roots = tuple(dict.fromkeys(roots))
        self._ignored = ignored
        self._known: dict[Path, tuple[_Stamp, str]] = {}

    def contents(self) -> dict[Path, str]:
        """The current state of the files; unreadable and removed ones are skipped."""
        known: dict[Path, tuple[_Stamp, str]] = {}
        for path in self._paths():
            try:
                found = path.stat()
                stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
                before = self._known.get(path)
                content = before[1] if before is not None and before[0] == stamp else _content_digest(path, stamp)
            except OSError:
                continue
            known[path] = (stamp, content)
        self._known = known
        return {path: content for path, (_, content) in known.items()}

    def changed_from(self, before: Contents, pause: Callable[[float], None] = time.sleep) -> dict[Path, str]:
        """Waits until the files hold something else than `before` and have come to rest, and gives what they hold then.

        Editors and `git checkout` write several files one after another: two looks in a row have to agree.
        """
        while True:
            pause(POLL_S)
            now = self.contents()
            if now == before:
                continue
            while True:
                pause(POLL_S)
                later = self.contents()
                if later == now:
                    return now
                now = later
                if now == before:
                    break

    def _paths(self) -> Iterator[Path]:
        for root in self.roots:
            if root.is_file():
                yield root
            for folder, folders, names in os.walk(root):
                folders[:] = sorted(name for name in folders if not _is_hidden(name))
                for name in sorted(names):
                    path = Path(folder) / name
                    if not _is_hidden(name) and path.is_file() and not self._ignored(path):
                        yield path


def different(before: Contents, after: Contents) -> list[Path]:
    """The files that were added, removed or changed, by name."""
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name == "__pycache__" or name.endswith((".pyc", "~"))


def _content_digest(path: Path, stamp: _Stamp) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if stamp[1] <= _HASHED_BYTES else repr(stamp)


# A case is affected if its definition, the shared part of the suite, the agent, or its cassette changed. A changed file
# of unknown purpose affects every case.

_OF_NO_TRIAL: Final = frozenset({"rubrics", "labels", "judge", "optimisations.jsonl"})
"""Files of a suite's folder that only judges and the optimiser use: no trial depends on them."""
_NOT_SHARED: Final = {"cases", "packs", "agents", "default_agent", "folder", "digest"}
_OF_NO_RESULT: Final = {"gates", "drift", "optimise", "description"}


@dataclass(frozen=True, kw_only=True)
class WatchedSuite:
    """A suite that could be loaded, and the content of every file that its runs depend on."""

    suite: Suite
    agent: str
    files: Contents
    documents: frozenset[Path]
    """The files that the suite was read from; their changes are detected in the suite itself."""
    cases: Mapping[str, str]
    """Case -> the digest of its definition, with what all cases share and the code of its checks, as they were then."""


def watch_of(project: Path, suite: Suite, *, replayed: bool) -> FileWatch:
    """The files that runs of the suite depend on; `replayed`: its cassettes too, since such runs do not write them."""
    folder = suite.folder.resolve()
    roots = [folder, *(_agent_folder(suite, name) for name in suite.agents)]
    if suite.environment is not None:
        roots.append(project / "images" / suite.environment)
        states = {suite.snapshot or "", *(case.snapshot for case in suite.cases if case.snapshot is not None)}
        roots += [project / "snapshots" / suite.environment / name / "snapshot.json" for name in sorted(states)]
    named = {name for agent in suite.agents.values() for name in agent.prompt_versions.values()}
    roots += [project / "prompts" / name for name in sorted(named)]
    if any(case.task_folder is not None for case in suite.cases):
        roots.append(project / "images")  # the map of images, and placeholders of registry images
    if replayed:
        roots.append(_cassettes(project, suite))

    def ignored(path: Path) -> bool:
        return path.is_relative_to(folder) and path.relative_to(folder).parts[0] in _OF_NO_TRIAL

    outside = [root for root in roots[1:] if root is not None and not root.is_relative_to(folder)]
    return FileWatch([folder, *outside], ignored)


def watched_suite(project: Path, name: str, agent: str | None, files: Contents) -> WatchedSuite:
    """Loads the current suite; raises as `load_suite` does."""
    suite = load_suite(project, name)
    return WatchedSuite(
        suite=suite,
        agent=agent or suite.default_agent,
        files=files,
        documents=frozenset(_documents(project, name, suite)),
        cases=_case_digests(suite),
    )


def _case_digests(suite: Suite) -> dict[str, str]:
    shared = digest_of(suite.model_dump(mode="json", by_alias=True, exclude=_NOT_SHARED | _OF_NO_RESULT))
    return {case.id: f"{shared} {suite_digest(_suite_with_case(suite, case))}" for case in suite.cases}


def _suite_with_case(suite: Suite, case: Case) -> Suite:
    """The suite with this case only."""
    packs = {name: pack for name, pack in suite.packs.items() if name in case.fixtures}
    return suite.model_copy(update={"cases": (case,), "packs": packs})


def affected_cases(project: Path, before: WatchedSuite, after: WatchedSuite) -> tuple[str, ...]:
    """The cases that the change affects, in the suite's order."""
    every = tuple(case.id for case in after.suite.cases)
    if before.agent != after.agent or before.suite.agents.get(before.agent) != after.suite.agents.get(after.agent):
        return every
    named: set[str] = set()
    for path in different(before.files, after.files):
        found = _affected_by(project, path, before, after)
        if found is None:
            return every
        named.add(found)
    return tuple(name for name, digest in after.cases.items() if name in named or before.cases.get(name) != digest)


def _affected_by(project: Path, path: Path, before: WatchedSuite, after: WatchedSuite) -> str | None:
    """The case that a changed file affects, "" if the suite itself shows what it affects, or no trial depends on it;
    None: every case.
    """
    if path.is_relative_to(_cassettes(project, after.suite)):
        return path.stem
    if path in before.documents | after.documents:
        return ""
    own = _agent_folder(after.suite, after.agent)
    if own is not None and path.is_relative_to(own):
        return None
    others = (_agent_folder(after.suite, name) for name in after.suite.agents)
    return "" if any(one is not None and path.is_relative_to(one) for one in others) else None


def _documents(project: Path, name: str, suite: Suite) -> Iterator[Path]:
    folder, _, raw = tool_groups(project, name)
    patterns: Sequence[str] = (raw.cases,) if isinstance(raw.cases, str) else raw.cases
    own = ("suite.yaml", "user.yaml", "fixtures/*.yaml", "tools/*.json")
    for pattern in (*own, *patterns, *raw.descriptions.values()):
        yield from folder.resolve().glob(pattern)
    for case in suite.cases:
        if case.task_folder is not None:  # the digest of the case is over all of its files
            yield from (folder / case.task_folder.folder).resolve().rglob("*")
    if isinstance(raw.tools, str):
        yield folder.resolve() / raw.tools
    checks = [*suite.checks, *(check for case in suite.cases for check in case.checks)]
    code = {*suite.metrics, *suite.run_metrics, *suite.detectors, *(check.verifier for check in checks)}
    for one in code:
        file, _, _ = one.rpartition(":")
        if file.endswith(".py"):
            yield (suite.folder / file).resolve()


def _agent_folder(suite: Suite, name: str) -> Path | None:
    files = suite.agents[name].files if name in suite.agents else None
    return None if files is None else (suite.folder / files).resolve()


def _cassettes(project: Path, suite: Suite) -> Path:
    return (project / "cassettes" / suite.name).resolve()
