"""What a verifier or a metric reads of a trajectory: what the spans do not carry is unknown, neither right nor wrong.

Instrumentations capture no content unless they are told to: a trace then names models, tools and tokens, and no text.
A check of the answer cannot be decided then, while the tools that were called are known.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, get_args

from harness.score.evidence import Evidence
from harness.score.words_of_content import content_words
from harness.trace import Content

_ALL: Final[frozenset[Content]] = frozenset(get_args(Content))
_NOTHING: Final[frozenset[Content]] = frozenset()
_READS: Final[Mapping[str, frozenset[Content]]] = MappingProxyType(
    {
        **dict.fromkeys(("Api", "Command", "Dom", "EqualsReferenceState", "Files", "Reward", "Sql", "State"), _NOTHING),
        **dict.fromkeys(
            ("TaskTests", "MaxTokens", "MaxIterations", "RequiredTools", "ForbiddenTools", "CriterionMet"), _NOTHING
        ),
        **dict.fromkeys(("TaskSuccess", "ToolSelection", "ToolAllowed", "PartialCredit"), _NOTHING),
        **dict.fromkeys(("StepEfficiency", "StepRatio", "Steps", "Tokens", "CostUsd"), _NOTHING),
        **dict.fromkeys(("CheckAnswer", "FinalAnswer", "JsonSchema", "Completion"), frozenset({"answer"})),
        **dict.fromkeys(("TrajectoryVerifier", "CallMatch", "CallPrecision", "CallRecall"), frozenset({"arguments"})),
        **dict.fromkeys(("EffectMatch", "ParameterValidity", "Recovery"), frozenset({"arguments"})),
        **dict.fromkeys(("PlanQuality", "PlanCoverage", "PlanOrder", "PlanAdherence"), frozenset({"messages"})),
        "Rules": frozenset({"answer", "messages", "arguments"}),
        "Redundancy": frozenset({"arguments", "results"}),
        "Termination": frozenset({"answer", "arguments"}),
        "Routing": frozenset({"messages"}),
        "Turns": frozenset({"answer", "messages"}),
        "NoFailure": _ALL,
    }
)
"""By the names of the built-in classes."""


def content_read(scorer: object) -> frozenset[Content]:
    """The content that a verifier or metric reads: what its attribute `reads` says, and everything without one."""
    built_in = type(scorer).__module__.startswith("harness.score.")
    if built_in and _reads_no_content(scorer):
        return _NOTHING
    declared = getattr(scorer, "reads", None)
    if isinstance(declared, frozenset):
        return declared & _ALL
    return _READS.get(type(scorer).__name__, _ALL) if built_in else _ALL


def _reads_no_content(scorer: object) -> bool:
    """Whether a built-in check reads none as it is declared; its module is imported by whoever has made it."""
    match type(scorer).__name__:
        case "JsonSchema":
            from harness.score.verifiers.json_schema import JsonSchema

            return isinstance(scorer, JsonSchema) and scorer.of != "answer"
        case "TrajectoryVerifier":
            from harness.score.verifiers.trajectory import TrajectoryVerifier

            return isinstance(scorer, TrajectoryVerifier) and scorer.arguments == "ignore" and not scorer.minefields
        case _:
            return False


def unknown_because(scorer: object, evidence: Evidence) -> str | None:
    """Why a verifier or metric cannot tell; None where everything that it reads was captured."""
    uncaptured = evidence.trial.trajectory.uncaptured
    if not uncaptured:
        return None
    read = content_read(scorer)
    missing = [one for one in uncaptured if one in read]
    return f"the spans do not carry {content_words(missing)}" if missing else None
