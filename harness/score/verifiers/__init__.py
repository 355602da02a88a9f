"""The built-in checks, by the short names that a suite uses."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

_PLACES: Final[Mapping[str, str]] = {
    "api": "api:Api",
    "check_answer": "check_answer:CheckAnswer",
    "command": "command:Command",
    "criterion": "criterion:CriterionMet",
    "dom": "dom:Dom",
    "files": "files:Files",
    "final_answer": "final_answer:FinalAnswer",
    "forbidden_tools": "tools:ForbiddenTools",
    "json_schema": "json_schema:JsonSchema",
    "max_iterations": "budget:MaxIterations",
    "max_tokens": "budget:MaxTokens",
    "required_tools": "tools:RequiredTools",
    "no_failure": "no_failure:NoFailure",
    "reference_state": "reference_state:EqualsReferenceState",
    "reward": "reward:Reward",
    "rules": "rules:Rules",
    "sql": "sql:Sql",
    "state": "state:State",
    "task_tests": "task_tests:TaskTests",
    "trajectory": "trajectory:TrajectoryVerifier",
}


class _Verifiers(Mapping[str, type]):
    """Imports a check's module when a suite uses the check: most suites use a few."""

    def __getitem__(self, name: str) -> type:
        module, _, kind = _PLACES[name].partition(":")
        found: type = getattr(import_module(f"{__name__}.{module}"), kind)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)

    def __contains__(self, name: object) -> bool:
        return name in _PLACES


VERIFIERS: Final[Mapping[str, type]] = _Verifiers()

__all__ = ["VERIFIERS"]
