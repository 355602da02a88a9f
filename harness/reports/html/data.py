"""Embeds data in an HTML file so that it is never interpreted as markup or code.

Text of agents and tools is untrusted: it must not end the element that contains it, nor start another. Therefore `<`,
`>`, `&` and all characters outside ASCII are escaped in the embedded text.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from harness.errors import UsageError
from harness.judging.verdicts import Judgement
from harness.reports.change import MetricChange
from harness.reports.compare import Comparison, compare_runs
from harness.reports.divergence import RunDivergence
from harness.reports.durations import LatencyCollector, printed_ends
from harness.reports.judged import judged_run
from harness.reports.render.sections import cause_words, judge_words, judged_section
from harness.reports.render.wording import facts, printed_head, provenance_words
from harness.reports.summarising import summarise
from harness.runs.store.beside_trials import stop_of
from harness.runs.store.folder import RunFolder, StoredTrial
from harness.runs.store.manifest import RunManifest
from harness.scoring.rules.learned import RuleResult, broken
from harness.scoring.scorecard import Scorecard
from harness.traces.trajectory import Observation, Step, ToolCall
from harness.traces.trial import EndState, ProgramExit, Trial
from harness.values import JsonObject

_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def embedded(value: object) -> str:
    """JSON for a `<script type="application/json">` element; NaN and infinities, which JSON lacks, become words."""
    try:
        text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.translate(_ESCAPES)


def data_element(name: str, value: object) -> str:
    """The element with the id `name`, which must be a plain word."""
    return f'<script type="application/json" id="{name}">{embedded(value)}</script>\n'


def _finite(value: object) -> object:
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case _:
            return value


# Shortens texts of agents and tools for the page: a long text is replaced by its beginning (of a log,
# its end) and its length.
#
# JSON is stored as text and formatted in the browser: a browser's numbers would round long integers.


@dataclass(frozen=True, kw_only=True)
class Cutter:
    """Cuts texts after `limit` characters; the whole stays in the run folder."""

    limit: int

    def text(self, text: str) -> JsonObject:
        return self._cut("text", text)

    def last(self, text: str) -> JsonObject:
        """The end of a log, which is more informative than the beginning."""
        if len(text) <= self.limit:
            return {"text": text}
        return {"text": text[-self.limit :], "of": len(text), "end": True}

    def value(self, value: JsonValue) -> JsonObject:
        """A text as it is, everything else as compact JSON."""
        if isinstance(value, str):
            return self.text(value)
        return self._cut("json", json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    def optional(self, text: str | None) -> JsonObject | None:
        return None if text is None else self.text(text)

    def _cut(self, kind: str, text: str) -> JsonObject:
        if len(text) <= self.limit:
            return {kind: text}
        return {kind: text[: self.limit], "of": len(text)}


def present(**fields: JsonValue) -> JsonObject:
    """The fields with a value: a page of a thousand trials need not repeat empty fields."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {}, ())}


# The judgements in the HTML report: a table for each rubric, and the verdicts of one trial with their reasons.

_ITEMS = 100
_STEP = "step:"


def judged_tables(folder: RunFolder) -> list[JsonValue]:
    """The sections of the other reports. Tables of two runs with one `key` are of one rubric and judge."""
    tables: list[JsonValue] = []
    for one in judged_run(folder):
        section = judged_section(one)
        tables.append(
            {
                "key": " ".join([f"{one.rubric}@{one.rubric_version}", *map(judge_words, one.judges)]),
                "title": section.title,
                "heads": list(section.heads),
                "rows": [list(row) for row in section.rows],
                "notes": list(section.notes),
            }
        )
    return tables


def judged_verdicts(judgements: Sequence[Judgement], steps: Sequence[Step], cut: Cutter) -> list[JsonValue]:
    """Of one trial, by rubric and criterion; `steps` of a verdict are those that it rests on."""
    places = {step.span_id: step.index for step in steps if step.span_id is not None}
    return [_verdict(one, places, cut) for one in judgements[:_ITEMS]]


def _verdict(one: Judgement, places: dict[str, int], cut: Cutter) -> JsonObject:
    why = one.rationale if one.failure is None else f"{one.failure}. {one.rationale}".rstrip(". ")
    return present(
        rubric=one.rubric,
        criterion=one.criterion,
        answer=one.answer,
        why=cut.text(why) if why else None,
        judge=judge_words(one.judge),
        steps=list(dict.fromkeys(_steps(one.spans, places))),
    )


def _steps(spans: Iterable[str], places: dict[str, int]) -> Iterator[int]:
    for span in spans:
        if span in places:
            yield places[span]
        elif span.startswith(_STEP) and span.removeprefix(_STEP).isdecimal():
            yield int(span.removeprefix(_STEP))


# The initial data of a run's page: its facts and figures, and one row for each of its trials.

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


# One trial as the trajectory viewer shows it.
#
# A page holds every trial of its run, so each gets a share of what a browser opens without waiting: long texts are
# cut,
# ever shorter until the trial fits.

_LIMITS = (6000, 1500, 400, 100)
"""Characters of one text, tried in this order."""
_STEPS = 300
_NS_IN_MS = 1_000_000


def trial_view(trial: Trial, card: Scorecard, budget: int, judged: Sequence[Judgement] = ()) -> JsonObject:
    """The trial in at most about `budget` characters, where cutting its texts can reach that."""
    view: JsonObject = {}
    for limit in _LIMITS:
        cut = Cutter(limit=limit)
        view = _view(trial, card, cut) | present(judged=judged_verdicts(judged, trial.trajectory.steps, cut))
        if len(embedded(view)) <= budget:
            break
    return view


def _view(trial: Trial, card: Scorecard, cut: Cutter) -> JsonObject:
    steps = trial.trajectory.steps
    observed = trial.trajectory.observations
    return present(
        steps=[_step(step, observed, cut) for step in steps[:_STEPS]],
        steps_of=len(steps) if len(steps) > _STEPS else None,
        final=None if trial.trajectory.final_output is None else cut.value(trial.trajectory.final_output),
        verdicts=[
            present(
                check=one.check,
                verifier=f"{one.verifier} {one.version}",
                passed=one.passed,
                reason=cut.text(one.reason),
                evidence=cut.value(one.evidence) if one.evidence else None,
            )
            for one in card.verdicts[:_ITEMS]
        ],
        scores=[[one.metric, one.value, one.explanation[: cut.limit]] for one in card.scores[:_ITEMS]],
        diagnoses=[
            *(_diagnosis(one.model_dump(mode="json"), cut) for one in card.diagnoses[:_ITEMS]),
            *(_broken_rule(one, cut) for one in broken(card.rules)[:_ITEMS]),
        ],
        states={name: cut.value(value) for name, value in trial.states.items()},
        files=_files(trial.end_state),
        exit=_exit(trial.exit, cut),
        failed=True if card.success is not True else None,
        commands={name: _exit(result.exit, cut) for name, result in trial.commands.items()},
        misses=[cut.value(miss) for miss in trial.misses[:_ITEMS]],
        services={name: cut.last(log) for name, log in trial.service_logs.items()},
        notes=list(_notes(trial, card, cut)),
        trace=trial.trajectory.trace_id,
    )


def _step(step: Step, observed: dict[str, Observation], cut: Cutter) -> JsonObject:
    own = {seen.call_id: seen for seen in step.observations}
    called = {call.id for call in step.calls}
    calls: list[JsonValue] = [_call(call, own.get(call.id) or observed.get(call.id), cut) for call in step.calls]
    calls += [_call(None, seen, cut) for seen in step.observations if seen.call_id not in called]
    usage = step.usage
    return present(
        i=step.index,
        source=step.source,
        agent=step.agent,
        parent=step.parent,
        reported=step.evidence == "self_reported" or None,
        message=cut.optional(step.message),
        thought=cut.optional(step.thought),
        plan=None if step.plan is None else [item[: cut.limit] for item in step.plan[:_ITEMS]],
        calls=calls[:_ITEMS],
        model=step.model,
        tokens=None if usage is None else [usage.input_tokens, usage.output_tokens],
        cost=None if usage is None else usage.cost_usd,
        start=None if step.started_ns is None else step.started_ns / _NS_IN_MS,
        end=None if step.ended_ns is None else step.ended_ns / _NS_IN_MS,
    )


def _call(call: ToolCall | None, seen: Observation | None, cut: Cutter) -> JsonObject:
    found: JsonObject = {"name": "an answer to no call" if call is None else call.name}
    if call is not None and call.arguments is not None:
        found["args"] = cut.value(call.arguments)
    elif call is not None:
        found["unparsed"] = cut.text(call.unparsed or "")
    if "self_reported" in (None if call is None else call.evidence, None if seen is None else seen.evidence):
        found["reported"] = True
    if seen is None:
        return found
    return found | present(
        result=cut.value(seen.content),
        error=None if seen.error is None else {"type": seen.error.type, "message": cut.text(seen.error.message)},
        tier=seen.replayed,
        injected=seen.injected,
        ms=seen.duration_ms,
    )


def _diagnosis(found: JsonObject, cut: Cutter) -> JsonObject:
    return {**found, "evidence": cut.text(str(found.get("evidence", "")))}


def _broken_rule(one: RuleResult, cut: Cutter) -> JsonObject:
    """A broken rule beside the findings."""
    evidence = cut.text(f"{one.rule}: {one.reason}")
    return {"failure": "broken_rule", "kind": one.support, "origin_step": one.step, "evidence": evidence}


def _files(end: EndState | None) -> JsonObject | None:
    if end is None:
        return None
    shown: list[JsonValue] = [[one.change, one.path, one.kind, one.size] for one in end.changes[:_ITEMS]]
    return present(changes=shown, of=len(end.changes), complete=end.complete, problem=end.problem)


def _exit(ended: ProgramExit | None, cut: Cutter) -> JsonObject | None:
    if ended is None:
        return None
    return present(
        code=ended.code,
        signal=ended.signal,
        timed_out=ended.timed_out,
        stdout=cut.last(ended.stdout_end or ended.stdout) if ended.stdout else None,
        stderr=cut.last(ended.stderr_end or ended.stderr) if ended.stderr else None,
        dropped=[printed_head(end) for end in printed_ends(ended) if end.printed_bytes > end.kept_bytes],
        seconds=ended.duration_s,
    )


def _notes(trial: Trial, card: Scorecard, cut: Cutter) -> Iterator[str]:
    if card.reason:
        yield f"{card.outcome.replace('_', ' ')}: {card.reason[: cut.limit]}"
    if trial.tiers.get("earlier_state"):
        yield "some answers are from an earlier state and may be wrong"
    calls = sum(call.evidence == "self_reported" for call in trial.trajectory.calls)
    if calls:
        yield f"{calls} call(s) are self-reported: the gateway did not observe them, and they cannot make a check pass"
    yield from (f"a fault that no call triggered: {fault[: cut.limit]}" for fault in trial.unfired_faults)
    yield from (f"the user did not send: {turn[: cut.limit]}" for turn in trial.unsaid_turns)
