"""Commands of checks, run in sandboxes restored to the agent's end state; the tests of a task folder are one such
command.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.case import Case, CommandCheck, Suite, commands_of
from harness.errors import SandboxError
from harness.sandbox import LauncherLost, Sandbox, SandboxProvider, SandboxSpec, Snapshot
from harness.trace import CommandResult

if TYPE_CHECKING:
    from harness.sandbox import PreparedTask

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
        return {check.name: self._result(check) for check in checks}

    def _result(self, check: CommandCheck) -> CommandResult:
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
    from harness.sandbox import REWARD_FILES

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
