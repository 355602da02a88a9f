"""The built-in checks, by the short names that a suite uses."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

_PLACES: Final[Mapping[str, str]] = {
    "api": "harness.score.verifiers.api:Api",
    "check_answer": "harness.score.verifiers.check_answer:CheckAnswer",
    "command": "harness.score.verifiers.command:Command",
    "criterion": "harness.score.verifiers.criterion:CriterionMet",
    "dom": "harness.score.verifiers.dom:Dom",
    "files": "harness.score.verifiers.files:Files",
    "final_answer": "harness.score.verifiers.final_answer:FinalAnswer",
    "forbidden_tools": "harness.score.verifiers.tools:ForbiddenTools",
    "json_schema": "harness.score.verifiers.json_schema:JsonSchema",
    "max_iterations": "harness.score.verifiers.budget:MaxIterations",
    "max_tokens": "harness.score.verifiers.budget:MaxTokens",
    "required_tools": "harness.score.verifiers.tools:RequiredTools",
    "no_failure": "harness.score.verifiers.no_failure:NoFailure",
    "reference_state": "harness.score.verifiers.reference_state:EqualsReferenceState",
    "reward": "harness.score.verifiers.reward:Reward",
    "rules": "harness.score.verifiers.rules:Rules",
    "sql": "harness.score.verifiers.sql:Sql",
    "state": "harness.score.verifiers.state:State",
    "task_tests": "harness.score.verifiers.task_tests:TaskTests",
    "trajectory": "harness.score.verifiers.trajectory:TrajectoryVerifier",
}


class _Verifiers(Mapping[str, type]):
    """Imports a check's module when a suite uses the check: most suites use a few."""

    def __getitem__(self, name: str) -> type:
        module, _, kind = _PLACES[name].partition(":")
        found: type = getattr(import_module(module), kind)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)

    def __contains__(self, name: object) -> bool:
        return name in _PLACES


VERIFIERS: Final[Mapping[str, type]] = _Verifiers()

__all__ = ["VERIFIERS"]
