"""The user that a model plays: reads what is said, pursues the plan, and ends the conversation by a signal of "
"its own."""

from dataclasses import dataclass
from typing import Final

from harness.case import UserSpec
from harness.gateway import Cut, Heard, UserSeat
from harness.simulate.asking import Answered, UserModel, no_message
from harness.simulate.fidelity.check import checked
from harness.simulate.fidelity.message import Problem, problem_with
from harness.simulate.meaning.sentences import is_open_promise, is_open_question
from harness.simulate.role import Role, prompt_of, without_replies
from harness.simulate.stopping import Spoken, Wish, read_signal
from harness.trace import UserEnding, UserFault, UserReport
from harness.upstream import ModelCassette
from harness.values import JsonObject

GO_ON: Final = "Please go on with what I asked for."
"""Said where the model insists on ending although the agent has left something open."""


@dataclass(kw_only=True)
class _Spent:
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None

    def add(self, answered: Answered) -> None:
        self.input_tokens += answered.input_tokens
        self.output_tokens += answered.output_tokens
        if answered.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + answered.cost_usd


class ModelUser:
    """Plays one trial's user; implements `User`."""

    sees_calls = False

    def __init__(self, model: UserModel, role: Role, seat: UserSeat, *, generated_from: int = 1) -> None:
        """`generated_from`: how many messages were said before this user plays (a log's, and the opening)."""
        self._model = model
        self._role = role
        self._seat = seat
        self._from = generated_from
        self._cassette: ModelCassette | None = None
        self._ended: UserEnding | None = None
        self._reason: str | None = None
        self._cut_by_agent = False
        self._fault: UserFault | None = None
        self._spent = _Spent()

    async def reply(self, heard: Heard) -> str | None:
        if self._ended is not None:
            return None
        if self._silent(heard):
            self._end("gave_up", f"the agent said nothing {self._spec.silence} times")
            return None
        return await self._next(heard)

    async def _next(self, heard: Heard) -> str | None:
        turn, notes = len(heard.said) + 1, list[str]()
        problem: Problem | None = None
        for _ in range(self._spec.corrections + 1):
            answered = await self._asked(heard, notes)
            if answered is None:
                return None
            spoken = read_signal(answered.text)
            problem = problem_with(self._role, heard, answered, spoken)
            if problem is None:
                return self._decided(heard, spoken)
            notes.append(problem.note)
        assert problem is not None
        if problem.insists_on_ending:
            return GO_ON
        self._fault = UserFault(turn=turn, fault=problem.fault, reason=problem.reason)
        self._end("simulator_failed", f"turn {turn}: {problem.reason}")
        return None

    def _decided(self, heard: Heard, spoken: Spoken) -> str | None:
        last = heard.replies[-1] if heard.replies else ""
        if spoken.wish is None or (spoken.text and (is_open_question(last) or is_open_promise(last))):
            return spoken.text
        wish: Wish = spoken.wish
        self._end(wish, None)
        return None

    async def _asked(self, heard: Heard, notes: list[str]) -> Answered | None:
        """None: no recording answers, and the conversation is over."""
        if self._cassette is None:
            self._cassette = self._model.cassette(self._seat)
        body = prompt_of(self._role, heard, notes).body(self._spec)
        answered = await self._model.ask(self._cassette, body, self._seat)
        self._spent.add(answered)
        if answered.refused is not None and any(reply.strip() for reply in heard.replies):
            unheard = prompt_of(self._role, without_replies(heard), notes).body(self._spec)
            again = await self._model.ask(self._cassette, unheard, self._seat)
            self._spent.add(again)
            if again.refused is None and not again.missed:  # without the agent's words the model answers
                self._cut_by_agent = True
                self._end("gave_up", f"the agent's replies cannot be given to the user's model: {answered.refused}")
                return None
            answered = again
        if answered.refused is not None:
            raise no_message(answered.refused)
        if not answered.missed:
            return answered
        self._missed(heard)
        return None

    def _missed(self, heard: Heard) -> None:
        turn = len(heard.said) + 1
        last = heard.replies[-1] if heard.replies else ""
        asked: JsonObject = {"turn": turn, "after": last[:200]}
        self._seat.miss({"tool": "user", "user": "unrecorded", "arguments": asked, "nearest": []})
        self._end("replay_miss", f"no recording holds the user's message {turn}")

    def unsaid(self) -> tuple[str, ...]:
        return ()

    def report(self, heard: Heard, cut: Cut | None) -> UserReport:
        ended = self._ended or cut or "agent_left"
        judged = "agent_left" if self._cut_by_agent else ended  # no decision of the user, who might have answered
        faults, steered = checked(self._role, heard, ended=judged, generated_from=self._from)
        if self._fault is not None:
            faults = (self._fault, *faults)
        return UserReport(
            kind="model",
            ended=ended,
            reason=self._reason,
            turns=len(heard.said),
            persona=None if self._role.persona is None else self._role.persona.id,
            model=self._spec.model,
            generated=max(0, len(heard.said) - self._from),
            faults=() if ended == "replay_miss" else faults,
            steered=steered,
            input_tokens=self._spent.input_tokens,
            output_tokens=self._spent.output_tokens,
            cost_usd=self._spent.cost_usd,
        )

    def _silent(self, heard: Heard) -> bool:
        rounds = heard.rounds[-self._spec.silence :]
        return len(rounds) == self._spec.silence and not any(reply.strip() for replies in rounds for reply in replies)

    def _end(self, ended: UserEnding, reason: str | None) -> None:
        self._ended, self._reason = ended, reason

    @property
    def _spec(self) -> UserSpec:
        return self._model.spec
