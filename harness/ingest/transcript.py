"""Builds steps from messages of any foreign format; only this module joins results to their calls.

Call ids in the wild are empty, repeated or missing. A result goes to the oldest unanswered call with its id; without
such a call to the oldest unanswered call of its tool; then to the oldest unanswered call at all. In the steps every
call has an id of its own, so that nobody who looks a result up by it meets another's.
"""

import re
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from harness.ingest.credentials import Cleaner
from harness.ingest.foreign import ForeignCall, ForeignResult, ForeignStep, read_arguments
from harness.trace import Observation, Step, ToolCall, ToolFailure
from harness.values import JsonValue

_SUBMITTING = frozenset({"submit", "submitanswer", "finalanswer", "finish", "submitfinalanswer"})
_SUBMITS = "COMPLETE_TASK_AND_SUBMIT"
"""The marker that mini-swe-agent's agents print to submit."""
_WORDS = re.compile(r"[^a-z]+")
_MARKED = re.compile(r"(?m)^\s{0,8}\**FINAL ANSWER\**:\**\s{0,4}(\S[^\n]*?)\**\s*$")
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
        self._names: dict[str, str] = {}
        self._unanswered: dict[str, None] = {}
        self._waiting: dict[tuple[str, str], deque[str]] = {}
        self._repeats: dict[str, int] = {}
        self._last_with: dict[str, str] = {}
        self._completed: set[int] = set()
        self.asides: set[int] = set()
        """Steps whose messages are no answer to the user."""

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
        self._names[known] = call.name
        self._unanswered[known] = None
        if call.id:
            self._last_with[call.id] = known
            self._waiting.setdefault(("id", call.id), deque()).append(known)
        self._waiting.setdefault(("name", call.name), deque()).append(known)
        return known

    def abandon(self) -> None:
        """No call so far waits for a result any longer: what comes later answers later calls."""
        self._unanswered.clear()

    def is_answered(self, known: str) -> bool:
        return known not in self._unanswered

    def called(self, call_id: str) -> str | None:
        """The oldest unanswered call that was told with this id, else the last answered one; None: no call has it."""
        return self.waiting(call_id, None) or self._last_with.get(call_id)

    def fill(self, known: str, content: JsonValue) -> None:
        """Gives an answered call the content of its result, where the answer had none."""
        results = self._steps[self._step_of[known]].results
        for index, (answered, result) in enumerate(results):
            if answered == known and result.content is None:
                results[index] = (known, replace(result, content=content))

    def fail(self, known: str, error: ToolFailure, content: JsonValue) -> None:
        """Gives an answered call the error that was told after its output, which is kept before it."""
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
        """Gives a bare step the content that was told later."""
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

    def name_of(self, known: str) -> str:
        return self._names[known]

    def result(self, result: ForeignResult) -> str | None:
        """Joins a result to its call; the call's id here, or None where no call waits for one."""
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
        """Gives a call its result when those of later calls of its step are there already: it stands before them."""
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
        found = self._oldest(("id", result.call_id)) if result.call_id else None
        if found is not None:
            return found
        if result.call_id and result.call_id in self._repeats:
            return None  # its call is there and was answered: a second answer is nobody else's
        found = (self._oldest(("name", result.name)) if result.name else None) or next(iter(self._unanswered), None)
        if found is not None and result.call_id:
            self._report("a result names a call id that no call has; it was joined by order")
        return found

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
            calls=tuple(self._call(known, call) for known, call in step.calls),
            observations=tuple(self._observation(known, result) for known, result in step.results),
            model=read.model,
            usage=read.usage,
            started_ns=read.started_ns,
            ended_ns=read.ended_ns,
            span_id=read.span_id,
        )

    def _call(self, known: str, call: ForeignCall) -> ToolCall:
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


def final_output(steps: Sequence[Step], asides: Collection[int] = ()) -> str | None:
    """The agent's last message, or what it submitted; None where it went on to call other tools, and gave no answer.

    `asides`: messages that are no answer to the user. Where there are some, agents talk to each other: what the last
    message of any of them marks as the final answer is it.
    """
    last = next((step for step in reversed(steps) if step.source == "agent"), None) if asides else None
    marked = None if last is None else _MARKED.search(last.message or last.thought or "")
    if marked is not None:
        return marked[1]
    answer: str | None = None
    for step in steps:
        if step.source == "agent" and step.parent is None and step.index not in asides:
            if step.calls:
                answer = _submitted(step)
            elif step.message is not None:
                answer = step.message
    return answer


def _submitted(step: Step) -> str | None:
    """What the step's last call hands in: an argument that is its only text, else what came back, else the words."""
    call = step.calls[-1]
    command = (call.arguments or {}).get("command")
    by_command = isinstance(command, str) and (command.strip() == "submit" or _SUBMITS in command)
    if not by_command and _WORDS.sub("", call.name.casefold()) not in _SUBMITTING:
        return None
    texts = [] if by_command else [text for text in (call.arguments or {}).values() if isinstance(text, str) and text]
    seen = [one.content for one in step.observations if isinstance(one.content, str) and one.content]
    return (texts[0] if len(texts) == 1 else None) or (seen[-1] if seen else None) or step.message or call.name
