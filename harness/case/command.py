"""Checks that run a command in a sandbox restored to the end state: what to run, for runner and scorer alike."""

from pydantic import Field

from harness.case.case import Case, CheckSpec
from harness.case.suite import Suite
from harness.case.task_folder import TESTS_CHECK
from harness.errors import UsageError
from harness.values import Frozen, JsonObject, digest_of

VERIFIER = "command"
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
    commands = [_command(case, check) for check in checks if check.verifier == VERIFIER]
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
