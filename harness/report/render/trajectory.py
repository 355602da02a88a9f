"""One trial step by step, as text, with the diagnosis at its steps."""

import json
from collections.abc import Iterator, Sequence

from harness.report.printed import printed_ends
from harness.report.render.wording import printable, printed_words
from harness.score import Diagnosis, Scorecard, suspects
from harness.trace import Observation, Step, ToolCall, Trial
from harness.values import JsonValue

_LONGEST = 400
_SUSPECTS = 4
_SETTLED = ("exact", "exact_reused", "live", "sealed")
"""Tiers that need no word beside the answer."""


def explained(trial: Trial, card: Scorecard, longest: int = _LONGEST, *, hints: bool = False) -> Iterator[str]:
    """Lines that show the outcome, every step with its findings, and the results of the checks. Texts are cut at
    `longest`.
    """
    yield _headline(card)
    yield from _ranked(trial, card, longest)
    for one in card.diagnoses:
        if one.origin_step is None:
            yield f"!! {_title(one)}: {printable(one.evidence, longest)}"
    for step in trial.trajectory.steps:
        yield from _step(step, longest)
        yield from _found(step, card.diagnoses, longest)
        if hints:
            yield from _hinted(step, card.hints, longest)
    final = trial.trajectory.final_output
    yield f"answer  {'none' if final is None else printable(_text(final), longest)}"
    yield from _program(trial, longest)
    for service, log in trial.service_logs.items():
        yield f"the end of the log of service {printable(service)}:"
        yield from (f"    {printable(line, longest)}" for line in log.splitlines() or ["(it printed nothing)"])
    for verdict in card.verdicts:
        mark = {True: "passed", False: "FAILED", None: "unknown"}[verdict.passed]
        yield f"check {printable(verdict.check)}  {mark}: {printable(verdict.reason, longest)}"


def _program(trial: Trial, longest: int) -> Iterator[str]:
    """How the agent's program ended, and what it printed last."""
    if trial.exit is None:
        return
    ended = trial.exit
    how = f"signal {ended.signal}" if ended.signal is not None else f"exit status {ended.code}"
    yield f"program  {how}{', stopped at the time limit' if ended.timed_out else ''}"
    yield from printed_words(printed_ends(ended), longest)


def _ranked(trial: Trial, card: Scorecard, longest: int) -> Iterator[str]:
    """The most probable step at which it went wrong, and the runners-up; nothing for a success."""
    if card.success is not False:
        return
    named = suspects((*card.diagnoses, *card.hints), trial.trajectory, success=card.success)
    if not named:
        yield "most probably went wrong: cannot tell"
    for place, one in enumerate(named[:_SUSPECTS]):
        lead = "most probably went wrong" if not place else "  or"
        agent = printable(one.agent) if one.agent is not None else None
        who = (
            f" ({agent})" if agent is not None else " (a tool's answer)" if one.source == "tool" else f" ({one.source})"
        )
        sure = f"{one.probability:.0%}" + ("" if one.calibrated else ", not calibrated")
        what = f"{one.failure}: {one.kind}".replace("_", " ")
        yield f"{lead} at step {one.step}{who}, {sure}: {what}: {printable(one.reason, longest)}"
        if one.prevention is not None:
            yield f"    what would have stopped it: {printable(one.prevention, longest)}"


def _headline(card: Scorecard) -> str:
    success = {True: "succeeded", False: "did not succeed", None: "success not known"}[card.success]
    reason = f" ({printable(card.reason)})" if card.reason else ""
    found = len(card.diagnoses)
    return f"{card.case_id}/{card.attempt}: {card.outcome.replace('_', ' ')}{reason}, {success}; {found} finding(s)"


def _step(step: Step, longest: int) -> Iterator[str]:
    who = f"{step.source} (self-reported)" if _is_reported_message(step) else step.source
    head = f"{step.index:>4}  {who}" + (f" [{printable(step.model)}]" if step.model else "")
    if step.message is not None:
        yield f"{head}: {printable(step.message, longest)}"
    elif not step.calls:
        yield head
    if step.plan is not None:
        yield f"      plan: {printable(' | '.join(step.plan), longest)}"
    if step.thought is not None:
        yield f"      thought: {printable(step.thought, longest)}"
    seen = {one.call_id: one for one in step.observations}
    for place, call in enumerate(step.calls):
        lead = head if not place and step.message is None else "      "
        yield f"{lead} {_call(call, longest)}".rstrip()
        if call.id in seen:
            yield f"      -> {_answer(seen[call.id], longest)}"


def _is_reported_message(step: Step) -> bool:
    """Whether the step is a message between agents that the agent itself reports; of a step with calls, the calls are
    marked.
    """
    return step.evidence == "self_reported" and not step.calls


def _call(call: ToolCall, longest: int) -> str:
    arguments = f"not JSON: {call.unparsed!r}" if call.arguments is None else _text(call.arguments)
    mark = "  [self-reported]" if call.evidence == "self_reported" else ""
    return printable(f"{call.name}({arguments})", longest) + mark


def _answer(seen: Observation, longest: int) -> str:
    notes = [] if seen.replayed in (None, *_SETTLED) else [seen.replayed.replace("_", " ")]
    notes += [f"injected {seen.injected}"] if seen.injected is not None else []
    notes += ["self-reported"] if seen.evidence == "self_reported" else []
    said = "" if seen.content is None else _text(seen.content)
    if seen.error is not None:
        said = f"ERROR {seen.error.type}: {seen.error.message}" + (f" {said}" if said else "")
    return printable(said, longest) + (f"  [{', '.join(notes)}]" if notes else "")


def _found(step: Step, diagnoses: Sequence[Diagnosis], longest: int) -> Iterator[str]:
    for one in diagnoses:
        if one.origin_step == step.index:
            later = ", ".join(map(str, one.dependent_steps[:12]))
            follows = f" -> steps {later}" if later else ""
            yield f"  !!  {_title(one)}: {printable(one.evidence, longest)}{follows}"
            if one.prevention is not None:
                yield f"      what would have stopped it: {printable(one.prevention, longest)}"
        elif step.index in one.dependent_steps:
            yield f"   !  follows from {one.failure.replace('_', ' ')} of step {one.origin_step}"


def _hinted(step: Step, hints: Sequence[Diagnosis], longest: int) -> Iterator[str]:
    for one in hints:
        if one.origin_step == step.index:
            yield f"  ?   hint: {_title(one)}: {printable(one.evidence, longest)}"


def _title(one: Diagnosis) -> str:
    kind = one.kind.replace("_", " ")
    return f"{one.failure.replace('_', ' ')} ({kind}, confidence {one.confidence:.2f})"


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
