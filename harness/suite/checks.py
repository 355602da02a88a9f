"""What the checks of a case need from the end of its trial: commands to run, pages to inspect, and where each
check was written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue

from harness.errors import InvalidDocument, UsageError
from harness.suite.cases import TESTS_CHECK, Case, CheckSpec
from harness.suite.documents import Document, open_document
from harness.suite.scenarios import cases_in
from harness.suite.suites import Suite
from harness.values import Frozen, JsonObject, digest_of

COMMAND_VERIFIER = "command"
TASK_TESTS = "task_tests"


class CommandCheck(Frozen):
    """One command to run after the agent has ended."""

    name: str
    run: tuple[str, ...] = Field(min_length=1)
    """Program and arguments; `{work}` is the agent's working directory."""
    cwd: str | None = None
    """Where it starts, such as `{work}`; None: in an empty folder of its own."""
    executes: bool = False
    """Whether what the agent left keeps its modes and its owner: it can be executed, and changed by the command."""
    timeout_s: float = Field(default=30.0, gt=0)
    tests_of: str | None = None
    """Digest of the task folder whose tests it runs, in the sandbox that has them; None: no such command."""
    env: dict[str, str] = {}
    """Environment variables of the tests of a task folder."""

    @property
    def digest(self) -> str:
        """Of what is run and where: a result is only good for the command that gave it."""
        run = {"run": self.run, "timeout_s": self.timeout_s, "cwd": self.cwd, "executes": self.executes}
        return digest_of(run if self.tests_of is None else {**run, "tests_of": self.tests_of, "env": self.env})


def commands_of(suite: Suite, case: Case) -> tuple[CommandCheck, ...]:
    """The commands that the checks of `case` need; raises UsageError for one that names no program."""
    checks = [*suite.checks, *case.checks]
    commands = [_command(case, check) for check in checks if check.verifier == COMMAND_VERIFIER]
    tests = [task_tests_command(check.parameters) for check in checks if check.verifier == TASK_TESTS]
    return (*commands, *tests)


def task_tests_command(parameters: JsonObject) -> CommandCheck:
    """The command of a `task_tests` check; its parameters are those that a task folder was read into."""
    return CommandCheck.model_validate(
        {
            "name": TESTS_CHECK,
            "run": ("/bin/sh", "-c", "/tests/test.sh"),
            "executes": True,
            "timeout_s": parameters.get("timeout_s", 600.0),
            "tests_of": parameters.get("digest"),
            "env": parameters.get("env", {}),
        }
    )


def _command(case: Case, check: CheckSpec) -> CommandCheck:
    run = check.parameters.get("run")
    if not isinstance(run, list) or not run or not all(isinstance(part, str) for part in run):
        raise UsageError(
            f"case {case.id!r}, check {check.name!r}: `with.run` must be a list of words",
            remedy='for example  run: [python3, -c, "..."]',
        )
    given = {name: check.parameters[name] for name in ("cwd", "executes", "timeout_s") if name in check.parameters}
    return CommandCheck.model_validate({"name": check.name, "run": run, **given})


PAGE_VERIFIER = "dom"
Whose = Literal["fresh", "agent"]
"""`fresh`: a new browser with the snapshot's profile, for this look only. `agent`: the browser as the agent's tools
have left it.
"""


class PageInspection(Frozen):
    """One page to inspect after the agent has ended, and the data to read from it."""

    name: str
    browser: Whose = "fresh"
    url: str | None = None
    """None: the snapshot's known address; of the agent's browser, the page that it was left on."""
    selectors: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The digest of the look: a result is only valid for the look that produced it."""
        return digest_of(self.model_dump(mode="json", exclude={"name"}))


def looks_of(suite: Suite, case: Case) -> tuple[PageInspection, ...]:
    """The pages that the checks of `case` need; raises UsageError for one that cannot be read."""
    checks = [*suite.checks, *case.checks]
    return tuple(_inspection_of(case, check) for check in checks if check.verifier == PAGE_VERIFIER)


def needs_browser(suite: Suite) -> bool:
    """Whether any trial of the suite may start a browser."""
    return any(server.browser for server in suite.servers.values()) or any(
        check.verifier == PAGE_VERIFIER
        for check in (*suite.checks, *(check for case in suite.cases for check in case.checks))
    )


def page_look(name: str, parameters: JsonObject) -> PageInspection:
    """The look that a `dom` check with these parameters needs. Raises ValueError with a description of the problem."""
    expect = parameters.get("expect") or []
    if not isinstance(expect, list):
        raise ValueError("`with.expect` must be a list")
    selectors = [str(item["selector"]) for item in expect if isinstance(item, dict) and "selector" in item]
    return PageInspection.model_validate(
        {
            "name": name,
            "browser": parameters.get("browser", "fresh"),
            "url": parameters.get("url"),
            "selectors": tuple(dict.fromkeys(selectors)),
            "attributes": tuple(sorted(_attributes(expect))),
        }
    )


def _inspection_of(case: Case, check: CheckSpec) -> PageInspection:
    try:
        return page_look(check.name, check.parameters)
    except ValueError as error:
        raise UsageError(f"case {case.id!r}, check {check.name!r}: {error}") from None


def _attributes(expect: Sequence[JsonValue]) -> set[str]:
    named: set[str] = set()
    for item in expect:
        attributes = item.get("attributes") if isinstance(item, dict) else None
        named |= set(attributes) if isinstance(attributes, dict) else set()
    return named


_Place = tuple[Path, int | None]


@dataclass(frozen=True)
class DeclaredCheck:
    """One check of a case, its own or one that it shares with the whole suite."""

    suite: Suite
    case: Case
    check: CheckSpec

    def error(self, problem: str, *field: int | str, remedy: str | None = None) -> UsageError:
        """The error to raise for a field of the check, with file and line if the suite's files are there."""
        named = f"suite {self.suite.name!r}, case {self.case.id!r}, check {self.check.name!r}"
        said = f"{named}: field {'.'.join(map(str, field))!r}: {problem}"
        place = self._place(field)
        if place is None:
            return UsageError(said, remedy=remedy)
        path, line = place
        return InvalidDocument(path, said, line=line, remedy=remedy)

    def _place(self, field: tuple[int | str, ...]) -> _Place | None:
        try:
            suite = open_document(self.suite.folder / "suite.yaml")
            own = _index_of(suite.data.get("checks"), "name", self.check.name)
            if own is not None:
                return suite.path, suite.line("checks", own, *field)
            return self._place_in_cases(suite, field)
        except (InvalidDocument, AttributeError, TypeError):  # the files are missing, or were changed since
            return None

    def _place_in_cases(self, suite: Document, field: tuple[int | str, ...]) -> _Place | None:
        named = suite.data.get("cases", "cases.yaml")
        for pattern in [named] if isinstance(named, str) else named:
            for path in sorted(suite.path.parent.glob(pattern)):
                source = open_document(path)
                cases = cases_in(source.data)
                number = _index_of(cases, "id", self.case.id)
                own = None if number is None else _index_of(cases[number].get("checks"), "name", self.check.name)
                if number is not None and own is not None:
                    return path, source.line(number, "checks", own, *field)
        return None


def _index_of(items: Any, key: str, value: str) -> int | None:
    listed = items if isinstance(items, list) else []
    return next((n for n, item in enumerate(listed) if isinstance(item, dict) and item.get(key) == value), None)
