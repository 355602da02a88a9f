"""One trial as the trajectory viewer shows it.

A page holds every trial of its run, so each gets a share of what a browser opens without waiting: long texts are cut,
ever shorter until the trial fits.
"""

from collections.abc import Iterator, Sequence

from harness.judge import Judgement
from harness.report.figures.printed import printed_ends
from harness.report.html.embedding import embedded
from harness.report.html.judged import judged_verdicts
from harness.report.html.payload import Cutter, present
from harness.report.render.wording import printed_head
from harness.score import Scorecard
from harness.trace import EndState, Observation, ProgramExit, Step, ToolCall, Trial
from harness.values import JsonObject, JsonValue

_LIMITS = (6000, 1500, 400, 100)
"""Characters of one text, tried in this order."""
_STEPS = 300
_ITEMS = 100
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
        diagnoses=[_diagnosis(one.model_dump(mode="json"), cut) for one in card.diagnoses[:_ITEMS]],
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
    for mode, reason in card.modes_not_measured.items() if card.success is False else ():
        yield f"not measured here: {mode.replace('_', ' ')}: {reason}"
    yield from (f"a fault that no call triggered: {fault[: cut.limit]}" for fault in trial.unfired_faults)
    yield from (f"the user did not send: {turn[: cut.limit]}" for turn in trial.unsaid_turns)
