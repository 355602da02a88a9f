"""The spans of a trial with the attributes by which Langfuse takes a trace for an item of an experiment."""

import json
from dataclasses import dataclass
from typing import Final

from harness.experiments.run_facts import created_ns, run_facts
from harness.results import RunManifest, StoredTrial
from harness.trace import Span, names
from harness.values import JsonObject, JsonValue, digest_of

_ENVIRONMENT: Final = "sdk-experiment"
"""By which Langfuse keeps the traces of experiments apart from those of production."""
_FIRST_INSTANT_NS: Final = 946_684_800 * 10**9
"""The year 2000. Imported trajectories without times begin at 0; they are sent as of the run's creation."""


@dataclass(frozen=True, kw_only=True)
class ExperimentItem:
    """The item of a dataset that a trial belongs to, and its experiment."""

    experiment_id: str
    dataset_id: str
    item_id: str
    content: JsonObject
    """As `case_item` gives it."""
    manifest: RunManifest


def experiment_spans(stored: StoredTrial, item: ExperimentItem) -> tuple[Span, ...]:
    """The trial's spans below one root, which comes first. Ids and other attributes are as they were, and times where
    they are known.
    """
    root, others = _rooted(stored)
    if root.start_ns < _FIRST_INSTANT_NS:
        later_ns = created_ns(item.manifest) - root.start_ns
        root, others = _later(root, later_ns), [_later(one, later_ns) for one in others]
    shared = _shared(item, root.span_id)
    return (
        _with(root, {**shared, **_root_facts(stored, item)}),
        *(_with(one, {**shared, **_cost(one)}) for one in others),
    )


def _rooted(stored: StoredTrial) -> tuple[Span, list[Span]]:
    """The root that the trial has, else one over all of its spans."""
    spans = list(stored.spans)
    roots = [one for one in spans if one.parent_id is None]
    if len(roots) == 1:
        return roots[0], [one for one in spans if one is not roots[0]]
    trial = stored.trial
    begin = min((one.start_ns for one in spans), default=0)
    made = Span(
        trace_id=trial.trajectory.trace_id,
        span_id=digest_of([trial.trajectory.trace_id, trial.case_id, trial.attempt, "experiment"])[:16],
        name=f"{names.INVOKE_AGENT} {trial.trajectory.agent}",
        start_ns=begin,
        end_ns=max((one.end_ns for one in spans), default=begin),
    )
    return made, [_below(one, made) for one in spans]


def _later(span: Span, by_ns: int) -> Span:
    return span.model_copy(update={"start_ns": span.start_ns + by_ns, "end_ns": span.end_ns + by_ns})


def _below(span: Span, root: Span) -> Span:
    return span if span.parent_id is not None else span.model_copy(update={"parent_id": root.span_id})


def _shared(item: ExperimentItem, root_id: str) -> JsonObject:
    return {
        "langfuse.environment": _ENVIRONMENT,
        "langfuse.experiment.id": item.experiment_id,
        "langfuse.experiment.name": item.manifest.run,
        "langfuse.experiment.metadata": _text(run_facts(item.manifest)),
        "langfuse.experiment.dataset.id": item.dataset_id,
        "langfuse.experiment.item.id": item.item_id,
        "langfuse.experiment.item.metadata": _text(item.content["metadata"]),
        "langfuse.experiment.item.root_observation_id": root_id,
    }


def _root_facts(stored: StoredTrial, item: ExperimentItem) -> JsonObject:
    trial, manifest = stored.trial, item.manifest
    facts: JsonObject = {
        "langfuse.trace.name": f"{manifest.suite}/{trial.case_id}",
        "langfuse.experiment.description": f"agent {manifest.agent} on suite {manifest.suite}",
        "langfuse.observation.type": "agent",
        "langfuse.observation.input": _text(item.content["input"]),
        "langfuse.observation.metadata.experiment_name": _quoted(manifest.run),
        "langfuse.observation.metadata.experiment_run_name": _quoted(manifest.run),
        "langfuse.observation.metadata.dataset_id": _quoted(item.dataset_id),
        "langfuse.observation.metadata.dataset_item_id": _quoted(item.item_id),
        "langfuse.observation.metadata.attempt": str(trial.attempt),
        "langfuse.observation.metadata.outcome": _quoted(trial.outcome),
    }
    if item.content["expectedOutput"] is not None:
        facts["langfuse.experiment.item.expected_output"] = _text(item.content["expectedOutput"])
    if trial.trajectory.final_output is not None:
        facts["langfuse.observation.output"] = _text(trial.trajectory.final_output)
    if manifest.release is not None:
        facts["langfuse.release"] = manifest.release
    if trial.outcome != "finished":
        facts["langfuse.observation.level"] = "ERROR"
        facts["langfuse.observation.status_message"] = (trial.reason or trial.outcome)[:2000]
    return facts


def _cost(span: Span) -> JsonObject:
    """The cost by the suite's prices, so that Langfuse does not work out one by its own."""
    cost = span.attributes.get(names.COST_USD)
    known = isinstance(cost, int | float) and not isinstance(cost, bool)
    return {"langfuse.observation.cost_details": json.dumps({"total": cost})} if known else {}


def _with(span: Span, facts: JsonObject) -> Span:
    return span.model_copy(update={"attributes": {**span.attributes, **facts}})


def _text(value: JsonValue) -> str:
    """Texts as they are, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _quoted(value: str) -> str:
    """Metadata of observations are JSON, texts too."""
    return json.dumps(value)
