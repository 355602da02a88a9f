"""OpenAI chat: conversations of messages, as fine-tuning examples, logs of requests and responses, or bare lists."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from harness.case import Case
from harness.ingest.actions import ActionForm, form_of
from harness.ingest.content import has_other_parts, result_of, text_of
from harness.ingest.definitions import declared_in
from harness.ingest.foreign import ForeignCall, ForeignResult, ForeignStep
from harness.ingest.found import Found, FoundRun, Importer, Source
from harness.ingest.naming import case_id, task_id, wall_ns
from harness.ingest.plain_errors import plain_failure
from harness.ingest.prompt_history import steps_in_prompt
from harness.ingest.reading import Record
from harness.ingest.records import conversations_of
from harness.ingest.shapes.messages import chat_messages
from harness.ingest.speakers import Speaker, is_group, speaker
from harness.ingest.transcript import TranscriptBuilder
from harness.ingest.turns import add_turns, is_turn
from harness.trace import ToolFailure, Usage
from harness.trace.trajectory import Source as StepSource
from harness.values import JsonValue

_ENDS: Final = "(termination condition)"
_SENT_TO: Final = re.compile(r"\(->\s*([^)]{1,80})\)")

_FLAGS: Final = ("success", "resolved", "is_correct", "correct", "passed", "is_corrected")


def read(source: Source) -> Iterator[Found]:
    """Every conversation of the file."""
    for name, record in conversations_of(source):
        yield _found(source, name, record)


IMPORTER = Importer(patterns=("*.jsonl", "*.ndjson", "*.json", "*.traj"), read=read)


def add_messages(source: Source, record: str, transcript: TranscriptBuilder, messages: Sequence[Record]) -> None:
    """Chat messages as steps, and as results of earlier ones."""
    talk = _Talk(source, record, transcript, messages)
    for message in messages:
        talk.add(message)


def first_text(messages: Sequence[Record], *roles: str) -> str | None:
    """The text of the first message of one of the roles."""
    return next((text_of(m.value("content", "value")) for m in messages if m.value("role", "from") in roles), None)


def calls_of(message: Record) -> tuple[ForeignCall, ...]:
    """The calls of a reply, in today's shape and in the older one of a single function."""
    calls = [_call(call) for call in message.records("tool_calls")]
    older = message.record("function_call")
    if older is not None:
        calls.append(ForeignCall(id=None, name=_name(older), arguments=older.value("arguments")))
    return tuple(calls)


def usage_of(usage: Record | None) -> Usage | None:
    if usage is None:
        return None
    return Usage(
        input_tokens=usage.count("prompt_tokens", "input_tokens"),
        output_tokens=usage.count("completion_tokens", "output_tokens"),
    )


class _Talk:
    """The messages of one log, and how its agents act: by calls, or by actions written as text."""

    def __init__(self, source: Source, record: str, transcript: TranscriptBuilder, messages: Sequence[Record]) -> None:
        self._source = source
        self._record = record
        self._transcript = transcript
        names = [_name_of(message) for message in messages if message.data.get("role") not in ("system", "developer")]
        self._in_group = is_group(names)
        replying = {_name_of(message) for message in messages if message.data.get("role") == "assistant"} - {None}
        self._names_agents = len(replying) > 1
        self._speakers = [self._speaker(message) for message in messages]
        self._place = 0
        self._sent_to: dict[str, int] = {}
        self._form = self._form_of(messages)

    def add(self, message: Record) -> None:
        """Takes the next message."""
        who = self._speakers[self._place]
        self._place += 1
        content = message.value("content", "value")
        if has_other_parts(content):
            self._source.note(
                self._record, "a message holds parts that are not text; each is named in brackets", field="content"
            )
        if who is None:
            role = message.text("role")
            if role is None:
                raise message.refusal("role", "is missing")
            problem = f"role {role!r} is not known; its message is read as the system's"
            self._source.note(self._record, problem, field="role")
        match who.role if who else "system":
            case "assistant":
                self._reply(message, who)
            case "tool":
                self._result(message, content)
            case "user" if self._answers_an_action():
                self._result(message, content)
            case role:
                source: StepSource = "user" if role == "user" else "system"
                text = text_of(content)
                self._transcript.add(ForeignStep(source=source, message=text, agent=who.agent if who else None))
                for step in steps_in_prompt(text or "") if source == "user" else ():
                    self._transcript.add(step)

    def _speaker(self, message: Record) -> Speaker | None:
        role = message.text("role", "from")
        if role is None:
            return None
        in_group = self._in_group or (self._names_agents and role == "assistant")
        return speaker(role, _name_of(message), in_group=in_group)

    def _form_of(self, messages: Sequence[Record]) -> ActionForm | None:
        if self._in_group or any(message.value("tool_calls", "function_call") is not None for message in messages):
            return None
        instructions = [*self._texts(messages, "system"), *self._texts(messages, "user")[:1]]
        replies = [
            (text_of(message.value("content", "value")) or "", place + 1 < len(messages))
            for place, message in enumerate(messages)
            if _is_plain_agent(self._speakers[place])
        ]
        return form_of(instructions, replies)

    def _texts(self, messages: Sequence[Record], role: str) -> list[str]:
        return [
            text_of(message.value("content", "value")) or ""
            for place, message in enumerate(messages)
            if (who := self._speakers[place]) is not None and who.role == role
        ]

    def _reply(self, message: Record, who: Speaker | None) -> None:
        agent = who.agent if who else None
        step = replace(_reply(message), agent=agent, parent=self._sent_to.pop(agent or "", None))
        role = message.text("role", "from") or ""
        if agent is not None and "(thought)" in role:
            step = replace(step, message=None, thought=step.message)
        if self._form is not None and step.message and not step.calls:
            step = _with_actions(step, self._form)
            self._transcript.abandon()  # a reply with two actions is answered once, or refused
        self._transcript.add(step)
        sent = _SENT_TO.search(role)
        if sent is not None:
            self._sent_to[sent[1].strip()] = len(self._transcript) - 1
        if sent is not None or _ENDS in role:
            self._transcript.asides.add(len(self._transcript) - 1)

    def _result(self, message: Record, content: JsonValue) -> None:
        self._transcript.result(
            ForeignResult(
                call_id=message.identifier("tool_call_id"),
                name=message.text("name"),
                content=result_of(content),
                error=_failure(message, content),
            )
        )

    def _answers_an_action(self) -> bool:
        """Whether this message follows a reply with an unanswered action: it is then the environment's answer."""
        last = len(self._transcript) - 1
        return (
            self._form is not None
            and last >= 0
            and bool(calls := self._transcript.calls_of(last))
            and not self._transcript.is_answered(calls[-1])
        )


def _failure(message: Record, content: JsonValue) -> ToolFailure | None:
    """By the log's own flag; without one by the text alone."""
    flag, text = message.value("is_error"), text_of(content) or ""
    if not isinstance(flag, bool):
        return plain_failure(text)
    return (plain_failure(text) or ToolFailure(type="tool_error", message=text[:500])) if flag else None


def _with_actions(step: ForeignStep, form: ActionForm) -> ForeignStep:
    said, calls = form.acted(step.message or "")
    if not calls:
        return step
    answer = _answer_to_user(calls)
    return replace(
        step, message=answer or said, thought=said if answer else step.thought, calls=() if answer else calls
    )


def _answer_to_user(calls: Sequence[ForeignCall]) -> str | None:
    """The text of an action that only sends a message to the user: `respond(content)`."""
    if len(calls) != 1 or calls[0].name != "respond" or not isinstance(calls[0].arguments, dict):
        return None
    content = calls[0].arguments.get("content")
    return content if isinstance(content, str) and len(calls[0].arguments) == 1 else None


def _is_plain_agent(who: Speaker | None) -> bool:
    return who is not None and who.role == "assistant"


def _name_of(message: Record) -> str | None:
    name = message.value("name")
    return name if isinstance(name, str) and name else None


def _call(call: Record) -> ForeignCall:
    function = call.record("function", "custom") or call
    return ForeignCall(
        id=call.identifier("id"),
        name=_name(function),
        arguments=function.value("arguments", "input", "args", "parameters"),
    )


def _name(function: Record) -> str:
    name = function.text("name")
    if name is None:
        raise function.refusal("name", "is missing: every call names a tool")
    return name


def _reply(message: Record, response: Record | None = None) -> ForeignStep:
    return ForeignStep(
        source="agent",
        message=text_of(message.value("content", "value", "refusal")),
        thought=text_of(message.value("reasoning_content", "reasoning")),
        calls=calls_of(message),
        model=response.text("model") if response else None,
        usage=usage_of(response.record("usage")) if response else None,
    )


def _found(source: Source, name: str, record: Record) -> Found:
    transcript = source.transcript(name)
    messages = _opened(record.records("messages"))
    if messages and is_turn(messages[0].data):
        add_turns(transcript, messages)
    else:
        add_messages(source, name, transcript, messages)
    _add_response(source, name, transcript, record)
    return Found(
        case=_case(source, name, record, messages),
        record=name,
        tools=declared_in(record),
        run=FoundRun(
            steps=transcript.steps(),
            asides=frozenset(transcript.asides),
            agent=record.text("agent", "model") or "agent",
            attempt=record.count("trial", "attempt"),
            reward=_reward(record),
            started_ns=wall_ns(record.value("created", "timestamp")),
        ),
    )


def _opened(messages: Sequence[Record]) -> list[Record]:
    """The same messages; those whose parts hold calls or results as several."""
    return [replace(each, data=one) for each in messages for one in chat_messages(each.data)]


def _add_response(source: Source, name: str, transcript: TranscriptBuilder, record: Record) -> None:
    response = record.record("response") or record
    choices = response.records("choices")
    if len(choices) > 1:
        source.note(name, "a response has several choices; the first is taken", field="choices")
    for choice in choices[:1]:
        message = choice.record("message")
        if message is None:
            raise choice.refusal("message", "is missing")
        transcript.add(_reply(message, response))


def _reward(record: Record) -> float | None:
    """The reward: a number, or a flag for whether the run reached its goal."""
    reward = record.value("reward", "score")
    if isinstance(reward, int | float) and not isinstance(reward, bool):
        return record.number("reward", "score")
    flag = next((record.data[name] for name in _FLAGS if isinstance(record.data.get(name), bool)), None)
    return None if flag is None else float(bool(flag))


def _case(source: Source, name: str, record: Record, messages: Sequence[Record]) -> Case:
    given = record.value("task", "question", "goal", "query")
    first = first_text(messages, "user", "human")
    task, system = given if isinstance(given, str) and given else first, first_text(messages, "system", "developer")
    identifier = record.identifier("task_id", "case_id", "instance_id", "id")
    identity = task_id(task, system) if identifier is None else case_id(identifier)
    origin = f"{source.path.name} {name}"
    return source.case(name, {"id": identity, "task": task, "system": system, "origin": origin})
