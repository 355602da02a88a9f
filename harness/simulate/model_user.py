"""The user that a model plays: reads what is said, pursues the plan, and ends the conversation by its own signal."""

from dataclasses import dataclass
from typing import Final

from harness.case import UserSpec
from harness.gateway import Cut, Heard, UserContext
from harness.simulate.asking import ModelText, UserModel, no_message
from harness.simulate.asking_again import QuestionForm, forms_of, is_caused_by, is_conduct
from harness.simulate.fidelity.before import Before
from harness.simulate.fidelity.check import checked, endless, is_excused
from harness.simulate.fidelity.message import MessageProblem, broken_rule, problem_with
from harness.simulate.fidelity.rules import RoleRules
from harness.simulate.meaning.sentences import is_open_promise, is_open_question
from harness.simulate.role import Role, prompt_of, without_replies, without_rounds
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

    def add(self, answered: ModelText) -> None:
        self.input_tokens += answered.input_tokens
        self.output_tokens += answered.output_tokens
        if answered.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + answered.cost_usd


class ModelUser:
    """Plays one trial's user; implements `User`."""

    sees_calls = False

    def __init__(self, model: UserModel, role: Role, seat: UserContext, *, generated_from: int = 1) -> None:
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
        self._rules = RoleRules(role)
        self._without: list[UserFault] = []
        self._steered: list[str] = []
        self._conduct_failed = 0
        self._spoilt: frozenset[int] = frozenset()

    async def reply(self, heard: Heard) -> str | None:
        if self._ended is not None:
            return None
        if self._silent(heard):
            self._end("gave_up", f"the agent said nothing {self._spec.silence} times")
            return None
        return await self._next(heard)

    async def _next(self, heard: Heard) -> str | None:
        turn, notes = len(heard.said) + 1, list[str]()
        problems: list[tuple[MessageProblem, str]] = []
        for form in forms_of(without_rounds(heard, self._spoilt), self._spec.corrections):
            answered = await self._asked(form, heard, notes)
            if answered is None:
                return None
            spoken = read_signal(answered.text)
            problem = problem_with(self._role, heard, answered, spoken) or self._breaks_a_rule(heard, spoken)
            if problem is None:
                if form.leaves_out:
                    self._left_out(turn, problems[: self._spec.corrections + 1], form, heard)
                return self._decided(heard, spoken)
            if problem.insists_on_ending and form.quoted:
                return GO_ON
            notes.append(problem.note)
            problems.append((problem, spoken.text))
        if problems[-1][0].insists_on_ending:
            return GO_ON
        first, text = problems[0]
        if first.fault == "never_ends":  # it is said, and found again in the whole conversation
            return text
        self._fault = UserFault(turn=turn, fault=first.fault, reason=first.reason)
        self._end("simulator_failed", f"turn {turn}: {first.reason}")
        return None

    def _breaks_a_rule(self, heard: Heard, spoken: Spoken) -> MessageProblem | None:
        if not spoken.text:
            return None
        before = Before(own=heard.said, replies=heard.replies)
        found = next(iter(self._rules.faults(spoken.text, before)), None)
        if found is not None and not is_excused(found[0], before, spoken.text):
            return broken_rule(*found)
        talk = self._seat.case.conversation
        is_last = talk is not None and len(heard.said) + 1 >= talk.max_turns
        return endless(self._role, heard, spoken.text, self._from, is_last=is_last)

    def _left_out(
        self, turn: int, problems: list[tuple[MessageProblem, str]], form: QuestionForm, heard: Heard
    ) -> None:
        """Notes that the agent's words alone made the model fail, and leaves them out from now on."""
        self._spoilt |= form.left_out
        problem = problems[0][0]
        last = "\n".join(heard.rounds[-1]) if heard.rounds else ""
        if is_caused_by(problems, last, self._conduct_failed):
            words = " ".join(last.split())[:120]
            self._steered.append(
                f"turn {turn - 1}: what the agent said made the user fail ({problem.reason}): {words!r}"
            )
        self._conduct_failed += is_conduct(problems)
        self._without.append(UserFault(turn=turn, fault=problem.fault, reason=problem.reason, excused=True))

    def _decided(self, heard: Heard, spoken: Spoken) -> str | None:
        last = heard.replies[-1] if heard.replies else ""
        if spoken.wish is None or (spoken.text and (is_open_question(last) or is_open_promise(last))):
            return spoken.text
        wish: Wish = spoken.wish
        self._end(wish, None)
        return None

    async def _asked(self, form: QuestionForm, heard: Heard, notes: list[str]) -> ModelText | None:
        """None: no recording answers, and the conversation is over."""
        if self._cassette is None:
            self._cassette = self._model.cassette(self._seat)
        body = prompt_of(self._role, form.heard, notes, quoted=form.quoted).body(self._spec)
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
            steered=(*steered, *self._steered),
            left_out=tuple(self._without),
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
