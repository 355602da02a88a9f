"""What a counterfactual trial changes: interventions on the calls, the answers and the user of one trial.

An intervention is data: the gateway applies it, and the agent's code is never touched. Calls are counted from 0 in the
order in which the agent makes them.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, JsonValue, model_validator

from harness.suite.cases import Case, FaultSpec
from harness.suite.conversations import Conversation, UserTurn
from harness.values import Frozen, JsonObject

EditKind = Literal["answer", "replace", "drop", "before"]
"""`answer`: the call is answered with `content` or `error`. `replace`: another call is made in its place. `drop`: no
call is made, and the agent is answered with `content`. `before`: further calls are made, whose answers the agent does
not receive.
"""


class Invocation(Frozen):
    """A tool and its arguments."""

    tool: str
    """Name of a tool of the suite."""
    arguments: JsonObject = {}
    """What the tool is called with."""


class CallEdit(Frozen):
    """One change at one call of the agent."""

    at: int = Field(ge=0)
    """Number of the call."""
    kind: EditKind
    """What is done to it."""
    calls: tuple[Invocation, ...] = ()
    """The calls that are made; exactly one for `replace`."""
    content: JsonValue = None
    """The answer of `answer` and `drop`."""
    error: str | None = None
    """Type of the error in the answer, of the closed vocabulary; None: the call succeeds."""
    message: str = ""
    """The words of the error."""

    @model_validator(mode="after")
    def _is_whole(self) -> "CallEdit":
        made = len(self.calls)
        if self.kind == "replace" and made != 1:
            raise ValueError("an edit of kind replace has exactly one of `calls`")
        if (self.kind == "before") != (made > 0) and self.kind != "replace":
            raise ValueError("edits of kind before have `calls`, and no others")
        return self


class Intervention(Frozen):
    """One change of a trial. All parts are applied together."""

    step: int | None = None
    """Index of the step at which it is made; None: at no step in particular."""
    words: str
    """The change in a report's words."""
    edits: tuple[CallEdit, ...] = ()
    """Changes at calls of the agent."""
    at_end: tuple[Invocation, ...] = ()
    """Calls that are made when the agent has ended."""
    final_answer: str | None = None
    """Replaces the agent's answer; None: it stays as it is."""
    faults: tuple[FaultSpec, ...] = ()
    """Faults in addition to the case's."""
    lifts_faults: bool = False
    """Whether the faults that the case declares are left out."""
    hint: str | None = None
    """A message of the user, sent after the replies that are counted in `replies_before`."""
    replies_before: int = Field(default=1, ge=1)
    """So many replies of the agent come before the hint."""


class FedCall(Frozen):
    """A call that the agent must make again, and the recorded answer that it receives."""

    tool: str
    arguments: JsonObject | None = None
    """None: the agent sent no JSON object; see `unparsed`."""
    unparsed: str | None = None
    content: JsonValue = None
    error: str | None = None
    """Type of the error; None: the call succeeded."""
    message: str = ""
    step: int
    """Index of its step in the trial that it comes from."""


class TrialVariant(Frozen):
    """A trial that is run otherwise than its case says.

    Interventions are applied one after the other: each sees the calls as the earlier ones left them.
    """

    parent: str | None = None
    """The trial that it is a variant of: `run/case/attempt`."""
    interventions: tuple[Intervention, ...] = ()
    """In the order in which they are applied."""
    descriptions: Mapping[str, str] = {}
    """Tool -> the description that the agent reads instead of the suite's."""
    fed: tuple[FedCall, ...] = Field(default=(), exclude=True)
    """The calls before the fork, as in the parent; they are not stored again."""

    def applied_to(self, case: Case) -> Case:
        """The case with the faults and the hints of the interventions."""
        faults = tuple(fault for one in self.interventions for fault in one.faults)
        own = () if any(one.lifts_faults for one in self.interventions) else case.faults
        changed = case.model_copy(update={"faults": (*own, *faults)})
        for one in self.interventions:
            if one.hint is not None:
                talk = _with_hint(changed, one.hint, one.replies_before)
                changed = changed.model_copy(update={"conversation": talk})
        return changed

    @property
    def final_answer(self) -> str | None:
        """The answer that replaces the agent's own; None: it stays as it is."""
        answers = [one.final_answer for one in self.interventions if one.final_answer is not None]
        return answers[-1] if answers else None


def _with_hint(case: Case, hint: str, replies_before: int) -> Conversation:
    """The conversation with one further message; turns before it keep their order and their conditions."""
    talk = case.conversation or Conversation()
    place = min(replies_before - 1, len(talk.turns))
    turns = (*talk.turns[:place], UserTurn(say=hint), *talk.turns[place:])
    return talk.model_copy(update={"turns": turns, "max_turns": talk.max_turns + 1})
