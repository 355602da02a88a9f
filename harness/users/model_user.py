"""The user that a model plays: reads what is said, pursues the plan, and ends the conversation by its own signal.

A message that one of the six checks refuses is asked for again, with a note on what was wrong, then with the agent's
words as a quotation. If all are refused, the conversation is over: no other message would fit the agent's words. The
model is then asked once without them, to tell whether the agent may have caused it.
"""

from typing import Final

from harness.gateway.models.recordings import ModelCassette
from harness.gateway.user import Cut, Heard, UserContext
from harness.suite.conversations import UserSpec
from harness.traces.trial import UserEnding, UserFault, UserReport
from harness.users.asking import ModelText, UserModel, no_message, used_by
from harness.users.checks import MessageProblem, asks, is_offered, problem_with, steered_in
from harness.users.role import Role, Spoken, begun_again, prompt_of, read_signal, without_replies
from harness.values import JsonObject

_TRIES: Final = 3
"""How often one message is asked for; the last time, the agent's words are a quotation."""
_SILENT_REPLIES: Final = 3
"""Empty replies of the agent after which the user gives up."""


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
        self._fault: UserFault | None = None
        self.used: list[ModelText] = []
        """All answers of the model."""
        self._steered: tuple[str, ...] = ()

    async def reply(self, heard: Heard) -> str | None:
        if self._ended is not None:
            return None
        if self._silent(heard):
            self._end_conversation("gave_up", f"the agent said nothing {_SILENT_REPLIES} times")
            return None
        return await self._next(heard)

    async def _next(self, heard: Heard) -> str | None:
        refused: list[tuple[MessageProblem, str]] = []
        for number in range(_TRIES):
            notes = [problem.note for problem, _ in refused]
            body = prompt_of(self._role, heard, notes, quoted=number == _TRIES - 1).body(self._spec)
            answered = await self._asked(body, heard)
            if answered is None:
                return None
            spoken = read_signal(answered.text)
            problem = problem_with(self._role, heard, answered, spoken)
            if problem is None:
                return self._decided(heard, spoken)
            refused.append((problem, spoken.text))
        await self._fail(heard, refused)
        return None

    def _decided(self, heard: Heard, spoken: Spoken) -> str | None:
        """The message; None: the user ends. What is said beside an end signal may answer what the agent has asked."""
        if spoken.wish is None or (spoken.text and (len(heard.said) == 1 or asks(heard.replies[-1:]))):
            return spoken.text
        self._end_conversation(spoken.wish, None)
        return None

    async def _fail(self, heard: Heard, refused: list[tuple[MessageProblem, str]]) -> None:
        turn, (first, _) = len(heard.said) + 1, refused[0]
        without = await self._model.ask(
            self._recordings(), prompt_of(self._role, begun_again(heard)).body(self._spec), self._seat
        )
        self.used.append(without)
        misled = (
            without.missed or problem_with(self._role, begun_again(heard), without, read_signal(without.text)) is None
        )
        last = "\n".join(heard.rounds[-1]) if heard.rounds else ""
        if misled and all(is_offered(text, last) for _, text in refused):
            words = " ".join(last.split())[:120]
            self._steered = (
                f"turn {turn - 1}: it offered the words that made the user fail ({first.reason}): {words!r}",
            )
        self._fault = UserFault(turn=turn, fault=first.fault, reason=first.reason, misled=misled)
        self._end_conversation("simulator_failed", f"turn {turn}: {first.reason}")

    def _recordings(self) -> ModelCassette:
        if self._cassette is None:
            self._cassette = self._model.cassette(self._seat)
        return self._cassette

    async def _asked(self, body: JsonObject, heard: Heard) -> ModelText | None:
        """None: no recording answers, or the provider refuses the agent's words, and the conversation is over."""
        answered = await self._model.ask(self._recordings(), body, self._seat)
        self.used.append(answered)
        if answered.refused is not None and any(reply.strip() for reply in heard.replies):
            unheard = prompt_of(self._role, without_replies(heard)).body(self._spec)
            again = await self._model.ask(self._recordings(), unheard, self._seat)
            self.used.append(again)
            if again.refused is None and not again.missed:  # without the agent's words the model answers
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
        return UserReport(
            kind="model",
            ended=ended,
            reason=self._reason,
            turns=len(heard.said),
            persona=None if self._role.persona is None else self._role.persona.id,
            model=self._spec.model,
            generated=max(0, len(heard.said) - self._from),
            faults=() if self._fault is None else (self._fault,),
            steered=(*steered_in(heard), *self._steered),
            **used_by(self.used),
        )

    def _silent(self, heard: Heard) -> bool:
        rounds = heard.rounds[-_SILENT_REPLIES:]
        return len(rounds) == _SILENT_REPLIES and not any(reply.strip() for replies in rounds for reply in replies)

    def _end_conversation(self, ended: UserEnding, reason: str | None) -> None:
        self._ended, self._reason = ended, reason

    @property
    def _spec(self) -> UserSpec:
        return self._model.spec
