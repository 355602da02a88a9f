"""What the spans of a conversation carry of its content, noted while they are read.

Instrumentations capture content for all spans or for none, so a call without arguments is one that has none where
other spans carry theirs, and one whose arguments are not known where no span does. A result may also stand in the
history that a later model call was sent. A model call that failed has no reply that could have been captured.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.ingest.transcript import final_output
from harness.trace import Content, Step


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
        return tuple(self._missing(steps, is_completed))

    def _missing(self, steps: Sequence[Step], is_completed: Callable[[int], bool]) -> Iterator[Content]:
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
        """Where content is captured, a last model call that failed shows that there is no answer."""
        ended_in_error = self._asked and bool(self._replies) and self._replies[-1][0] in self._failed
        return self.lacks_last_reply(is_completed) and not ended_in_error
