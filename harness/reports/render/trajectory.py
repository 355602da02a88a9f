"""One trial step by step, as text, with the diagnosis at its steps."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import JsonValue

from harness.reports.durations import printed_ends
from harness.reports.render.wording import printable, printed_words
from harness.reports.units import UNKNOWN, p_words
from harness.runs.store.beside_trials import KeptCause
from harness.scoring.findings.facts import suspects
from harness.scoring.rules.learned import RuleResult, broken
from harness.scoring.scorecard import Diagnosis, Scorecard
from harness.traces import names
from harness.traces.spans import Span
from harness.traces.trajectory import Observation, Step, ToolCall
from harness.traces.trial import Trial
from harness.values import JsonObject

_LONGEST = 400
_SUSPECTS = 4
_SETTLED = ("exact", "exact_reused", "live", "sealed")
"""Tiers that are not printed after an answer."""


def explained(
    trial: Trial, card: Scorecard, longest: int = _LONGEST, *, cause: KeptCause | None = None
) -> Iterator[str]:
    """Lines that show the outcome, the cause where it is known, every step with its findings, and the results of the
    checks. Texts are cut at `longest`.
    """
    yield _headline(card)
    if cause is not None:
        yield from _caused(cause, longest)
    yield from _ranked(trial, card, longest)
    for one in card.diagnoses:
        if one.origin_step is None:
            yield f"!! {_title(one)}: {printable(one.evidence, longest)}"
    yield from _broken(None, card.rules, longest)
    for step in trial.trajectory.steps:
        yield from step_lines(step, longest)
        yield from _found(step, card.diagnoses, longest)
        yield from _broken(step, card.rules, longest)
    final = trial.trajectory.final_output
    yield f"answer  {'none' if final is None else printable(_text(final), longest)}"
    yield from _program(trial, longest)
    for service, log in trial.service_logs.items():
        yield f"the end of the log of service {printable(service)}:"
        yield from (f"    {printable(line, longest)}" for line in log.splitlines() or ["(no output)"])
    for verdict in card.verdicts:
        mark = {True: "passed", False: "FAILED", None: "unknown"}[verdict.passed]
        yield f"check {printable(verdict.check)}  {mark}: {printable(verdict.reason, longest)}"


def _caused(cause: KeptCause, longest: int) -> Iterator[str]:
    """The cause that an intervention found, with the symptom."""
    place = "step" if len(cause.steps) == 1 else "steps"
    steps = ", ".join(map(str, cause.steps))
    yield f"cause by intervention at {place} {steps}: {printable(cause.words, longest)}"
    yield f"    symptom: {printable(cause.symptom, longest)}"
    effect = f"with the change it succeeds in {cause.mended} of {cause.repeats}"
    yield f"    {effect}; against chance {p_words(cause.p_value)}"
    if cause.fork is not None:
        yield f"    the fork that succeeds: harness explain {cause.fork} {cause.case_id}"


def _program(trial: Trial, longest: int) -> Iterator[str]:
    """The exit of the agent's program and its last output."""
    if trial.exit is None:
        return
    ended = trial.exit
    how = f"signal {ended.signal}" if ended.signal is not None else f"exit status {ended.code}"
    yield f"program  {how}{', stopped at the time limit' if ended.timed_out else ''}"
    yield from printed_words(printed_ends(ended), longest)


def _ranked(trial: Trial, card: Scorecard, longest: int) -> Iterator[str]:
    """The most probable steps of the failure; empty for a success."""
    if card.success is not False:
        return
    named = suspects(card.diagnoses, trial.trajectory, success=card.success, rules=card.rules)
    if not named:
        yield "most probable step of the failure: cannot tell"
    for place, one in enumerate(named[:_SUSPECTS]):
        lead = "most probable failure" if not place else "  or"
        agent = printable(one.agent) if one.agent is not None else None
        who = f" ({one.source if agent is None else agent})"
        what = f"{one.failure}: {one.kind}".replace("_", " ")
        yield f"{lead} at step {one.step}{who}: {what}: {printable(one.reason, longest)}"


def _headline(card: Scorecard) -> str:
    success = {True: "passed", False: "failed", None: "not known to have passed"}[card.success]
    reason = f" ({printable(card.reason)})" if card.reason else ""
    found = len(card.diagnoses)
    rules = f", {sum(one.state == 'broken' for one in card.rules)} of {len(card.rules)} learned rules broken"
    head = f"{card.case_id}/{card.attempt}: {card.outcome.replace('_', ' ')}{reason}, {success}; {found} finding(s)"
    return head + rules * bool(card.rules)


def step_lines(step: Step, longest: int) -> Iterator[str]:
    """What the step says, calls and is answered; `longest`: characters of each text that are shown."""
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
        more = f" {said}" if said not in ("", seen.error.message) else ""
        said = f"ERROR {seen.error.type}: {seen.error.message}{more}"
    return printable(said, longest) + (f"  [{', '.join(notes)}]" if notes else "")


def _found(step: Step, diagnoses: Sequence[Diagnosis], longest: int) -> Iterator[str]:
    for one in diagnoses:
        if one.origin_step == step.index:
            later = ", ".join(map(str, one.dependent_steps[:12]))
            follows = f" -> steps {later}" if later else ""
            yield f"  !!  {_title(one)}: {printable(one.evidence, longest)}{follows}"
        elif step.index in one.dependent_steps:
            yield f"   !  follows from {one.failure.replace('_', ' ')} of step {one.origin_step}"


def _broken(step: Step | None, rules: Sequence[RuleResult], longest: int) -> Iterator[str]:
    """The learned rules that were broken at a step; without one, those that no step of the trial shows."""
    for one in broken(rules):
        if one.step == (None if step is None else step.index):
            yield f"  ~~  rule broken: {printable(one.rule, longest)}: {printable(one.reason, longest)} ({one.support})"


def _title(one: Diagnosis) -> str:
    kind = one.kind.replace("_", " ")
    confidence = f", confidence {one.confidence:.2f}" if one.kind == "judged" else ""
    return f"{one.failure.replace('_', ' ')} ({kind}{confidence})"


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# Requests to the agent's model and the answers.

_SENT = (
    ("options", names.MODEL_OPTIONS),
    ("goes on from the reply", names.PREVIOUS_RESPONSE),
    ("system", names.SYSTEM),
    ("tools", names.TOOL_DEFINITIONS),
)


def model_requests(spans: Sequence[Span]) -> list[JsonObject]:
    """Every request that passed the gateway, in the order in which they were sent; nothing is cut."""
    sent = [span for span in spans if _passed(span)]
    return [_request(span) for span in sorted(sent, key=lambda span: span.start_ns)]


def model_lines(spans: Sequence[Span]) -> Iterator[str]:
    """The same as text. Parts that a request repeats from the previous one are abbreviated."""
    before: JsonObject = {}
    requests = model_requests(spans)
    if not requests:
        yield "no request to a model passed the gateway"
    for place, request in enumerate(requests, 1):
        yield from _lines(place, request, before)
        before = request


def _passed(span: Span) -> bool:
    """Whether the gateway observed the request; an agent's own spans are not model requests."""
    return span.attributes.get(names.STEP_KIND) == names.MODEL and names.ORIGIN not in span.attributes


def _request(span: Span) -> JsonObject:
    said = span.attributes
    request: JsonObject = {
        "model": said.get(names.REQUEST_MODEL),
        "answered_by": said.get(names.RESPONSE_MODEL),
        "tier": said.get(names.REPLAY_TIER),
        "status": said.get(names.HTTP_STATUS),
        "input_tokens": said.get(names.INPUT_TOKENS),
        "output_tokens": said.get(names.OUTPUT_TOKENS),
        **{name: _read(said.get(key)) for name, key in _SENT},
        "messages": _read(said.get(names.INPUT_MESSAGES)),
        "answer": _read(said.get(names.OUTPUT_MESSAGES)),
        "error": said.get(names.ERROR_TYPE),
        "error_message": said.get(names.TOOL_ERROR_MESSAGE),
    }
    return {name: value for name, value in request.items() if value is not None}


def _read(value: JsonValue) -> JsonValue:
    """Parses lists and objects, which spans store as JSON texts."""
    if isinstance(value, str) and value[:1] in {"[", "{"}:
        try:
            read: JsonValue = json.loads(value)
        except ValueError:
            return value
        return read
    return value


def _lines(place: int, request: JsonObject, before: JsonObject) -> Iterator[str]:
    tokens = f"{request.get('input_tokens', UNKNOWN)} tokens in, {request.get('output_tokens', UNKNOWN)} out"
    yield _clean(
        f"request {place}: {request.get('model', 'no model named')} [{request.get('tier', UNKNOWN)}], {tokens}"
    )
    for name, _ in _SENT:
        if name in request:
            same = request[name] == before.get(name)
            yield from [f"  {name}: as before"] if same else _block(name, request[name])
    messages, earlier = _list(request.get("messages")), _list(before.get("messages"))
    kept = next((n for n, pair in enumerate(zip(messages, earlier, strict=False)) if pair[0] != pair[1]), None)
    shared = min(len(messages), len(earlier)) if kept is None else kept
    if shared:
        yield f"  the first {shared} message(s): as before"
    for message in messages[shared:]:
        yield from _block("message", message)
    if "answer" in request:
        yield from _block("answer", request["answer"])
    if "error" in request:
        yield _clean(f"  error {request['error']}: {request.get('error_message', '')}".rstrip(": "))


def _list(value: Any) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _block(name: str, value: JsonValue) -> Iterator[str]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    first, *rest = text.split("\n")
    yield _clean(f"  {name}: {first}")
    yield from (_clean(f"    {line}") for line in rest)


def _clean(line: str) -> str:
    """Escapes all characters that are not printable: the texts come from the agent and the model."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)
