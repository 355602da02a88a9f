"""Reads what a trial left: databases, pages in its browser, and results of the commands of checks."""

import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from harness.errors import SandboxError, SnapshotError, UsageError
from harness.gateway.session import TrialSession
from harness.sandbox.browser import Browser, BrowserSpec, PageQuery
from harness.sandbox.control import LauncherLost
from harness.sandbox.provider import Sandbox, SandboxProvider, SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.sandbox.sqlite import SqliteReader, left_parts, snapshot_parts
from harness.sandbox.tables import QueryFailed, Table, Unmeasurable, changes
from harness.suite.cases import Case, SqlProbe, StateProbe
from harness.suite.checks import CommandCheck, PageInspection, commands_of
from harness.suite.suites import Suite
from harness.traces.trial import CommandResult, PageSeen
from harness.values import JsonObject

if TYPE_CHECKING:
    from harness.sandbox.tasks import PreparedTask


# Runs the state probes on SQLite files that the agent left in its sandbox, in the same way in every tool mode.
#
# A probe returns `{"unmeasurable": reason}` if a database cannot be read within the limits because of the agent.

_Known = dict[tuple[str, str, tuple[str, ...]], Mapping[str, Table]]


@dataclass(frozen=True, kw_only=True)
class FileProbes:
    """Runs queries in sandboxes of the run's own provider; the content of a snapshot is read once for all trials."""

    provider: SandboxProvider
    _in_snapshot: _Known = field(default_factory=dict)

    def states(
        self, probes: Sequence[StateProbe], snapshot: Snapshot, archive: Path, trial_id: str
    ) -> dict[str, JsonValue]:
        """Maps each probe's name to the value that it read after a trial that started from `snapshot`.

        Raises SandboxError, and SnapshotError if a file of the snapshot is not a database.
        """
        asked = {probe.name: probe.sql for probe in probes if probe.sql is not None and probe.sql.path is not None}
        if not asked or not archive.exists():
            return {}
        reader = SqliteReader(provider=self.provider, image=snapshot.image, name=trial_id)
        return {name: self._state(sql, snapshot, archive, reader) for name, sql in asked.items()}

    def _state(self, sql: SqlProbe, snapshot: Snapshot, archive: Path, reader: SqliteReader) -> JsonObject:
        before = self._snapshot_tables(sql, snapshot, reader) if sql.query is None else {}
        try:
            left = left_parts(snapshot, archive, sql.file)
            if sql.query is None:
                after = reader.tables(left, sql.wanted, sql.timeout_s) if "" in left else {}
                return {"tables": changes(before, after, sql.ignore)}
            if "" not in left:
                return {"error": f"there is no database {sql.file}"}
            return {"rows": reader.rows(left, sql.query, sql.timeout_s)}
        except QueryFailed as refused:
            return {"error": str(refused)}
        except Unmeasurable as reason:
            return {"unmeasurable": str(reason)}

    def _snapshot_tables(self, sql: SqlProbe, snapshot: Snapshot, reader: SqliteReader) -> Mapping[str, Table]:
        key = (snapshot.digest, sql.file, sql.wanted)
        if key not in self._in_snapshot:
            parts = snapshot_parts(snapshot, sql.file)
            try:
                self._in_snapshot[key] = reader.tables(parts, sql.wanted, sql.timeout_s) if "" in parts else {}
            except (QueryFailed, Unmeasurable) as problem:
                raise SnapshotError(
                    f"snapshot {snapshot.name!r}: the database {sql.file} cannot be read: {problem}",
                    remedy="build the snapshot with no program using the database, or correct the probe's `sql.path`",
                ) from None
        return self._in_snapshot[key]


# A fresh page uses a separate profile, which shares nothing with the agent's profile.

PICTURES = "page-*.png"
"""Replaced in names of screenshots in a trial's folder."""

_WITHIN_S = 60.0
_NO_LETTER = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, kw_only=True)
class BrowserFactory:
    """The configuration of the browsers of a run."""

    provider: SandboxProvider
    image: str
    """Tag of the image with Chromium and its driver."""


@dataclass(kw_only=True)
class TrialBrowser:
    """The browsers of one trial; the caller closes them when the trial ends, in every case."""

    room: BrowserFactory
    session: TrialSession
    trial_id: str
    snapshot: Snapshot
    """What the trial starts from: it may have a start page and a profile."""
    clock: str | None
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _started: Browser | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)

    def agents(self) -> Browser:
        """The browser of the agent's tools, opened at the snapshot's start page. Raises SandboxError."""
        return self._browser(self.snapshot.browser_url)

    def look(self, looks: Sequence[PageInspection], folder: Path) -> dict[str, PageSeen]:
        """Returns the content of the pages that checks name, and writes their screenshots to `folder`.

        The agent's own page is read first, because a fresh page sends further requests to the site. Raises UsageError
        for a page without an address, and SandboxError.
        """
        seen: dict[str, PageSeen] = {}
        ordered = sorted(enumerate(looks), key=lambda item: item[1].browser != "agent")
        for number, look in ordered:
            picture = folder / f"page-{number + 1}-{_NO_LETTER.sub('-', look.name)[:60]}.png"
            seen[look.name] = self._stored_page(look, picture)
        return {look.name: seen[look.name] for look in looks}

    def close(self) -> None:
        """Discards the browser."""
        with self._lock:
            if self._started is not None and not self._closed:
                self._closed = True
                self._started.close()

    def _stored_page(self, look: PageInspection, picture: Path) -> PageSeen:
        fresh = look.browser == "fresh"
        url = look.url or (self.snapshot.browser_url if fresh else None)
        if fresh and url is None:
            raise UsageError(
                f"check {look.name!r}: there is no page to inspect",
                remedy="give it `url`, or declare `browser.base_url` in the state",
            )
        browser = self._browser(None) if fresh else self.agents()
        query = PageQuery(selectors=look.selectors, attributes=look.attributes, url=url, fresh=fresh)
        acted = browser.look(query, _WITHIN_S)
        page = json.loads(self.session.clean(json.dumps(acted.said).encode()))
        if acted.status != 200:
            return PageSeen(digest=look.digest, url=url, problem=str(page["message"]))
        picture.write_bytes(browser.picture())
        kept = {name: page.get(name) for name in ("url", "title", "status", "found")}
        return PageSeen.model_validate({"digest": look.digest, "screenshot": picture.name, **kept})

    def _browser(self, url: str | None) -> Browser:
        """The trial's browser; `url`: its first page if it has to be started."""
        with self._lock:
            if self._started is None:
                self._started = self._start(url)
            return self._started

    def _start(self, url: str | None) -> Browser:
        socket = self.session.pages_socket
        assert socket is not None  # a suite that needs a browser has one
        return Browser(
            self.room.provider,
            BrowserSpec(
                trial_id=f"{self.trial_id}.browser",
                image=self.room.image,
                gateway_socket=socket,
                url=url,
                profile=self.snapshot.browser_profile,
                clock=self.clock,
            ),
        )


_REWARD_MAX = 65_536
_PLACE = re.compile(r"\{(?:agent|work|task)\}")


@dataclass(frozen=True, kw_only=True)
class CheckCommands:
    """The commands of the checks of one trial, each in a sandbox of its own."""

    provider: SandboxProvider
    snapshot: Snapshot
    """The snapshot of the agent's sandbox."""
    task: "PreparedTask | None"
    spec: SandboxSpec
    """The specification of the agent's sandbox."""
    archive: Path
    """The end state of the agent's sandbox."""

    def run(self, suite: Suite, case: Case) -> dict[str, CommandResult]:
        """Maps each check that needs a command to its result; without the tests of cases that are not task folders."""
        checks = [check for check in commands_of(suite, case) if check.tests_of is None or self.task is not None]
        return {check.name: self._command_result(check) for check in checks}

    def _command_result(self, check: CommandCheck) -> CommandResult:
        task = None if check.tests_of is None else self.task
        begins_with = self.snapshot if task is None else task.tests
        sandbox = self.provider.start(self._restored(check, task), begins_with)
        try:
            # Python finds modules of the tests; the agent's files are not searched.
            env = {} if task is None else {"PYTHONPATH": "/tests", **check.env}
            exit_ = sandbox.exec(filled(check.run, sandbox, self.spec.cwd), env, check.timeout_s)
            written = {} if task is None else _rewards(sandbox)
            return CommandResult(digest=check.digest, exit=exit_, written=written)
        finally:
            sandbox.close()

    def _restored(self, check: CommandCheck, task: "PreparedTask | None") -> SandboxSpec:
        cwd = None if check.cwd is None else check.cwd.replace("{work}", self.spec.cwd or "/work")
        return SandboxSpec(
            trial_id=f"{self.spec.trial_id}.{check.name}",
            limits=self.spec.limits,
            clock=self.spec.clock,
            end_state_from=self.archive,
            inspects=not check.executes,
            own_home=True,
            cwd=cwd if task is None else task.cwd,
        )


def filled(command: Sequence[str], sandbox: Sandbox, cwd: str | None, task: str | None = None) -> list[str]:
    """The command with the folders of the sandbox and, unless it is None, the task, whose own text stays as it is.

    `cwd` None: programs start in the usual working directory.
    """
    values = {"{agent}": sandbox.places.agent, "{work}": cwd or sandbox.places.work}
    if task is not None:
        values["{task}"] = task
    return [_PLACE.sub(lambda found: values.get(found[0], found[0]), part) for part in command]


def _rewards(sandbox: Sandbox) -> Mapping[str, str | None]:
    """The files with the reward that exist, by their names; None for a file that is not text, no regular file, or too
    long.
    """
    from harness.sandbox.tasks import REWARD_FILES

    found: dict[str, str | None] = {}
    for path in REWARD_FILES:
        name = path.rpartition("/")[2]
        try:
            found[name] = sandbox.read_file(path, _REWARD_MAX).decode("utf-8")
        except FileNotFoundError:
            continue
        except LauncherLost:
            raise
        except (SandboxError, OSError, UnicodeDecodeError):
            found[name] = None
    return found
