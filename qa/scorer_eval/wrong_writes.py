"""The first wrong write of a failed run that has a reference, and what is named where the reference is hidden."""

from collections import Counter

from corpus import failed
from sources import Labelled

from harness.scoring.failures.diagnose import findings
from harness.scoring.failures.ranking import Fitted, Suspect, suspects
from harness.scoring.scorecard import Kind
from harness.values import canonical_json

ABOUT_WRITES: tuple[Kind, ...] = (
    "wrong_target",
    "wrong_argument",
    "wrong_encoding",
    "needless_write",
    "unwarranted_write",
)
"""Kinds of findings that say that a write is wrong."""
NO_EFFECT = ("transfer_to_human_agents", "calculate", "think")
"""Tools of the benchmarks that change nothing; the importer takes what nobody declares to read for a write."""


def hidden(run: Labelled) -> tuple[Suspect, ...]:
    """The steps that are named with the reference hidden, the order being by hand alone."""
    case = run.evidence.case.model_copy(update={"reference": None})
    evidence = failed(run.blind.model_copy(update={"case": case}))
    facts, hints = findings(evidence)
    return suspects((*facts, *hints), evidence.trial.trajectory, success=False, numbers=Fitted())


def first_wrong_write(run: Labelled) -> int | None:
    """Index of its step; None: there is no reference, or each write made is one of its writes."""
    case = run.evidence.case
    if case.reference is None:
        return None
    writes = {tool.name for tool in run.evidence.tools if tool.effect == "write"} - set(NO_EFFECT)
    left = Counter((call.tool, canonical_json(call.arguments)) for call in case.reference)
    for step in run.evidence.trial.trajectory.steps:
        if step.source != "agent":
            continue
        failed = {seen.call_id for seen in step.observations if seen.error is not None}
        for call in step.calls:
            if call.name not in writes or call.id in failed:
                continue
            key = (call.name, canonical_json(call.arguments or {}))
            if left[key] <= 0:
                return step.index
            left[key] -= 1
    return None
