"""Checks the result of a command that was run in a sandbox restored to the end state.

The runner runs it; here only its result is read, so that a stored trial can be scored again. A check whose command has
changed since is undecided.
"""

from typing import ClassVar

from pydantic import Field

from harness.case import CommandCheck
from harness.score.comparison.textrule import TextRule
from harness.score.evidence import Evidence
from harness.score.unmeasured import BY_AGENT
from harness.trace import CommandResult
from harness.values import Frozen, JsonObject


class Command(Frozen):
    """Exit status and output of `run`.

    The command executes no file of the agent unless the check allows it: HOME and the working directory are empty
    folders of its own, Python looks for modules neither beside the script nor in a user's packages, PATH contains only
    the image's programs, and the agent's files are read-only and not executable. `cwd: "{work}"` starts it in the
    agent's working directory, `executes: true` lets it execute and change the agent's files.
    """

    version: ClassVar[str] = "2"

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
        result = self._result(evidence)
        if result is None:
            ran = bool(evidence.trial.commands)
            why = "the command changed since it was run" if ran else "the command was not run"
            return None, f"{why}: run again", {}
        end = evidence.trial.end_state
        if end is not None and not end.complete:
            note = f"the command saw a part of the end state only: {end.problem or 'it was too large'}"
            return None, note, BY_AGENT
        ended = result.exit
        seen: JsonObject = {"code": ended.code, "signal": ended.signal, "stdout": ended.stdout[:2000]}
        if ended.timed_out:
            return False, f"the command did not end within {self.timeout_s:g} s", seen
        problem = self._problem_with(result)
        return problem is None, problem or "the command gave what it should", seen

    def _result(self, evidence: Evidence) -> CommandResult | None:
        check = CommandCheck(name="", run=self.run, cwd=self.cwd, executes=self.executes, timeout_s=self.timeout_s)
        digest = check.digest
        return next((result for result in evidence.trial.commands.values() if result.digest == digest), None)

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
