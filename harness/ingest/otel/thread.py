"""The history of one agent, which every model call repeats: each of its messages is a step once.

New messages of a call's input follow the last known message. Messages are compared as they are
meant (without ids and reasoning); a reply that comes back in other words is recognised by its place.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.ingest.foreign import ForeignResult, ForeignStep
from harness.ingest.otel.message import Message
from harness.ingest.transcript import Report, TranscriptBuilder
from harness.trace.trajectory import Source


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
    _results: set[int] = field(default_factory=set)
    """Places of results."""
    _last_calls: list[str] = field(default_factory=list)

    def overlap(self, inputs: Sequence[Message]) -> int:
        """How many replies and results of this history the input repeats: 0 means another conversation."""
        return sum(place in self._replies or place in self._results for place in self._matches(inputs).values())

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
                self._remember(message.key)
                answered = 0
            elif message.role == "assistant" and waiting:
                self._recognise(self._replies[waiting.pop(0)], message)
            elif message.results:
                for number, result in enumerate(message.results, start=answered):
                    self._answer(result, number)
                answered += len(message.results)
                self._results.add(self._remember(message.key))
                self._say(message)
            else:
                self._history(message)

    def reply(self, message: Message | None, step: ForeignStep) -> int:
        """Adds the model's answer, or a step without content where it was not captured; the step's index."""
        self._last_calls = list(self.transcript.add(step))
        place = self._remember("" if message is None else message.key)
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

    def _remember(self, key: str) -> int:
        self._known.append(key)
        place = len(self._known) - 1
        if key:
            self._places.setdefault(key, []).append(place)
        return place

    def _history(self, message: Message) -> None:
        """A message that no traced call gave: the user's, the system's, or a reply from before the trace began."""
        place = self._remember(message.key)
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

    def _say(self, message: Message) -> None:
        """What the user says in the message that brings results."""
        if message.text is not None and message.role == "user":
            self._history(Message(role="user", text=message.text))

    def _recognise(self, index: int, message: Message) -> None:
        """A reply that stands in the history otherwise than it was given, or was not captured when it was given."""
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

    def _answer(self, result: ForeignResult, number: int) -> None:
        """A result in the history: that of a call whose own span may have told it already, all of it or in part."""
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


def _is_only_calls(message: Message) -> bool:
    """A list of calls without words: some frameworks tell a reply's words and its calls as two messages."""
    return message.role == "assistant" and bool(message.calls) and message.text is None
