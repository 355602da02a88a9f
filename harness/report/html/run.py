"""The initial data of a run's page: its facts and figures, and one row for each of its trials."""

from collections.abc import Iterable, Iterator, Sequence

from harness.errors import UsageError
from harness.report.comparison.change import MetricChange
from harness.report.comparison.compare import Comparison, compare_runs
from harness.report.comparison.divergence import RunDivergence
from harness.report.figures.latency import LatencyCollector
from harness.report.figures.summarising import summarise
from harness.report.html.judged import judged_tables
from harness.report.html.payload import present
from harness.report.render.differences import cause_words
from harness.report.render.wording import facts, provenance_words
from harness.results import RunFolder, RunManifest, StoredTrial, stop_of
from harness.score import Scorecard
from harness.trace import Trial
from harness.values import JsonObject, JsonValue

_REASON = 4000
"""The number of characters of a reason in the table of cases; a longer one is truncated and marked."""


def run_view(folder: RunFolder, cards: Sequence[Scorecard], trials: Iterable[StoredTrial]) -> JsonObject:
    """Reads each trial once and computes the rows."""
    manifest = folder.manifest
    rows: list[JsonValue] = []
    latencies = LatencyCollector(manifest)
    summary = summarise(
        manifest,
        tuple(cards),
        run_scores=folder.run_scores(),
        trials=_rowed(trials, cards, latencies, rows),
        stopped=stop_of(folder),
        latencies=latencies,
    )
    return {
        "run": manifest.run,
        "label": label(manifest),
        "facts": [[name, value] for name, value in facts(manifest)],
        "provenance": provenance_words(summary),
        "created": manifest.created,
        "isolates": manifest.isolates,
        "summary": summary.model_dump(mode="json", exclude={"manifest", "failed", "seconds"}),
        "judged": judged_tables(folder),
        "rows": rows,
    }


def _rowed(
    trials: Iterable[StoredTrial], cards: Sequence[Scorecard], latencies: LatencyCollector, rows: list[JsonValue]
) -> Iterator[Trial]:
    by_key = {(card.case_id, card.attempt): card for card in cards}
    for stored in trials:
        latencies.add(stored)
        rows.append(row(stored.trial, by_key[stored.trial.case_id, stored.trial.attempt]))
        yield stored.trial


def label(manifest: RunManifest) -> str:
    """The label of a run in comparisons."""
    return " · ".join(part for part in (manifest.agent, manifest.release, f"tools {manifest.tool_mode}") if part)


def row(trial: Trial, card: Scorecard) -> JsonObject:
    """The fields that the table of cases shows, filters and sorts by."""
    errors = [seen.error for step in trial.trajectory.steps for seen in step.observations if seen.error is not None]
    return present(
        id=card.case_id,
        n=card.attempt,
        category=card.category,
        difficulty=card.difficulty,
        tags=list(card.tags),
        outcome=card.outcome,
        success=card.success,
        modes=list(dict.fromkeys(found.failure for found in card.diagnoses)),
        reasons=_reasons(card),
        steps=card.value("steps"),
        calls=len(trial.trajectory.calls),
        errors=len(errors),
        efficiency=card.value("step_efficiency"),
        cost=card.value("cost_usd"),
        tokens=card.value("tokens"),
        seconds=trial.duration_s,
    )


def comparison_view(before: RunFolder, after: RunFolder) -> JsonObject:
    """The certainty of the difference; `refused` holds the reason why two runs cannot be compared, only shown side by
    side.
    """
    try:
        found = compare_runs(before, after)
    except UsageError as error:
        return {"refused": error.message}
    return {
        "verdict": _with_hidden(found),
        "cause": found.attribution.verdict,
        "separating": list(found.attribution.separating),
        "metrics": {one.metric: _changed(one.metric, one) for one in (found.success, *found.metrics)},
        "failures": [_changed(one.metric, one) for one in found.failures],
        "slices": [_changed(f"{one.kind}: {one.name}", one.success) for one in found.slices],
        "differences": [[one.field, one.before, one.after, one.note] for one in found.differences],
        "divergence": None if found.divergence is None else _divergence(found.divergence),
    }


def _with_hidden(found: Comparison) -> str:
    hidden = len(found.hidden)
    return found.success.verdict + (f"; {hidden} succeeded before and cannot be determined now" if hidden else "")


def _divergence(found: RunDivergence) -> JsonObject:
    success = found.success
    return {
        "mocked": found.mocked_run,
        "live": found.live_run,
        "success": _changed("task_success", success),
        "interval": None if success.interval is None else success.interval.model_dump(),
        "cases": [{**one.model_dump(mode="json"), "cause": cause_words(one)} for one in found.cases],
    }


def _changed(name: str, one: MetricChange) -> JsonObject:
    return {
        "name": name,
        "before": one.before,
        "after": one.after,
        "difference": one.difference,
        "pairs": one.pairs,
        "found": one.found,
        "verdict": one.verdict,
    }


def _reasons(card: Scorecard) -> list[JsonValue]:
    failing = [f"{one.check}: {one.reason}" for one in card.verdicts if one.passed is not True]
    ended = [] if card.outcome == "finished" else [f"{card.outcome}: {card.reason or 'no reason given'}"]
    return [_bounded(text) for text in [*ended, *failing][:5]]


def _bounded(text: str) -> str:
    more = len(text) - _REASON
    return text if more <= 0 else f"{text[:_REASON]}… ({more} more characters in the trial)"
