"""The tests of a task folder in Harbor's format; the reward that they write decides."""

import json
import math
from typing import ClassVar

from pydantic import Field

from harness.case import task_tests_command
from harness.score.evidence import Evidence
from harness.score.unmeasured import BY_AGENT
from harness.trace import CommandResult
from harness.values import Frozen, JsonObject

_SHOWN = 2000


class TaskTests(Frozen):
    """The reward that the test script of a task folder wrote is at least 1.

    The check is set where a `task.toml` is read, not by hand. The tests run after the agent has ended, in a sandbox
    restored to what it left; their exit status is ignored. `/logs/verifier/reward.json` comes before `reward.txt`: its
    `reward` decides, else each of its values must be at least 1. No reward, or one that is not a finite number, fails.
    """

    version: ClassVar[str] = "1"

    digest: str
    """Sha-256 of the task folder: a result of other tests is undecided."""
    timeout_s: float = Field(default=600.0, gt=0)
    """Seconds until the tests are ended, which fails the check."""
    env: dict[str, str] = {}
    """Environment variables of the tests."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        result = self._result(evidence)
        if result is None:
            ran = bool(evidence.trial.commands)
            why = "the tests changed since they were run" if ran else "the tests were not run"
            return None, f"{why}: run again", {}
        end = evidence.trial.end_state
        if end is not None and not end.complete:
            note = f"the tests saw a part of the end state only: {end.problem or 'it was too large'}"
            return None, note, BY_AGENT
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

    def _result(self, evidence: Evidence) -> CommandResult | None:
        digest = task_tests_command({"digest": self.digest, "timeout_s": self.timeout_s, "env": dict(self.env)}).digest
        return next((result for result in evidence.trial.commands.values() if result.digest == digest), None)


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
