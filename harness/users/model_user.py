"""The user that a model plays: reads what is said, pursues the plan, and ends the conversation by its own signal."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.gateway.models.recordings import ModelCassette
from harness.gateway.user import Cut, Heard, UserContext
from harness.suite.conversations import UserSpec
from harness.traces.trial import FaultClass, UserEnding, UserFault, UserReport
from harness.users.asking import ModelText, UserModel, no_message
from harness.users.fidelity.check import checked, endless, is_excused
from harness.users.fidelity.disclosure import Before
from harness.users.fidelity.message import MessageProblem, broken_rule, problem_with
from harness.users.fidelity.rules import RoleRules
from harness.users.meaning.sentences import is_open_promise, is_open_question
from harness.users.role import (
    Role,
    Spoken,
    Wish,
    begun_again,
    prompt_of,
    read_signal,
    without_replies,
    without_rounds,
)
from harness.values import JsonObject

# How often, and in which form, the model of a user is asked for one message.
#
# It is asked with the conversation as it is, with a note on what was wrong; then with the agent's words as a quotation;
# then without the agent's last words, without any of them, and from the opening alone. What fails in every form is the
# simulator's own fault. What fails only beside the agent's words depends on them: the message that was written without
# them is said, the conversation goes on, and it counts.

_CONDUCT: Final[frozenset[FaultClass]] = frozenset(
    ("no_message", "tool_call", "too_long", "speaks_as_agent", "other_language", "out_of_role", "never_ends")
)
"""Faults of how a user behaves. The others are of what it says, which a genuine question may cause, too."""
_CORRECTIONS: Final = 2
"""How often a message that is not a user's message is asked for again in the same form."""
_SILENT_REPLIES: Final = 3
"""Empty replies of the agent after which the user gives up."""
_OFTEN: Final = 2
"""Turns of one conversation in which the agent's words alone made the model fail in its conduct."""
_LEAST_ECHOED: Final = 4
_OFFERED: Final = re.compile(r"[:\u201c\u201e\u00ab\"'`\u2018]\s*(.+)", re.DOTALL)


@dataclass(frozen=True)
class QuestionForm:
    """One way to ask."""

    heard: Heard
    quoted: bool = False
    left_out: frozenset[int] = frozenset()
    """The rounds, numbered from 0, whose words of the agent it leaves out."""

    @property
    def leaves_out(self) -> bool:
        return bool(self.left_out)


def forms_of(heard: Heard) -> Iterator[QuestionForm]:
    """The forms in their order, each asked if all before it gave no message of a user."""
    for number in range(_CORRECTIONS + 1):
        yield QuestionForm(heard, quoted=number == _CORRECTIONS)
    every = frozenset(range(len(heard.rounds)))
    for left_out in (frozenset((len(heard.rounds) - 1,)), every):
        yield QuestionForm(without_rounds(heard, left_out), left_out=left_out)
    yield QuestionForm(begun_again(heard), left_out=every)


def is_caused_by(problems: list[tuple[MessageProblem, str]], last: str, failed_before: int) -> bool:
    """Whether the agent is charged for faults that its words alone have caused: they are of conduct, and it offered
    the words that the model wrote, or it has caused such faults before.

    `problems`: each fault with what the model wrote; `failed_before`: earlier turns with faults of conduct.
    """
    conduct = [text for problem, text in problems if problem.fault in _CONDUCT]
    if len(conduct) < len(problems):
        return False
    return failed_before + 1 >= _OFTEN or all(_is_offered(text, last) for text in conduct)


def is_conduct(problems: list[tuple[MessageProblem, str]]) -> bool:
    """Whether all faults are of how a user behaves."""
    return all(problem.fault in _CONDUCT for problem, _ in problems)


def _is_offered(text: str, last: str) -> bool:
    """Whether a message holds a run of words that the agent's reply has in quotation marks or behind a colon."""
    found = _OFFERED.search(last[:20_000])
    if found is None:
        return False
    offered, words = " ".join(_words_in(found[1])), _words_in(text)
    runs = (" ".join(words[at : at + _LEAST_ECHOED]) for at in range(max(1, len(words) - _LEAST_ECHOED + 1)))
    return bool(words) and any(f" {run} " in f" {offered} " for run in runs)


def _words_in(text: str) -> list[str]:
    return re.findall(r"\w+", text[:4_000].casefold())


GO_ON: Final = "Please go on with what I asked for."
"""Said if the model insists on ending although the agent has left something open."""


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
            self._end_conversation("gave_up", f"the agent said nothing {_SILENT_REPLIES} times")
            return None
        return await self._next(heard)

    async def _next(self, heard: Heard) -> str | None:
        turn, notes = len(heard.said) + 1, list[str]()
        problems: list[tuple[MessageProblem, str]] = []
        for form in forms_of(without_rounds(heard, self._spoilt)):
            answered = await self._asked(form, heard, notes)
            if answered is None:
                return None
            spoken = read_signal(answered.text)
            problem = problem_with(self._role, heard, answered, spoken) or self._breaks_a_rule(heard, spoken)
            if problem is None:
                if form.leaves_out:
                    self._left_out(turn, problems[: _CORRECTIONS + 1], form, heard)
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
        self._end_conversation("simulator_failed", f"turn {turn}: {first.reason}")
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
        self._end_conversation(wish, None)
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
                self._end_conversation(
                    "gave_up", f"the agent's replies cannot be given to the user's model: {answered.refused}"
                )
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
        self._end_conversation("replay_miss", f"no recording holds the user's message {turn}")

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
        rounds = heard.rounds[-_SILENT_REPLIES:]
        return len(rounds) == _SILENT_REPLIES and not any(reply.strip() for replies in rounds for reply in replies)

    def _end_conversation(self, ended: UserEnding, reason: str | None) -> None:
        self._ended, self._reason = ended, reason

    @property
    def _spec(self) -> UserSpec:
        return self._model.spec
