"""A span as it is stored, and the spans that are built for a trajectory that has none."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from harness.traces import names
from harness.traces.trajectory import Observation, Step, ToolCall
from harness.traces.trial import Trial
from harness.values import Frozen, JsonObject

# A finished span as it is stored: one JSON line, readable without OpenTelemetry.


class Span(Frozen):
    """Times in nanoseconds: `start_ns` and `end_ns` of the wall clock since the epoch."""

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, JsonValue] = {}
    events: tuple[dict[str, JsonValue], ...] = ()
    status: str = "unset"


def prompts_of(spans: Iterable[Span]) -> tuple[str, ...]:
    """`name@version`, or the name alone if no version is set; each once, in order."""
    found = (_prompt(span) for span in spans if span.attributes.get(names.PROMPT_NAME) is not None)
    return tuple(dict.fromkeys(found))


def _prompt(span: Span) -> str:
    name, version = span.attributes[names.PROMPT_NAME], span.attributes.get(names.PROMPT_VERSION)
    return str(name) if version is None else f"{name}@{version}"


# An evaluation in the form of OpenTelemetry's GenAI conventions: the event `gen_ai.evaluation.result`.

EVENT: Final = "gen_ai.evaluation.result"


class Evaluation(Frozen):
    """The data of one verdict; its author is stored under names that the conventions do not have yet."""

    name: str
    label: str | None = None
    """None: a metric, which has its value alone."""
    score: float | None = None
    explanation: str | None = None
    error: str | None = None
    """The reason why there is no verdict."""
    evaluator: str
    evaluator_version: str | None = None
    prompt: str | None = None
    prompt_version: str | None = None


class EvaluationEvent(Frozen):
    """An event in the shape of an OTLP log record; `span_id` is empty if the event concerns the whole trace."""

    event_name: str = EVENT
    trace_id: str
    span_id: str = ""
    attributes: dict[str, JsonValue]


def evaluation_event(trace_id: str, span_id: str, evaluation: Evaluation) -> EvaluationEvent:
    """The event of an evaluation; None values are omitted."""
    attributes: dict[str, JsonValue] = {
        names.EVALUATION_NAME: evaluation.name,
        names.EVALUATION_LABEL: evaluation.label,
        names.EVALUATION_SCORE: evaluation.score,
        names.EVALUATION_EXPLANATION: evaluation.explanation,
        names.ERROR_TYPE: None if evaluation.error is None else "judge_failed",
        names.EVALUATION_ERROR: evaluation.error,
        names.EVALUATOR_SOURCE: evaluation.evaluator,
        names.EVALUATOR_VERSION: evaluation.evaluator_version,
        names.PROMPT_NAME: evaluation.prompt,
        names.PROMPT_VERSION: evaluation.prompt_version,
    }
    present = {name: value for name, value in attributes.items() if value is not None}
    return EvaluationEvent(trace_id=trace_id, span_id=span_id, attributes=present)


# Builds spans for a trajectory without spans, so that an imported trial is stored and exported like a recorded one.
#
# A reply and its parallel calls are one step: a `chat` span with an `execute_tool` span for every call, as the GenAI
# conventions have them. The first one also holds the step itself, so that reading it back gives the same trajectory.


def spans_of(trial: Trial, *, started_ns: int | None = None) -> tuple[Span, ...]:
    """The root span, then the steps' in order. `started_ns`: wall time of the beginning, if it is known."""
    return tuple(_Spans(trial, started_ns or 0).all())


class _Spans:
    def __init__(self, trial: Trial, began_ns: int) -> None:
        self._trial = trial
        self._trajectory = trial.trajectory
        self._began_ns = began_ns
        self._made = 0
        self._now_ns = 0
        self._root = ""

    def all(self) -> Iterator[Span]:
        times = [
            time for step in self._trajectory.steps for time in (step.started_ns, step.ended_ns) if time is not None
        ]
        ended = max(times, default=0)
        root = self._span(f"{names.INVOKE_AGENT} {self._trajectory.agent}", None, self._root_facts(), 0, ended)
        self._root = root.span_id
        yield root
        for step in self._trajectory.steps:
            yield from self._spans_of_step(step)

    def _root_facts(self) -> dict[str, JsonValue]:
        final = self._trajectory.final_output
        return {
            names.OPERATION: names.INVOKE_AGENT,
            names.AGENT_NAME: self._trajectory.agent,
            names.AGENT_VERSION: self._trajectory.version,
            names.CONVERSATION_ID: f"imported.{self._trial.case_id}.{self._trial.attempt}",
            names.CASE_ID: self._trial.case_id,
            names.ATTEMPT: self._trial.attempt,
            names.STEP_COUNT: len(self._trajectory.steps),
            names.FINAL_OUTPUT: None if final is None else _json(final),
        }

    def _spans_of_step(self, step: Step) -> Iterator[Span]:
        by_agent = step.source == "agent"
        name = f"{names.CHAT} {step.model or ''}".strip() if by_agent else names.TURN
        reply = self._span(name, self._root, self._step_facts(step), step.started_ns, step.ended_ns)
        yield reply
        seen = {observation.call_id: observation for observation in step.observations}
        for call in step.calls:
            facts: dict[str, JsonValue] = {names.STEP_KIND: names.TOOL, **_call_facts(call)}
            yield self._tool(step, reply, {**facts, **_observation_facts(seen.pop(call.id, None))})
        for observation in seen.values():
            unasked: dict[str, JsonValue] = {names.TOOL_CALL_ID: observation.call_id}
            yield self._tool(step, reply, {**unasked, **_observation_facts(observation)})

    def _step_facts(self, step: Step) -> dict[str, JsonValue]:
        by_agent = step.source == "agent"
        usage = step.usage
        return {
            names.OPERATION: names.CHAT if by_agent else None,
            names.STEP_KIND: names.REPLY if by_agent else names.TURN,
            names.IMPORTED_STEP: _json(step.model_dump(mode="json", exclude_defaults=True)),
            names.MESSAGE: step.message,
            names.RESPONSE_MODEL: step.model,
            names.INPUT_TOKENS: usage.input_tokens if usage else None,
            names.OUTPUT_TOKENS: usage.output_tokens if usage else None,
            names.COST_USD: usage.cost_usd if usage else None,
            names.OUTPUT_MESSAGES: _json([_message(step)]) if by_agent else None,
            names.STARTED_MONOTONIC: step.started_ns,
            names.ENDED_MONOTONIC: step.ended_ns,
        }

    def _tool(self, step: Step, reply: Span, facts: Mapping[str, JsonValue]) -> Span:
        place: dict[str, JsonValue] = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.STARTED_MONOTONIC: step.started_ns,
            names.ENDED_MONOTONIC: step.ended_ns,
        }
        name = f"{names.EXECUTE_TOOL} {facts.get(names.TOOL_NAME) or ''}".strip()
        return self._span(name, reply.span_id, {**place, **facts}, step.started_ns, step.ended_ns)

    def _span(
        self, name: str, parent: str | None, facts: Mapping[str, JsonValue], started: int | None, ended: int | None
    ) -> Span:
        self._made += 1
        self._now_ns = max(self._now_ns, started or 0)
        begin = self._began_ns + self._now_ns
        digest = hashlib.sha256(f"{self._trajectory.trace_id}/{self._made}".encode()).hexdigest()
        return Span(
            trace_id=self._trajectory.trace_id,
            span_id=digest[:16],
            parent_id=parent,
            name=name,
            start_ns=begin,
            end_ns=max(begin, self._began_ns + (ended or 0)),
            attributes={key: value for key, value in facts.items() if value is not None},
            status="error" if names.ERROR_TYPE in facts else "unset",
        )


def _call_facts(call: ToolCall) -> dict[str, JsonValue]:
    facts: dict[str, JsonValue] = {names.TOOL_NAME: call.name, names.TOOL_CALL_ID: call.id}
    if call.arguments is not None:
        facts[names.TOOL_ARGUMENTS] = _json(call.arguments)
    if call.unparsed is not None:
        facts[names.TOOL_UNPARSED] = call.unparsed
    return facts


def _observation_facts(seen: Observation | None) -> dict[str, JsonValue]:
    if seen is None:
        return {}
    facts: dict[str, JsonValue] = {names.TOOL_RESULT: _json(seen.content)}
    if seen.error is not None:
        facts |= {names.ERROR_TYPE: seen.error.type, names.TOOL_ERROR_MESSAGE: seen.error.message}
    if seen.replayed is not None:
        facts[names.REPLAY_TIER] = seen.replayed
    return facts


def _message(step: Step) -> JsonObject:
    """The reply in the shape that the GenAI conventions give to messages, for readers that know no other."""
    parts: list[JsonValue] = []
    if step.thought is not None:
        parts.append({"type": "reasoning", "content": step.thought})
    if step.message is not None:
        parts.append({"type": "text", "content": step.message})
    for call in step.calls:
        arguments: JsonValue = call.unparsed if call.arguments is None else call.arguments
        parts.append({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
    return {"role": "assistant", "parts": parts, "finish_reason": "tool_calls" if step.calls else "stop"}


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
