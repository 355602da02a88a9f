"""Steps from the messages of any foreign format; only this file joins results to their calls."""

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from harness.cassettes.credentials import Cleaner
from harness.traces.foreign_json import embedded_json
from harness.traces.trajectory import Observation, ReplayTier, Source, Step, ToolCall, ToolFailure, Usage
from harness.values import JsonObject

# The steps, calls and results that another program stored, before their conversion to a trajectory.


@dataclass(frozen=True, kw_only=True)
class ForeignCall:
    """A call in a file; `arguments` may be an object, or unparsed JSON text."""

    id: str | None
    name: str
    arguments: JsonValue
    unparsed: str | None = None
    """Set if the file itself states that the arguments could not be parsed."""


@dataclass(frozen=True, kw_only=True)
class ForeignResult:
    """The result of a call."""

    call_id: str | None
    name: str | None = None
    content: JsonValue
    error: ToolFailure | None = None
    replayed: ReplayTier | None = None
    duration_ms: float | None = None


@dataclass(frozen=True, kw_only=True)
class ForeignStep:
    """One message, or one model reply with all its parallel calls."""

    source: Source
    message: str | None = None
    calls: tuple[ForeignCall, ...] = ()
    agent: str | None = None
    parent: int | None = None
    thought: str | None = None
    plan: tuple[str, ...] | None = None
    model: str | None = None
    usage: Usage | None = None
    started_ns: int | None = None
    ended_ns: int | None = None
    span_id: str | None = None


def joined(before: ForeignStep, after: ForeignStep) -> ForeignStep:
    """One reply of which a file tells the parts one after the other."""

    def text(*parts: str | None) -> str | None:
        return "\n".join(part for part in parts if part is not None) or None

    return replace(
        before,
        message=text(before.message, after.message),
        thought=text(before.thought, after.thought),
        calls=(*before.calls, *after.calls),
        usage=after.usage or before.usage,
    )


def read_arguments(raw: JsonValue) -> tuple[JsonObject | None, str | None]:
    """(the arguments, None), or (None, the text) if they are not a JSON object. None given: no arguments."""
    match raw:
        case dict():
            return raw, None
        case None:
            return {}, None
        case str():
            if not raw.strip():
                return {}, None
            parsed = embedded_json(raw)
            return (parsed, None) if isinstance(parsed, dict) else (None, raw)
        case _:
            return None, json.dumps(raw, ensure_ascii=False)


# Call ids may be empty, repeated or missing. A result goes to the oldest unanswered call with its id. A result without
# an id goes to the oldest unanswered call of the tool that it names, or to the oldest that has no id either. Any other
# result belongs to no call, and is counted. In the steps every call has an id of its own.

Report = Callable[[str], None]
"""Takes a note about the trajectory: the problem in words."""


@dataclass(kw_only=True)
class _Open:
    """A step that still takes calls and results; `told` is what was known when it began."""

    step: ForeignStep
    calls: list[tuple[str, ForeignCall]] = field(default_factory=list)
    results: list[tuple[str, ForeignResult]] = field(default_factory=list)


class TranscriptBuilder:
    """Collects steps and results in the order of the file."""

    def __init__(self, report: Report, cleaner: Cleaner) -> None:
        self._report = report
        self._cleaner = cleaner
        self._steps: list[_Open] = []
        self._step_of: dict[str, int] = {}
        self._unanswered: dict[str, None] = {}
        self._waiting: dict[tuple[str, str], deque[str]] = {}
        self._repeats: dict[str, int] = {}
        self._last_with: dict[str, str] = {}
        self._completed: set[int] = set()

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, step: ForeignStep) -> tuple[str, ...]:
        """Appends a step; the ids that its calls have here, in order."""
        self._steps.append(_Open(step=step))
        return tuple(self.add_call(len(self._steps) - 1, call) for call in step.calls)

    def add_call(self, index: int, call: ForeignCall) -> str:
        """Adds a call to an earlier step; its id here."""
        known = self._unique(call.id or "")
        self._steps[index].calls.append((known, call))
        self._step_of[known] = index
        self._unanswered[known] = None
        if call.id:
            self._last_with[call.id] = known
        self._waiting.setdefault(("id", call.id or ""), deque()).append(known)
        self._waiting.setdefault(("name", call.name), deque()).append(known)
        return known

    def is_answered(self, known: str) -> bool:
        return known not in self._unanswered

    def called(self, call_id: str) -> str | None:
        """The oldest unanswered call that was reported with this id, else the last answered one; None: no call
        has it.
        """
        return self.waiting(call_id, None) or self._last_with.get(call_id)

    def fill(self, known: str, content: JsonValue) -> None:
        """Gives an answered call the content of its result, if the answer had none."""
        results = self._steps[self._step_of[known]].results
        for index, (answered, result) in enumerate(results):
            if answered == known and result.content is None:
                results[index] = (known, replace(result, content=content))

    def fail(self, known: str, error: ToolFailure, content: JsonValue) -> None:
        """Gives an answered call the error that was reported after its output, which is kept before it."""
        results = self._steps[self._step_of[known]].results
        for index, (answered, result) in enumerate(results):
            if answered == known and result.error is None:
                both = [text for text in (result.content, content) if isinstance(text, str)]
                results[index] = (known, replace(result, error=error, content="\n".join(both) or content))

    def is_bare(self, index: int) -> bool:
        """Whether nothing of a step's content is known yet."""
        step = self._steps[index]
        return not step.calls and step.step.message is None and step.step.thought is None

    def complete(self, index: int, message: str | None, thought: str | None) -> None:
        """Gives a bare step the content that was reported later."""
        step = self._steps[index]
        step.step = replace(step.step, message=message, thought=thought)
        self._completed.add(index)

    def is_completed(self, index: int) -> bool:
        """Whether a bare step was given its content."""
        return index in self._completed

    def calls_of(self, index: int) -> list[str]:
        """Ids of a step's calls."""
        return [known for known, _ in self._steps[index].calls]

    def step_of(self, known: str) -> int:
        """Index of the step that made a call."""
        return self._step_of[known]

    def result(self, result: ForeignResult) -> str | None:
        """Joins a result to its call; the call's id here, or None if no call waits for one."""
        known = self._call_for(result)
        if known is None:
            self._orphan(result)
            return None
        self.answer(known, result)
        return known

    def answer(self, known: str, result: ForeignResult) -> None:
        """Gives a call its result."""
        self._unanswered.pop(known, None)
        self._steps[self._step_of[known]].results.append((known, result))

    def answer_late(self, known: str, result: ForeignResult) -> None:
        """Gives a call its result when those of later calls of its step are there already: it precedes them."""
        self._unanswered.pop(known, None)
        step = self._steps[self._step_of[known]]
        order = [call for call, _ in step.calls]
        later = {*order[order.index(known) :]}
        place = next((number for number, (call, _) in enumerate(step.results) if call in later), len(step.results))
        step.results.insert(place, (known, result))

    def waiting(self, call_id: str | None, name: str | None) -> str | None:
        """The oldest unanswered call with this id; without an id, the oldest of this tool."""
        if call_id:
            return self._oldest(("id", call_id))
        return self._oldest(("name", name)) if name else None

    def steps(self) -> tuple[Step, ...]:
        """All steps. Nothing may be added afterwards."""
        before = self._cleaner.found
        steps = tuple(self._finished(index, step) for index, step in enumerate(self._steps))
        if self._cleaner.found > before:
            self._report("what looks like a credential was replaced by a pseudonym")
        return steps

    def _call_for(self, result: ForeignResult) -> str | None:
        if result.call_id:
            return self._oldest(("id", result.call_id))
        return self._oldest(("name", result.name) if result.name else ("id", ""))

    def _oldest(self, key: tuple[str, str]) -> str | None:
        queue = self._waiting.get(key)
        while queue and queue[0] not in self._unanswered:
            queue.popleft()
        return queue[0] if queue else None

    def _orphan(self, result: ForeignResult) -> None:
        self._report("a result belongs to no call; it is kept with the step before it")
        if not self._steps:
            self._steps.append(_Open(step=ForeignStep(source="system")))
        self._steps[-1].results.append((self._unique(f"{result.call_id or 'result'}#orphan", orphan=True), result))

    def _unique(self, raw: str, *, orphan: bool = False) -> str:
        count = self._repeats.get(raw, 0) + 1
        self._repeats[raw] = count
        if raw and count == 1 and raw not in self._step_of:
            return raw
        if raw and not orphan:
            self._report("a call id is used again; later calls have a number added")
        made = f"{raw or 'call'}#{count}"
        while made in self._step_of or made in self._repeats:
            count += 1
            made = f"{raw or 'call'}#{count}"
        self._repeats[raw] = count
        return made

    def _finished(self, index: int, step: _Open) -> Step:
        read = step.step
        clean = self._cleaner
        return Step(
            index=index,
            source=read.source,
            agent=read.agent,
            parent=read.parent,
            message=clean.text_or_none(read.message),
            thought=clean.text_or_none(read.thought),
            plan=None if read.plan is None else tuple(clean.text(part) for part in read.plan),
            calls=tuple(self._tool_call(known, call) for known, call in step.calls),
            observations=tuple(self._observation(known, result) for known, result in step.results),
            model=read.model,
            usage=read.usage,
            started_ns=read.started_ns,
            ended_ns=read.ended_ns,
            span_id=read.span_id,
        )

    def _tool_call(self, known: str, call: ForeignCall) -> ToolCall:
        arguments, unparsed = read_arguments(call.arguments) if call.unparsed is None else (None, call.unparsed)
        if unparsed is not None:
            self._report("the arguments of a call are not a JSON object; their text is kept as it stands")
        return ToolCall(
            id=known,
            name=call.name,
            arguments=None if arguments is None else self._cleaner.fields(arguments),
            unparsed=self._cleaner.text_or_none(unparsed, keep_empty=True),
        )

    def _observation(self, known: str, result: ForeignResult) -> Observation:
        return Observation(
            call_id=known,
            content=self._cleaner.value(result.content),
            error=None
            if result.error is None
            else ToolFailure(type=result.error.type, message=self._cleaner.text(result.error.message)),
            replayed=result.replayed,
            duration_ms=result.duration_ms,
        )


def final_output(steps: Sequence[Step]) -> str | None:
    """The agent's last message; None if it went on to call tools, and gave no answer."""
    answer: str | None = None
    for step in steps:
        if step.source == "agent" and step.parent is None and (step.calls or step.message is not None):
            answer = None if step.calls else step.message
    return answer
