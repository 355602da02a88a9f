"""Spans and events of Claude Code, with the attributes of the GenAI conventions.

One conversation may come as spans (`claude_code.interaction` above `claude_code.llm_request` and `claude_code.tool`,
which has `claude_code.tool.execution` below it), as events (log records: `user_prompt`, `api_request`,
`assistant_response`, `tool_result`), or as both, which then tell of the same requests and calls. Text is in them only
where its user asked for it; `<REDACTED>` stands for it otherwise.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.ingest.otel.dumped import dumped, opened
from harness.trace import Span, names
from harness.values import JsonObject, JsonValue

_PREFIX: Final = "claude_code."
_REDACTED: Final = "<REDACTED>"
_OWN_ARGUMENTS: Final = {
    "full_command": "command", "file_path": "file_path", "subagent_type": "subagent_type", "skill_name": "skill",
}  # fmt: skip
"""What a tool's span says of its input by itself."""
_OUTPUT: Final = ("tool_output", "output", "content", "result")


def is_claude_code(span: Span) -> bool:
    """Whether a span or a log record, or an event of a span, is one of Claude Code."""
    return bool(_kind(span.name, span.attributes)) or any(map(_event_kind, span.events))


def claude_code_spans(spans: Sequence[Span]) -> list[Span]:
    """The same conversation as spans of the conventions; what is not Claude Code's stays as it is."""
    every = [one for span in spans for one in (span, *_log_spans(span))]
    return sorted(_Conversation(every).spans(), key=lambda one: one.start_ns)


class _Conversation:
    """What the spans and events of one conversation tell together."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._all = sorted(spans, key=lambda one: (one.start_ns, one.end_ns))
        self._kinds = {id(span): _kind(span.name, span.attributes) for span in spans}
        self._below: dict[str, list[Span]] = {}
        for span in self._all:
            if span.parent_id is not None:
                self._below.setdefault(span.parent_id, []).append(span)
        self._results = {key: span for span in self._of("tool_result") if (key := _call_id(span.attributes))}
        self._tools = {span.span_id for span in self._of("tool")}
        self._parents = {span.span_id: span.parent_id for span in self._all}

    def _of(self, kind: str) -> list[Span]:
        return [span for span in self._all if self._kinds[id(span)] == kind]

    def spans(self) -> Iterator[Span]:
        """Every span that is a step, and those of other programs."""
        yield from (span for span in self._all if not self._kinds[id(span)])
        for span in self._of("interaction"):
            yield _with(span, {names.OPERATION: names.INVOKE_AGENT, names.AGENT_NAME: "claude-code"})
        yield from self._requests()
        tools = self._of("tool")
        told = {_call_id(span.attributes) for span in tools}
        yield from map(self._tool, tools)
        alone = (span for span in self._of("tool_result") if not tools or _call_id(span.attributes) not in told)
        yield from map(self._tool, alone)

    def _requests(self) -> Iterator[Span]:
        requests = self._of("llm_request") or self._of("api_request")
        replies = self._replies(requests)
        prompts = self._prompts()
        for span in requests:
            facts, agent = span.attributes, self._sub_agent(span)
            said = [] if agent else [text for at, text in prompts if at <= span.end_ns]
            reply = _text(facts.get("response.model_output")) or replies.get(id(span))
            yield _with(
                span,
                {
                    names.OPERATION: names.CHAT,
                    names.AGENT_NAME: agent,
                    names.REQUEST_MODEL: facts.get("model"),
                    names.INPUT_TOKENS: _whole(facts.get("input_tokens")),
                    names.OUTPUT_TOKENS: _whole(facts.get("output_tokens")),
                    names.INPUT_MESSAGES: dumped([_message("user", text) for text in said]),
                    names.OUTPUT_MESSAGES: dumped([_message("assistant", reply)]) if reply else None,
                },
            )

    def _prompts(self) -> list[tuple[int, str]]:
        """When the user said what: by events, or by interactions where no event has a text."""
        by_event = [(span.start_ns, _text(span.attributes.get("prompt"))) for span in self._of("user_prompt")]
        by_span = [(span.start_ns, _text(span.attributes.get("user_prompt"))) for span in self._of("interaction")]
        found = [(at, text) for at, text in by_event if text]
        return found or [(at, text) for at, text in by_span if text]

    def _replies(self, requests: Sequence[Span]) -> dict[int, str]:
        """Text of the reply to each request: by the request's id, else to the last one that had begun and has none."""
        by_id = {str(one): id(span) for span in requests if (one := span.attributes.get("request_id"))}
        found: dict[int, str] = {}
        for event in self._of("assistant_response"):
            text = _text(event.attributes.get("response"))
            place = by_id.get(str(event.attributes.get("request_id")))
            if place is None:
                open_ones = [one for one in requests if one.start_ns <= event.start_ns and id(one) not in found]
                place = id(open_ones[-1]) if open_ones else None
            if text and place is not None:
                found[place] = f"{found[place]}\n{text}" if place in found else text
        return found

    def _sub_agent(self, span: Span) -> str | None:
        """The name of the sub-agent that a request is of; None: the conversation's own agent."""
        name = span.attributes.get("agent.name") or span.attributes.get("agent_id")
        if name:
            return str(name)
        above, seen = span.parent_id, set[str]()
        while above is not None and above not in seen:
            if above in self._tools:
                return "sub-agent"
            seen.add(above)
            above = self._parents.get(above)
        return None

    def _tool(self, span: Span) -> Span:
        told = self._results.get(_call_id(span.attributes) or "")
        facts: JsonObject = {**({} if told is None else told.attributes), **span.attributes}
        below = self._below.get(span.span_id, [])
        failure = next((problem for one in (span, told, *below) if one and (problem := self._problem(one))), None)
        converted: JsonObject = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: facts.get("tool_name"),
            names.TOOL_CALL_ID: _call_id(facts),
            names.TOOL_ARGUMENTS: _arguments(facts),
            names.TOOL_RESULT: None if failure else facts.get("tool_output", _output(span)),
            names.TOOL_ERROR_MESSAGE: failure,
            names.ERROR_TYPE: "tool_error" if failure else None,
        }
        changed = _with(span, converted)
        return changed.model_copy(update={"status": "error"}) if failure else changed

    def _problem(self, span: Span) -> str | None:
        """Why a call did not succeed, as one of its records says."""
        facts, kind = span.attributes, self._kinds[id(span)]
        if str(facts.get("success")).lower() == "false" or span.status == "error":
            return str(facts.get("error") or facts.get("error_type") or "failed")
        if kind == "tool.blocked_on_user" and str(facts.get("decision")) in ("reject", "deny"):
            return "the user did not allow the call"
        return None


def _kind(name: str, facts: JsonObject) -> str:
    """The name without its prefix; "" for what is none of Claude Code's. Log records have it as their content."""
    content = facts.get("content")
    for candidate in (name, content if isinstance(content, str) else ""):
        if candidate.startswith(_PREFIX):
            return candidate.removeprefix(_PREFIX)
    return ""


def _event_kind(event: JsonObject) -> str:
    facts = event.get("attributes")
    return _kind(str(event.get("name")), facts if isinstance(facts, dict) else {})


def _log_spans(span: Span) -> Iterator[Span]:
    """Log records that name a span are events of it; they are records of the conversation all the same."""
    for number, event in enumerate(span.events):
        facts, at = event.get("attributes"), event.get("time_ns")
        if _event_kind(event) and isinstance(facts, dict):
            time_ns = at if isinstance(at, int) and at else span.start_ns
            yield Span(
                trace_id=span.trace_id,
                span_id=f"{span.span_id}:{number}",
                parent_id=span.span_id,
                name=str(event.get("name")),
                start_ns=time_ns,
                end_ns=time_ns,
                attributes=facts,
            )


def _with(span: Span, converted: Mapping[str, JsonValue]) -> Span:
    """The span with attributes of the conventions, where it has none of them."""
    fresh = {name: value for name, value in converted.items() if value is not None}
    kept = {name: value for name, value in span.attributes.items() if value is not None}
    return span.model_copy(update={"attributes": {**fresh, **kept, names.OPERATION: converted[names.OPERATION]}})


def _call_id(facts: JsonObject) -> str | None:
    found = facts.get("tool_use_id") or facts.get(names.TOOL_CALL_ID)
    return str(found) if found else None


def _arguments(facts: JsonObject) -> JsonValue:
    given = facts.get("tool_input", facts.get("tool_parameters"))
    if given is not None:
        return given
    own = {name: facts[one] for one, name in _OWN_ARGUMENTS.items() if facts.get(one) not in (None, _REDACTED)}
    return dumped(own)


def _output(span: Span) -> JsonValue:
    """What an event `tool.output` of the span holds."""
    for event in span.events:
        facts = event.get("attributes")
        if event.get("name") == "tool.output" and isinstance(facts, dict):
            return next((facts[name] for name in _OUTPUT if facts.get(name) is not None), dumped(facts))
    return None


def _text(raw: JsonValue) -> str | None:
    plain = opened(raw)
    if isinstance(plain, dict | list):
        return dumped(plain)
    return None if plain is None or plain == _REDACTED or not str(plain).strip() else str(plain)


def _message(role: str, text: str) -> JsonValue:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _whole(raw: JsonValue) -> JsonValue:
    return int(raw) if isinstance(raw, str) and raw.isascii() and raw.isdigit() and len(raw) < 16 else raw
