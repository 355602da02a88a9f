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
OTHER_VERSION: Final = "2"
"""Of the finding that stands where a trial is known to have failed and no detector found anything."""

DETECTORS: Final = Registry(
    seam="detector",
    built_in={
        "loop_trap": "harness.score.failures.modes.loop_trap:LoopTrap",
        "stuck": "harness.score.failures.modes.stuck:Stuck",
        "barren": "harness.score.failures.modes.barren:UninformativeRepeats",
        "tool_hallucination": "harness.score.failures.modes.tool_hallucination:ToolHallucination",
        "claims": "harness.score.failures.modes.claims:Claims",
        "assumptions": "harness.score.failures.modes.assumptions:Assumptions",
        "unsupported": "harness.score.failures.modes.unsupported:Unsupported",
        "goal_drift": "harness.score.failures.modes.goal_drift:GoalDrift",
        "objective": "harness.score.failures.modes.objective:Objective",
        "premature_commitment": "harness.score.failures.modes.premature_commitment:PrematureCommitment",
        "wrong_outcome": "harness.score.failures.modes.wrong_outcome:WrongOutcome",
        "first_change": "harness.score.failures.modes.first_change:FirstChange",
        "cascading_error": "harness.score.failures.modes.cascading_error:CascadingError",
        "conversation": "harness.score.failures.modes.conversation:BrokenConversation",
        "figures": "harness.score.failures.modes.figures:UngroundedFigures",
        "listed_items": "harness.score.failures.modes.listed_items:ListedItems",
        "claimed_checks": "harness.score.failures.modes.claimed_checks:ClaimedChecks",
        "lookups": "harness.score.failures.modes.lookups:Lookups",
        "wrong_sources": "harness.score.failures.modes.wrong_sources:WrongSources",
        "premises": "harness.score.failures.modes.premises:Premises",
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
