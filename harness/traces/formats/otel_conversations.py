"""The spans of one conversation as steps: model calls and tool calls in the order in which they began."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from pydantic import JsonValue

from harness.traces.formats import conventions
from harness.traces.formats.found import FoundTool
from harness.traces.formats.span_messages import Message
from harness.traces.formats.transcript import (
    ForeignCall,
    ForeignResult,
    ForeignStep,
    Report,
    TranscriptBuilder,
    final_output,
    read_arguments,
)
from harness.traces.names import STATUS_MESSAGE
from harness.traces.spans import Span
from harness.traces.trajectory import Content, Source, Step, ToolErrorType, ToolFailure
from harness.values import canonical_json

# New messages of a call's input follow the last known message. Messages are compared as they are meant (without ids and
# reasoning); a reply that comes back in other words is recognised by its place.


@dataclass(kw_only=True)
class Thread:
    """The messages that one agent's model has seen and given so far."""

    agent: str | None
    parent: int | None
    is_main: bool
    transcript: TranscriptBuilder
    report: Report
    _known: list[str] = field(default_factory=list)
    _places: dict[str, list[int]] = field(default_factory=dict)
    _replies: dict[int, int] = field(default_factory=dict)
    """Place of each reply -> index of its step."""
    _last_calls: list[str] = field(default_factory=list)

    def overlap(self, inputs: Sequence[Message]) -> int:
        """How much of what the agent and its tools said the input repeats: 0 means another conversation."""
        return sum(bool(inputs[at].results) or inputs[at].role not in _NOT_OF_AGENTS for at in self._matches(inputs))

    def take(self, inputs: Sequence[Message]) -> None:
        """Turns what is new in a model's input into steps and results."""
        matches = self._matches(inputs)
        last = max(matches, default=-1)
        behind = matches[last] + 1 if matches else 0
        waiting = [place for place in sorted(self._replies) if place >= behind]
        answered = 0
        for message in inputs[last + 1 :]:
            if _is_only_calls(message) and (open_reply := self._reply_without_calls(waiting)) is not None:
                waiting = [place for place in waiting if self._replies[place] != open_reply]
                self._last_calls = [self.transcript.add_call(open_reply, call) for call in message.calls]
                self._append_to_history(message.key)
                answered = 0
            elif message.role == "assistant" and waiting:
                self._reconcile_reply(self._replies[waiting.pop(0)], message)
            elif message.results:
                for number, result in enumerate(message.results, start=answered):
                    self._add_history_result(result, number)
                answered += len(message.results)
                self._append_to_history(message.key)
                self._add_user_message(message)
            else:
                self._history(message)

    def reply(self, message: Message | None, step: ForeignStep) -> int:
        """Adds the model's answer, or a step without content if it was not captured; the step's index."""
        self._last_calls = list(self.transcript.add(step))
        place = self._append_to_history("" if message is None else message.key)
        self._replies[place] = len(self.transcript) - 1
        return self._replies[place]

    def _matches(self, inputs: Sequence[Message]) -> dict[int, int]:
        """Index in the input -> place in the history, both rising."""
        found: dict[int, int] = {}
        behind = 0
        for index, message in enumerate(inputs):
            places = self._places.get(message.key, [])
            at = bisect_left(places, behind)
            if at < len(places):
                found[index] = places[at]
                behind = places[at] + 1
        return found

    def _append_to_history(self, key: str) -> int:
        self._known.append(key)
        place = len(self._known) - 1
        if key:
            self._places.setdefault(key, []).append(place)
        return place

    def _history(self, message: Message) -> None:
        """A message that no traced call gave: the user's, the system's, or a reply from before the trace began."""
        place = self._append_to_history(message.key)
        source: Source = "agent" if message.role == "assistant" else "user" if message.role == "user" else "system"
        agent = self.agent if source == "agent" or not self.is_main else None
        self._last_calls = (
            list(
                self.transcript.add(
                    ForeignStep(
                        source=source,
                        message=message.text,
                        thought=message.thought,
                        calls=message.calls,
                        agent=agent,
                        parent=self.parent,
                    )
                )
            )
            or self._last_calls
        )
        if source == "agent":
            self._replies[place] = len(self.transcript) - 1

    def _add_user_message(self, message: Message) -> None:
        """What the user says in the message that brings results."""
        if message.text is not None and message.role == "user":
            self._history(Message(role="user", text=message.text))

    def _reconcile_reply(self, index: int, message: Message) -> None:
        """A reply that is in the history otherwise than it was given, or was not captured when it was given."""
        if self.transcript.is_bare(index):
            self.transcript.complete(index, message.text, message.thought)
            self._last_calls = [self.transcript.add_call(index, call) for call in message.calls]
            return
        self._last_calls = self.transcript.calls_of(index)
        self.report("a reply stands in the history otherwise than it was given; it is counted once")

    def _reply_without_calls(self, waiting: Sequence[int]) -> int | None:
        """The step of the reply that a list of calls belongs to, told apart from its words; None: there is none."""
        places = waiting[:1] or sorted(self._replies)[-1:]
        index = self._replies[places[0]] if places else None
        if index is None or self.transcript.is_bare(index) or self.transcript.calls_of(index):
            return None
        return index

    def _add_history_result(self, result: ForeignResult, number: int) -> None:
        """A result in the history: that of a call whose own span may have reported it already, all of it or in part."""
        known = self.transcript.called(result.call_id) if result.call_id else None
        if known is None and number < len(self._last_calls):
            known = self._last_calls[number]
        if known is None:
            self.transcript.result(result)
        elif self.transcript.is_answered(known):
            if result.error is not None:
                self.transcript.fail(known, result.error, result.content)
            self.transcript.fill(known, result.content)
        else:
            self.transcript.answer(known, result)


_NOT_OF_AGENTS = ("user", "system", "developer")


def _is_only_calls(message: Message) -> bool:
    """A list of calls without words: some frameworks tell a reply's words and its calls as two messages."""
    return message.role == "assistant" and bool(message.calls) and message.text is None


# What the spans of a conversation carry of its content, noted while they are read.
#
# Instrumentations capture content for all spans or for none, so a call without arguments is one that has none if other
# spans carry theirs, and one whose arguments are not known if no span does. A result may also be in the history that a
# later model call was sent. A model call that failed has no reply that could have been captured.


@dataclass(kw_only=True)
class CapturedContent:
    """Counts of what was there and what was not."""

    _replies: list[tuple[int, bool]] = field(default_factory=list)
    """Of each model call of the outermost agent: the index of its step, and whether its reply was captured."""
    _others: list[int] = field(default_factory=list)
    """Steps of other model calls whose reply was not captured."""
    _asked: bool = False
    _calls: int = 0
    _bare_calls: int = 0
    _unread_results: int = 0
    _has_arguments: bool = False
    _has_answer: bool = False
    _failed: set[int] = field(default_factory=set)
    """Steps of model calls that ended in an error, and without a reply."""

    def model_call(self, index: int, *, is_main: bool, asked: bool, replied: bool, failed: bool) -> None:
        """`asked`: whether the span carries what the model was sent; `replied`: what it replied."""
        self._asked = self._asked or asked
        if failed and not replied:
            self._failed.add(index)
        if is_main:
            self._replies.append((index, replied))
        elif not replied:
            self._others.append(index)

    def tool_span(self, *, has_arguments: bool) -> None:
        """A span of a tool call."""
        self._has_arguments = self._has_arguments or has_arguments

    def bare_call(self) -> None:
        """A call of which neither its span nor a model's reply gives arguments."""
        self._bare_calls += 1

    def unread_result(self) -> None:
        """A call that ended without an error, and of which nothing gives the result."""
        self._unread_results += 1

    def agent_span(self, *, asked: bool) -> None:
        """The outermost agent's own span; `asked`: whether it carries what the agent was asked."""
        self._asked = self._asked or asked

    def answered(self) -> None:
        """The agent's own span carries what it answered."""
        self._has_answer = True

    def lacks_last_reply(self, is_completed: Callable[[int], bool]) -> bool:
        """Whether the last reply of the outermost agent was not captured, or no model call was."""
        if not self._replies:
            return True
        index, replied = self._replies[-1]
        return not replied and not is_completed(index)

    def missing(self, steps: Sequence[Step], is_completed: Callable[[int], bool]) -> tuple[Content, ...]:
        """What is not carried, in the order of the type."""
        return tuple(self._missing_content(steps, is_completed))

    def _missing_content(self, steps: Sequence[Step], is_completed: Callable[[int], bool]) -> Iterator[Content]:
        if final_output(steps) is None and not self._has_answer and self._lacks_answer(is_completed):
            yield "answer"
        unknown = {index for index, replied in self._replies if not replied} | {*self._others}
        unknown -= self._failed if self._asked else set()
        heard = any(step.source == "user" and step.message for step in steps)
        if not (self._asked or heard) or any(not is_completed(index) for index in unknown):
            yield "messages"
        if self._bare_calls and not self._has_arguments:
            yield "arguments"
        if self._unread_results and not any(one.content is not None for step in steps for one in step.observations):
            yield "results"

    def _lacks_answer(self, is_completed: Callable[[int], bool]) -> bool:
        """If content is captured, a last model call that failed shows that there is no answer."""
        ended_in_error = self._asked and bool(self._replies) and self._replies[-1][0] in self._failed
        return self.lacks_last_reply(is_completed) and not ended_in_error


# A tool's span tells of a call that a model's reply asks for: the one with its id; else, for frameworks that give the
# call another id, the one of its tool with its arguments that was asked for at that time. The tool may run on another
# machine, whose clock is some seconds off.

_SKEW_NS = 10 * 10**9
_FEW = 100
"""Calls before and after a span that are looked at."""
_Place = tuple[str, int]
"""Span of a model call, and the place of a call in its reply."""


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A call in a reply; from `began_ns` to `until_ns` the agent's model is not asked again."""

    place: _Place
    call: ForeignCall
    began_ns: int
    until_ns: float


def _calls_of_tools(chats: Sequence[Span], tools: Sequence[Span]) -> dict[str, _Place]:
    """Span of a tool -> the call that it tells of; `chats` and `tools` in the order of their start."""
    asked = list(_calls_in_replies(chats))
    ids = {span.span_id: conventions.result_of_span(span).call_id for span in tools}
    known, found = {one.call.id for one in asked}, dict[str, _Place]()
    waiting = _grouped(asked, lambda one: one.call.id)
    for span in tools:
        found |= _nearest(span, waiting.get(ids[span.span_id], []), lambda _: True)
    taken, told = {*found.values()}, {*ids.values()}
    rest = [one for one in asked if one.place not in taken and one.call.id not in told]
    waiting = _grouped(rest, lambda one: one.call.name)
    for span in tools:
        if span.span_id not in found and ids[span.span_id] not in known - {None}:
            name = conventions.first_text(span, conventions.TOOL) or span.name
            found |= _nearest(span, waiting.get(name, []), partial(_fits, span))
    return found


def _calls_in_replies(chats: Sequence[Span]) -> Iterator[_Asked]:
    until: dict[str | None, float] = {}
    found: list[_Asked] = []
    for span in reversed(chats):
        agent = conventions.agent_of_span(span)
        replies = conventions.outputs_of(span)
        for place, call in reversed([*enumerate(replies[0].calls if replies else ())]):
            until_ns = until.get(agent, math.inf)
            found.append(_Asked(place=(span.span_id, place), call=call, began_ns=span.start_ns, until_ns=until_ns))
        until[agent] = span.start_ns
    return reversed(found)


def _grouped(asked: Iterable[_Asked], key: Callable[[_Asked], str | None]) -> dict[str | None, list[_Asked]]:
    groups: dict[str | None, list[_Asked]] = {}
    for one in asked:
        if key(one):
            groups.setdefault(key(one), []).append(one)
    return groups


def _nearest(span: Span, waiting: list[_Asked], fits: Callable[[_Asked], bool]) -> dict[str, _Place]:
    """The span with the fitting call of the last reply before it, else of the first one after it; takes it away."""
    at = bisect_right(waiting, span.start_ns, key=lambda one: one.began_ns)
    before = sorted(range(max(0, at - _FEW), at), key=lambda place: -waiting[place].began_ns)
    for place in (*before, *range(at, min(len(waiting), at + _FEW))):
        if fits(waiting[place]):
            return {span.span_id: waiting.pop(place).place}
    return {}


def _fits(span: Span, one: _Asked) -> bool:
    if not one.began_ns - _SKEW_NS <= span.start_ns <= one.until_ns + _SKEW_NS:
        return False
    given = conventions.arguments_of_span(span)
    return given is None or _values(given) == _values(one.call.arguments)


def _values(arguments: JsonValue) -> list[str]:
    """The values alone: positional arguments have no names."""
    fields, text = read_arguments(arguments)
    return [text or ""] if fields is None else [canonical_json(value) for value in fields.values()]


_TIMEOUTS = ("timeout", "timed out", "timeouterror", "deadline")


class ConversationReader:
    """Reads the spans of one conversation."""

    def __init__(self, spans: Sequence[Span], transcript: TranscriptBuilder, report: Report) -> None:
        self._spans = {span.span_id: span for span in spans}
        self._transcript = transcript
        self._report = report
        self._kinds = {span.span_id: conventions.kind_of_span(span) for span in spans}
        self._depths = _depths(self._spans)
        self._threads: dict[str, Thread] = {}
        self._calls: dict[str, str] = {}
        """Span of a tool -> the id of its call."""
        self._asked: dict[_Place, str] = {}
        self._bare: dict[str | None, int] = {}
        self._tools: dict[str, FoundTool] = {}
        self._content = CapturedContent()
        self._unread: dict[str, Span] = {}
        """Calls that were made without an error, by spans that do not carry their result."""
        self._requests_alone_are_chats()
        self._programs_are_agents(spans)
        agents = [span for span in self._ordered() if self._kinds[span.span_id] == "agent"]
        self.root = agents[0] if agents else None
        named = next(filter(None, map(conventions.agent_of_span, agents)), None)
        self.agent = named or (conventions.program_of_span(agents[0]) if agents else None) or "agent"
        self.began_ns = min((span.start_ns for span in spans), default=0)

    def steps(self) -> tuple[Step, ...]:
        wrapped = self._wrapping_chats()
        ordered = [span for span in self._ordered() if span.span_id not in wrapped]
        chats, tools = ([span for span in ordered if self._kinds[span.span_id] == kind] for kind in ("chat", "tool"))
        around = {span.span_id: self._same_call_around(span) for span in tools}
        asked = _calls_of_tools(chats, [span for span in tools if around[span.span_id] is None])
        for inner, outer in around.items():
            if outer in asked:
                asked[inner] = asked[outer]
        places = {span.span_id: place for place, span in enumerate(ordered)}
        # A tool is told right after the reply that asks for it: its clock may be another one.
        ordered.sort(
            key=lambda span: places[asked.get(span.span_id, (span.span_id, 0))[0]] + (span.span_id in asked) / 2
        )
        for span in ordered:
            match self._kinds[span.span_id]:
                case "chat":
                    self._chat(span)
                case "tool":
                    self._tool(span, asked.get(span.span_id))
                case "agent":
                    self._offer(span)
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
        """The agent's last message; if it ended with a call, what the outermost agent's own span gives out."""
        said = final_output(steps)
        if said is not None or self.root is None:
            return said
        return "\n".join(message.text for message in conventions.outputs_of(self.root) or () if message.text) or None

    def _ordered(self) -> list[Span]:
        return sorted(self._spans.values(), key=lambda span: (span.start_ns, self._depths[span.span_id]))

    def _wrapping_chats(self) -> set[str]:
        """Chat spans that tell of the same model call as another one, and are left out: a framework and the client
        below it both do. The framework's is left out, unless it alone carries the reply.
        """
        left_out: set[str] = set()
        for span_id, kind in self._kinds.items():
            for above in self._ancestors(span_id) if kind == "chat" else ():
                if self._kinds[above.span_id] in ("tool", "agent"):
                    break
                if self._kinds[above.span_id] == "chat":
                    inner_only = conventions.outputs_of(self._spans[span_id]) or not conventions.outputs_of(above)
                    left_out.add(above.span_id if inner_only else span_id)
                    break
        return left_out

    def _ancestors(self, span_id: str) -> Iterable[Span]:
        seen = {span_id}
        above = self._spans[span_id].parent_id
        while above in self._spans and above not in seen:
            seen.add(above)
            yield self._spans[above]
            above = self._spans[above].parent_id

    def _agent_span(self, span: Span) -> Span | None:
        return next((above for above in self._ancestors(span.span_id) if self._kinds[above.span_id] == "agent"), None)

    def _requests_alone_are_chats(self) -> None:
        """If an instrumentation writes messages or tokens of some requests to a model, it writes them of all."""
        chats = [span for span in self._spans.values() if self._kinds[span.span_id] == "chat"]
        bare = [span.span_id for span in chats if conventions.is_bare_model_span(span)]
        if len(bare) < len(chats):
            self._kinds |= dict.fromkeys(bare, "other")

    def _programs_are_agents(self, spans: Sequence[Span]) -> None:
        """In a trace in which no span is an agent's, the outermost program (a chain, a workflow) is one."""
        told = {span.trace_id for span in spans if self._kinds[span.span_id] == "agent"}
        for span in self._ordered():
            if self._kinds[span.span_id] == "chain" and span.trace_id not in told:
                self._kinds[span.span_id] = "agent"
                told.add(span.trace_id)

    def _agent_name(self, span: Span) -> str | None:
        own = conventions.agent_of_span(span)
        above = self._agent_span(span)
        return own or (conventions.agent_of_span(above) if above else None)

    def _parent_step(self, span: Span) -> int | None:
        """The step whose call started the agent that this span belongs to."""
        for above in self._ancestors(span.span_id):
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
        inputs, outputs = conventions.inputs_of(span), conventions.outputs_of(span)
        self._offer(span)
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
                model=conventions.first_text(span, conventions.MODEL),
                usage=conventions.usage_of_span(span),
                started_ns=max(0, span.start_ns - self.began_ns),
                ended_ns=max(0, span.end_ns - self.began_ns),
                span_id=span.span_id,
            ),
        )
        self._asked |= {(span.span_id, place): known for place, known in enumerate(self._transcript.calls_of(index))}
        failed = span.status == "error"
        replied = message is not None
        self._content.model_call(index, is_main=thread.is_main, asked=bool(inputs), replied=replied, failed=failed)
        if message is None:
            if not failed:
                self._report("a model call's answer was not captured; its step has only what its tools' spans tell")
            self._bare[thread.agent] = index
        else:
            self._bare.pop(thread.agent, None)

    def _offer(self, span: Span) -> None:
        for tool in conventions.tools_of_span(span) or ():
            known = self._tools.get(tool.name)
            if known is None or (known.parameters is None and tool.parameters is not None):
                self._tools[tool.name] = tool

    def _tool(self, span: Span, asked: _Place | None) -> None:
        self._offer(span)
        result, failure = conventions.result_of_span(span), _failure(span)
        name = conventions.first_text(span, conventions.TOOL) or span.name
        known = None if asked is None else self._asked.get(asked)
        if known is None:
            known = self._transcript.waiting(result.call_id, None if result.call_id else name)
        if known is None:
            known = self._told_before(span, result.call_id)
        if known is None:
            known = self._own_call(span, result.call_id, name)
        self._calls[span.span_id] = known
        if self._transcript.is_answered(known):
            return
        self._content.tool_span(has_arguments=conventions.arguments_of_span(span) is not None)
        if result.content is None and failure is None:
            self._unread[known] = span  # the history of the next model call may tell it
            return
        self._unread.pop(known, None)
        lasted = max(0, span.end_ns - span.start_ns) / 1e6
        self._transcript.answer(known, replace(result, error=failure or result.error, duration_ms=lasted))

    def _told_before(self, span: Span, call_id: str | None) -> str | None:
        """The call that another span told of."""
        told = self._transcript.called(call_id) if call_id else None
        if told is not None:
            self._report("two spans tell of one tool call; it is counted once")
        return told or self._calls.get(self._same_call_around(span) or "")

    def _same_call_around(self, span: Span) -> str | None:
        """The span of the same tool with the same arguments that is around this one: a framework's and a client's."""
        for above in self._ancestors(span.span_id):
            if self._kinds[above.span_id] == "tool":
                given, outer = conventions.arguments_of_span(span), conventions.arguments_of_span(above)
                is_same = given is None or outer is None or _values(given) == _values(outer)
                name, other = (conventions.first_text(one, conventions.TOOL) or one.name for one in (span, above))
                return above.span_id if is_same and name == other else None
        return None

    def _own_call(self, span: Span, call_id: str | None, name: str) -> str:
        """A call that no captured reply contains: of the reply before it, or a step of its own."""
        arguments = conventions.arguments_of_span(span)
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
        """If the last reply was not captured, the agent's own output is what it said in the end."""
        if self.root is not None:
            self._content.agent_span(
                asked=bool(conventions.task_of_span(self.root) or conventions.inputs_of(self.root))
            )
        if self.root is None or not self._content.lacks_last_reply(self._transcript.is_completed):
            return
        said = [message.text for message in conventions.outputs_of(self.root) or () if message.text]
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
    given = conventions.task_of_span(conversation.root) if conversation.root is not None else None
    if given is not None:
        return given
    message = next((step.message for step in steps if step.source == "user" and step.message), None)
    if message is not None or conversation.root is None:
        return message
    return next((m.text for m in conventions.inputs_of(conversation.root) if m.role == "user" and m.text), None)


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
    return ToolFailure(type=_error_type(str(raw or ""), message), message=str(message or raw or "failed")[:500])


def _error_type(named: str, message: JsonValue) -> ToolErrorType:
    """`named`: the attribute `error.type`, which is a status code if a server answered with one."""
    if named.isascii() and named.isdecimal() and int(named) >= 500:
        return "tool_unavailable"
    raw = f"{named} {message or ''}"
    return "timeout" if any(word in raw.lower() for word in _TIMEOUTS) else "tool_error"
