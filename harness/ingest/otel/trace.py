"""The spans of one conversation as steps: model calls and tool calls in the order in which they began."""

from collections.abc import Iterable, Sequence

from harness.ingest.foreign import ForeignCall, ForeignResult, ForeignStep
from harness.ingest.found import FoundTool
from harness.ingest.names import STATUS_MESSAGE
from harness.ingest.otel import conventions as says
from harness.ingest.otel.captured import CapturedContent
from harness.ingest.otel.message import Message, decoded
from harness.ingest.otel.thread import Thread
from harness.ingest.transcript import Report, TranscriptBuilder, final_output
from harness.trace import Content, Span, Step, ToolErrorType, ToolFailure

_TIMEOUTS = ("timeout", "timed out", "timeouterror", "deadline")


class ConversationReader:
    """Reads the spans of one conversation."""

    def __init__(self, spans: Sequence[Span], transcript: TranscriptBuilder, report: Report) -> None:
        self._spans = {span.span_id: span for span in spans}
        self._transcript = transcript
        self._report = report
        self._kinds = {span.span_id: says.kind_of_span(span) for span in spans}
        self._depths = _depths(self._spans)
        self._threads: dict[str, Thread] = {}
        self._calls: dict[str, str] = {}
        self._bare: dict[str | None, int] = {}
        self._tools: dict[str, FoundTool] = {}
        self._content = CapturedContent()
        self._unread: dict[str, Span] = {}
        """Calls that were made without an error, by spans that do not carry their result."""
        agents = [span for span in self._ordered() if self._kinds[span.span_id] == "agent"]
        self.root = agents[0] if agents else None
        self.agent = (says.first_text(agents[0], says.AGENT) or agents[0].name if agents else "") or "agent"
        self.began_ns = min((span.start_ns for span in spans), default=0)

    def steps(self) -> tuple[Step, ...]:
        wrapped = self._wrapping_chats()
        for span in self._ordered():
            match self._kinds[span.span_id]:
                case "chat" if span.span_id not in wrapped:
                    self._chat(span)
                case "tool":
                    self._tool(span)
                case _:
                    pass
        self._without_replies()
        self._answered_without_content()
        return self._transcript.steps()

    def uncaptured(self, steps: Sequence[Step]) -> tuple[Content, ...]:
        """What the spans do not carry of these steps."""
        return self._content.missing(steps, self._transcript.is_completed)

    @property
    def tools(self) -> tuple[FoundTool, ...] | None:
        return tuple(self._tools.values()) or None

    def answer(self, steps: Sequence[Step]) -> str | None:
        """The agent's last message; where it ended with a call, what the outermost agent's own span gives out."""
        said = final_output(steps)
        if said is not None or self.root is None:
            return said
        return "\n".join(message.text for message in says.outputs_of(self.root) or () if message.text) or None

    def _ordered(self) -> list[Span]:
        return sorted(self._spans.values(), key=lambda span: (span.start_ns, self._depths[span.span_id]))

    def _wrapping_chats(self) -> set[str]:
        """Chat spans that tell of the same model call as another one, and are left out: a framework and the client
        below it both do. The framework's is left out, unless it alone carries the reply.
        """
        left_out: set[str] = set()
        for span_id, kind in self._kinds.items():
            for above in self._above(span_id) if kind == "chat" else ():
                if self._kinds[above.span_id] in ("tool", "agent"):
                    break
                if self._kinds[above.span_id] == "chat":
                    inner_only = says.outputs_of(self._spans[span_id]) or not says.outputs_of(above)
                    left_out.add(above.span_id if inner_only else span_id)
                    break
        return left_out

    def _above(self, span_id: str) -> Iterable[Span]:
        seen = {span_id}
        above = self._spans[span_id].parent_id
        while above in self._spans and above not in seen:
            seen.add(above)
            yield self._spans[above]
            above = self._spans[above].parent_id

    def _agent_span(self, span: Span) -> Span | None:
        return next((above for above in self._above(span.span_id) if self._kinds[above.span_id] == "agent"), None)

    def _agent_name(self, span: Span) -> str | None:
        own = says.first_text(span, says.AGENT)
        above = self._agent_span(span)
        return own or (says.first_text(above, says.AGENT) if above else None)

    def _parent_step(self, span: Span) -> int | None:
        """The step whose call started the agent that this span belongs to."""
        for above in self._above(span.span_id):
            if above.span_id in self._calls:
                return self._transcript.step_of(self._calls[above.span_id])
        return None

    def _thread(self, span: Span, inputs: Sequence[Message]) -> Thread:
        name, above = self._agent_name(span), self._agent_span(span)
        key = f"{above.span_id if above else ''}/{name}"
        if key not in self._threads:
            parent = self._parent_step(span)
            alike = [thread for thread in self._threads.values() if thread.agent == name and thread.overlap(inputs)]
            self._threads[key] = (
                alike[-1]
                if alike
                else Thread(
                    agent=name,
                    parent=parent,
                    is_main=parent is None and name in (None, self.agent),
                    transcript=self._transcript,
                    report=self._report,
                )
            )
        return self._threads[key]

    def _chat(self, span: Span) -> None:
        inputs, outputs = says.inputs_of(span), says.outputs_of(span)
        self._tools |= {tool.name: tool for tool in says.tools_of_span(span) or () if tool.name not in self._tools}
        thread = self._thread(span, inputs)
        thread.take(inputs)
        if outputs is not None and len(outputs) > 1:
            self._report("a model call gave several choices; the first is taken")
        message = outputs[0] if outputs else None
        index = thread.reply(
            message,
            ForeignStep(
                source="agent",
                agent=thread.agent,
                parent=thread.parent,
                message=message.text if message else None,
                thought=message.thought if message else None,
                calls=message.calls if message else (),
                model=says.first_text(span, says.MODEL),
                usage=says.usage_of_span(span),
                started_ns=max(0, span.start_ns - self.began_ns),
                ended_ns=max(0, span.end_ns - self.began_ns),
                span_id=span.span_id,
            ),
        )
        failed = span.status == "error"
        replied = message is not None
        self._content.model_call(index, is_main=thread.is_main, asked=bool(inputs), replied=replied, failed=failed)
        if message is None:
            if not failed:
                self._report("a model call's answer was not captured; its step has only what its tools' spans tell")
            self._bare[thread.agent] = index
        else:
            self._bare.pop(thread.agent, None)

    def _tool(self, span: Span) -> None:
        call_id, name = says.first_text(span, says.CALL_ID), says.first_text(span, says.TOOL) or span.name
        known = self._transcript.waiting(call_id, None if call_id else name)
        if known is None and call_id and self._transcript.called(call_id):
            self._report("two spans tell of one tool call; it is counted once")
            return
        self._declare(span, name)
        self._calls[span.span_id] = known if known is not None else self._own_call(span, call_id, name)
        content, failure = says.first(span, says.RESULT), _failure(span)
        self._content.tool_span(has_arguments=says.arguments_of_span(span) is not None)
        if content is None and failure is None:
            self._unread[self._calls[span.span_id]] = span  # the history of the next model call may tell it
            return
        self._transcript.answer(
            self._calls[span.span_id],
            ForeignResult(
                call_id=call_id,
                content=decoded(content),
                error=failure,
                duration_ms=max(0, span.end_ns - span.start_ns) / 1e6,
            ),
        )

    def _declare(self, span: Span, name: str) -> None:
        description = says.first_text(span, ("tool.description",))
        if description is not None and name not in self._tools and name == says.first_text(span, says.TOOL):
            self._tools[name] = FoundTool(name=name, description=description)

    def _own_call(self, span: Span, call_id: str | None, name: str) -> str:
        """A call that no captured reply tells of: of the reply before it, or a step of its own."""
        arguments = says.arguments_of_span(span)
        if arguments is None:
            self._content.bare_call()
            self._report("the arguments of a call were not captured; it stands without any")
        call = ForeignCall(id=call_id, name=name, arguments=arguments)
        agent = self._agent_name(span)
        if agent in self._bare:
            return self._transcript.add_call(self._bare[agent], call)
        return self._transcript.add(
            ForeignStep(
                source="agent",
                agent=agent,
                calls=(call,),
                parent=self._parent_step(span),
                started_ns=max(0, span.start_ns - self.began_ns),
                ended_ns=max(0, span.end_ns - self.began_ns),
                span_id=span.span_id,
            )
        )[0]

    def _without_replies(self) -> None:
        """Where the last reply was not captured, the agent's own output is what it said in the end."""
        if self.root is not None:
            self._content.agent_span(asked=bool(says.task_of_span(self.root) or says.inputs_of(self.root)))
        if self.root is None or not self._content.lacks_last_reply(self._transcript.is_completed):
            return
        said = [message.text for message in says.outputs_of(self.root) or () if message.text]
        if said:
            self._transcript.add(ForeignStep(source="agent", agent=self.agent, message="\n".join(said)))
            self._content.answered()

    def _answered_without_content(self) -> None:
        for known, span in self._unread.items():
            if not self._transcript.is_answered(known):
                self._content.unread_result()
                lasted = max(0, span.end_ns - span.start_ns) / 1e6
                self._transcript.answer_late(known, ForeignResult(call_id=None, content=None, duration_ms=lasted))


def task_of(conversation: ConversationReader, steps: Sequence[Step]) -> str | None:
    """What was asked: the task of the outermost agent, else the user's first message, else that agent's input."""
    given = says.task_of_span(conversation.root) if conversation.root is not None else None
    if given is not None:
        return given
    message = next((step.message for step in steps if step.source == "user" and step.message), None)
    if message is not None or conversation.root is None:
        return message
    return next((m.text for m in says.inputs_of(conversation.root) if m.role == "user" and m.text), None)


def _depths(spans: dict[str, Span]) -> dict[str, int]:
    depths: dict[str, int] = {}
    for span_id in spans:
        path: list[str] = []
        at: str | None = span_id
        while at is not None and at in spans and at not in depths:
            depths[at] = 0  # also ends a circle of parents
            path.append(at)
            at = spans[at].parent_id
        below = depths[at] + 1 if at in depths and at not in path else 0
        for up, step in enumerate(reversed(path)):
            depths[step] = below + up
    return depths


def _failure(span: Span) -> ToolFailure | None:
    raw = span.attributes.get("error.type")
    if span.status != "error" and raw is None:
        return None
    message = span.attributes.get("harness.tool.error.message") or span.attributes.get(STATUS_MESSAGE)
    thrown = [event.get("attributes") for event in span.events if event.get("name") == "exception"]
    for facts in thrown:
        message = message or (facts.get("exception.message") if isinstance(facts, dict) else None)
    return ToolFailure(type=_error_type(f"{raw or ''} {message or ''}"), message=str(message or raw or "failed")[:500])


def _error_type(raw: str) -> ToolErrorType:
    return "timeout" if any(word in raw.lower() for word in _TIMEOUTS) else "tool_error"
