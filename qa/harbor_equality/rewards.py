"""What the tests of a task gave, by this harness and by Harbor."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_NO_REWARD: Final = ("RewardFileNotFoundError", "RewardFileEmptyError", "VerifierOutputParseError")
"""Harbor's exceptions that stand for tests without a usable reward."""


@dataclass(frozen=True)
class Rewards:
    """Rewards by name, and whether the trial passes; `problem`: there is no verdict at all."""

    values: dict[str, float]
    passed: bool
    problem: str | None = None

    def __str__(self) -> str:
        if self.problem is not None:
            return self.problem[:32]
        told = ", ".join(f"{name} {value:g}" for name, value in self.values.items()) or "no reward"
        return f"{'passed' if self.passed else 'failed'}: {told}"


def rewards_here(project: Path, run: str, task: str) -> Rewards:
    """Of the check of the tests in the trial's scorecard."""
    path = project / "runs" / run / "trials" / task / "1" / "scorecard.json"
    if not path.is_file():
        return Rewards({}, passed=False, problem="no trial")
    verdicts = json.loads(path.read_text(encoding="utf-8"))["verdicts"]
    tests = next((one for one in verdicts if one["verifier"] == "task_tests"), None)
    if tests is None or tests["passed"] is None:
        return Rewards({}, passed=False, problem="no verdict" if tests is None else tests["reason"])
    return Rewards(tests["evidence"].get("rewards", {}), passed=tests["passed"])


def rewards_of_harbor(job: Path, task: str) -> Rewards:
    """Of the trial's result; passed is what counts here: `reward`, else every reward, is at least 1."""
    found = [one for path in job.glob("*/result.json") if (one := json.loads(path.read_text()))["task_name"] == task]
    if len(found) != 1:
        return Rewards({}, passed=False, problem=f"{len(found)} trials")
    exception, given = found[0]["exception_info"], found[0]["verifier_result"]
    if given is None:
        kind = str((exception or {}).get("exception_type"))
        return Rewards({}, passed=False, problem=None if kind in _NO_REWARD else kind)
    values = {str(name): float(value) for name, value in given["rewards"].items()}
    deciding = [values["reward"]] if "reward" in values else list(values.values())
    return Rewards(values, passed=bool(deciding) and all(value >= 1 for value in deciding))
