"""A run as one experiment of Langfuse: one trace for each trial, linked to the item of its case, with its scores.

Since version 4, Langfuse makes experiments of spans with the attributes `langfuse.experiment.*`, as its own SDK sends
them by OTLP. Every id follows from the run, so that a second export replaces what the first one sent.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from harness.gateway.upstream.langfuse import (
    LangfuseClient,
    LangfuseError,
    batches,
    langfuse_instant,
    langfuse_score,
    rejected_by_langfuse,
    send_langfuse_scores,
)
from harness.production.langfuse_dataset import Dataset, DatasetChanges, case_item, export_dataset, item_id
from harness.reports.summarising import summarise_run
from harness.runs.store.folder import RunFolder, StoredTrial
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Scorecard, card_values
from harness.suite.suites import Suite
from harness.traces import names
from harness.traces.otlp import export_otlp
from harness.traces.spans import Span
from harness.values import Frozen, JsonObject, digest_of

# What a run was, as other systems receive it.

_MANIFEST: Final = (
    "suite",
    "suite_digest",
    "agent",
    "agent_digest",
    "release",
    "variables",
    "prompts",
    "tool_mode",
    "model_mode",
    "provider",
    "snapshot_digest",
    "tools_digest",
    "harness_version",
    "created",
)


def run_facts(manifest: RunManifest) -> JsonObject:
    """What a run was, by name; what it has not is left out."""
    plain = manifest.model_dump(mode="json", include=set(_MANIFEST))
    return {name: plain[name] for name in _MANIFEST if plain[name] not in (None, {}, "")}


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
    """The trial's spans below one root, which comes first. Ids and other attributes are as they were, and times if
    they are known.
    """
    root, others = _rooted(stored)
    if root.start_ns < _FIRST_INSTANT_NS:
        later_ns = item.manifest.created_ns - root.start_ns
        root, others = _shifted(root, later_ns), [_shifted(one, later_ns) for one in others]
    shared = _shared(item, root.span_id)
    return (
        _with_attributes(root, {**shared, **_root_facts(stored, item)}),
        *(_with_attributes(one, {**shared, **_cost(one)}) for one in others),
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
    below = {"parent_id": made.span_id}
    return made, [one if one.parent_id is not None else one.model_copy(update=below) for one in spans]


def _shifted(span: Span, by_ns: int) -> Span:
    return span.model_copy(update={"start_ns": span.start_ns + by_ns, "end_ns": span.end_ns + by_ns})


def _shared(item: ExperimentItem, root_id: str) -> JsonObject:
    return {
        "langfuse.environment": _ENVIRONMENT,
        "langfuse.experiment.id": item.experiment_id,
        "langfuse.experiment.name": item.manifest.run,
        "langfuse.experiment.metadata": _text_or_json(run_facts(item.manifest)),
        "langfuse.experiment.dataset.id": item.dataset_id,
        "langfuse.experiment.item.id": item.item_id,
        "langfuse.experiment.item.metadata": _text_or_json(item.content["metadata"]),
        "langfuse.experiment.item.root_observation_id": root_id,
    }


def _root_facts(stored: StoredTrial, item: ExperimentItem) -> JsonObject:
    trial, manifest = stored.trial, item.manifest
    facts: JsonObject = {
        "langfuse.trace.name": f"{manifest.suite}/{trial.case_id}",
        "langfuse.experiment.description": f"agent {manifest.agent} on suite {manifest.suite}",
        "langfuse.observation.type": "agent",
        "langfuse.observation.input": _text_or_json(item.content["input"]),
        # metadata of observations are JSON, texts too
        "langfuse.observation.metadata.experiment_name": json.dumps(manifest.run),
        "langfuse.observation.metadata.experiment_run_name": json.dumps(manifest.run),
        "langfuse.observation.metadata.dataset_id": json.dumps(item.dataset_id),
        "langfuse.observation.metadata.dataset_item_id": json.dumps(item.item_id),
        "langfuse.observation.metadata.attempt": str(trial.attempt),
        "langfuse.observation.metadata.outcome": json.dumps(trial.outcome),
    }
    if item.content["expectedOutput"] is not None:
        facts["langfuse.experiment.item.expected_output"] = _text_or_json(item.content["expectedOutput"])
    if trial.trajectory.final_output is not None:
        facts["langfuse.observation.output"] = _text_or_json(trial.trajectory.final_output)
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


def _with_attributes(span: Span, facts: JsonObject) -> Span:
    return span.model_copy(update={"attributes": {**span.attributes, **facts}})


def _text_or_json(value: JsonValue) -> str:
    """Texts as they are, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


# Scorecards as scores of Langfuse, under ids and times that follow from the trial: sent again, they replace.
#
# Their names are those of `harness.scoring.scorecard`.


def trial_scores(card: Scorecard, root: Span, experiment: str, reason: str | None) -> Iterator[JsonObject]:
    """The scores of one trial, on the root of its trace."""
    ended = langfuse_instant(root.end_ns)
    for name, value, comment in card_values(card, reason):
        identity = f"{experiment}|{root.trace_id}|{card.case_id}|{card.attempt}|{name}"
        yield {
            **langfuse_score(identity, name, value, comment),
            "traceId": root.trace_id,
            "observationId": root.span_id,
            "environment": "sdk-experiment",
            "timestamp": ended,
        }


def experiment_scores(folder: RunFolder, experiment: str) -> list[JsonObject]:
    """The score of the experiment itself: the success rate, if it is known."""
    rate = summarise_run(folder).success.rate
    if rate is None:
        return []
    score = langfuse_score(f"{experiment}|success_rate", "success_rate", rate, "")
    made = langfuse_instant(folder.manifest.created_ns)
    return [{**score, "datasetRunId": experiment, "timestamp": made}]


_TRACES: Final = "/api/public/otel/v1/traces"
_REAL_TIME: Final = {"x-langfuse-ingestion-version": "4"}
_MOST_SPAN_BYTES: Final = 2 * 1024 * 1024


class LangfuseExport(Frozen):
    """What was sent for a run."""

    changes: DatasetChanges
    experiment_id: str
    trials: int = 0
    spans: int = 0
    scores: int = 0
    unknown_cases: tuple[str, ...] = ()
    """Cases of the run that the suite no longer has; their trials were not sent."""


def export_run(client: LangfuseClient, folder: RunFolder, suite: Suite, dataset_name: str) -> LangfuseExport:
    """Sends the items of the run's cases, the trace of each trial, and all scores. Raises LangfuseError."""
    planned = {one.case_id for one in folder.manifest.planned}
    cases = {case.id: case for case in suite.cases if case.id in planned}
    changes = export_dataset(client, suite, cases.values(), dataset_name)
    experiment = experiment_id(changes.dataset, folder.manifest.run)
    cards = {(card.case_id, card.attempt): card for card in folder.scorecards()}
    trials = spans = 0
    scores: list[JsonObject] = experiment_scores(folder, experiment)
    for stored in folder.trials():
        trial = stored.trial
        if trial.case_id not in cases:
            continue
        item = ExperimentItem(
            experiment_id=experiment,
            dataset_id=changes.dataset.id,
            item_id=item_id(dataset_name, trial.case_id),
            content=case_item(suite.name, cases[trial.case_id]),
            manifest=folder.manifest,
        )
        sent = experiment_spans(stored, item)
        _send_spans(client, sent)
        card = cards.get((trial.case_id, trial.attempt))
        scores += () if card is None else trial_scores(card, sent[0], experiment, trial.reason)
        trials, spans = trials + 1, spans + len(sent)
    send_langfuse_scores(client, scores)
    return LangfuseExport(
        changes=changes,
        experiment_id=experiment,
        trials=trials,
        spans=spans,
        scores=len(scores),
        unknown_cases=tuple(sorted(planned - cases.keys())),
    )


def experiment_id(dataset: Dataset, run: str) -> str:
    """Langfuse's own derivation, by which its servers and SDKs agree on the id of an experiment on a dataset."""
    derived = ["langfuse-experiment-v1", dataset.project_id, dataset.id, run]
    text = json.dumps(derived, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _send_spans(client: LangfuseClient, spans: tuple[Span, ...]) -> None:
    for part in batches(spans, _MOST_SPAN_BYTES, lambda span: len(span.model_dump_json())):
        answer = client.post(_TRACES, export_otlp(part), headers=_REAL_TIME)
        rejected = rejected_by_langfuse(answer, "partialSuccess", "rejectedSpans")
        if rejected:
            raise LangfuseError(f"Langfuse rejected {rejected} of {len(part)} spans of the trace {part[0].trace_id}")
