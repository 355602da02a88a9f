"""The detectors by name: the built-in ones, applied to every trial, and those that a suite names itself."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from harness.errors import UsageError
from harness.plugins import Registry
from harness.score.protocols import Detector

OTHER: Final = "other"
OTHER_VERSION: Final = "1"
"""Of the finding that stands where a trial is known to have failed and no detector found anything."""

DETECTORS: Final = Registry(
    seam="detector",
    built_in={
        "loop_trap": "harness.score.failures.loop_trap:LoopTrap",
        "stuck": "harness.score.failures.stuck:Stuck",
        "tool_hallucination": "harness.score.failures.tool_hallucination:ToolHallucination",
        "claims": "harness.score.failures.claims:Claims",
        "assumptions": "harness.score.failures.assumptions:Assumptions",
        "unsupported": "harness.score.failures.unsupported:Unsupported",
        "goal_drift": "harness.score.failures.goal_drift:GoalDrift",
        "objective": "harness.score.failures.objective:Objective",
        "premature_commitment": "harness.score.failures.premature_commitment:PrematureCommitment",
        "wrong_outcome": "harness.score.failures.wrong_outcome:WrongOutcome",
        "cascading_error": "harness.score.failures.cascading_error:CascadingError",
        "conversation": "harness.score.failures.conversation:BrokenConversation",
        "lookups": "harness.score.failures.lookups:Lookups",
        "wrong_sources": "harness.score.failures.wrong_sources:WrongSources",
        "premises": "harness.score.failures.premises:Premises",
    },
)
"""Seam `harness.detector`. A new detector is its own file and one line here."""


def built_in_detectors() -> tuple[Detector, ...]:
    """All of them, in the order of the registry."""
    return tuple(cast(Detector, kind()) for kind in _built_in())


@cache
def _built_in() -> tuple[type[Any], ...]:
    return tuple(_detector_class(name, None) for name in DETECTORS.built_in)


def find_detector(name: str, folder: Path | None = None) -> Detector:
    """The detector that `name` stands for, made without arguments. Raises UsageError that says what it lacks."""
    return cast(Detector, _detector_class(name, folder)())


def _detector_class(name: str, folder: Path | None) -> type[Any]:
    found = DETECTORS.find(name, folder)
    if not isinstance(found, type):
        raise UsageError(f"detector {name!r}: expected a class, found {type(found).__name__}")
    for needed in ("name", "version", "find"):
        if not hasattr(found, needed):
            raise UsageError(f"detector {name!r}: the class {found.__name__} has no `{needed}`")
    return found


def built_in_versions() -> Mapping[str, str]:
    """Detector -> its version; unlike ones do not compare."""
    return MappingProxyType({one.name: one.version for one in built_in_detectors()} | {OTHER: OTHER_VERSION})
