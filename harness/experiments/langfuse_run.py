"""A run as one experiment of Langfuse: one trace for each trial, linked to the item of its case, with its scores.

Since version 4, Langfuse makes experiments of spans with the attributes `langfuse.experiment.*`, as its own SDK sends
them by OTLP. Every id follows from the run, so that a second export replaces what the first one sent.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Final

from harness.case import Suite
from harness.experiments.dataset import Dataset, DatasetChanges, case_item, export_dataset, item_id
from harness.experiments.experiment_spans import ExperimentItem, experiment_spans
from harness.experiments.langfuse_scores import run_scores, trial_scores
from harness.ingest import export_otlp
from harness.results import RunFolder
from harness.trace import Span
from harness.upstream import LangfuseClient, LangfuseError, rejected_by_langfuse, send_langfuse_scores
from harness.values import Frozen, JsonObject

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
    scores: list[JsonObject] = run_scores(folder, experiment)
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
    for part in _parts(spans):
        answer = client.post(_TRACES, export_otlp(part), headers=_REAL_TIME)
        rejected = rejected_by_langfuse(answer, "partialSuccess", "rejectedSpans")
        if rejected:
            raise LangfuseError(f"Langfuse rejected {rejected} of {len(part)} spans of the trace {part[0].trace_id}")


def _parts(spans: tuple[Span, ...]) -> Iterator[list[Span]]:
    part: list[Span] = []
    size = 0
    for span in spans:
        length = len(span.model_dump_json())
        if part and size + length > _MOST_SPAN_BYTES:
            yield part
            part, size = [], 0
        part.append(span)
        size += length
    yield part
