"""The user of a log: said again word for word while the agent does the same, then played on by the persona."""

from typing import Any

from harness.gateway.user import Cut, Heard, UserContext
from harness.suite.conversations import UserSpec
from harness.traces.trial import Divergence, UserReport
from harness.users.asking import UserModel, used_by
from harness.users.checks import steered_in
from harness.users.comparison import AgentTurn, difference
from harness.users.entailment import Entailed, Entailment
from harness.users.log import UserLog
from harness.users.model_user import ModelUser
from harness.users.role import Role, role_of


class LoggedUser:
    """Plays one trial's user from a log; implements `User`."""

    sees_calls = True

    def __init__(
        self,
        log: UserLog,
        seat: UserContext,
        spec: UserSpec,
        model: UserModel | None,
        entailment: Entailment | None = None,
    ) -> None:
        """`model`: plays on after a divergence; None: the conversation ends there, and the trial is inconclusive.
        `entailment`: asked about a turn that is not equal to the log's; None: that is a divergence.
        """
        self._log = log
        self._seat = seat
        self._spec = spec
        self._model = model
        self._taken_over: ModelUser | None = None
        self._divergence: Divergence | None = None
        self._replayed = 0
        self._entailment = entailment
        self._asked: list[Entailed] = []
        self._over = False

    async def reply(self, heard: Heard) -> str | None:
        if self._over:
            return None
        if self._taken_over is not None:
            return await self._taken_over.reply(_without_calls(heard))
        turns, said = self._log.turns, len(heard.said)
        differs = await self._differs(heard)
        if differs is not None:
            return await self._diverge(heard, differs)
        if said < len(turns):
            self._replayed += 1
            return turns[said].user
        self._over = True
        return None

    async def _differs(self, heard: Heard) -> Divergence | None:
        """The difference since the user's last message, which answers the logged turn of the same number."""
        number = len(heard.said)
        if heard.said[0] != self._log.turns[0].user:
            return Divergence(turn=1, kind="opening", reason="the case's opening is not that of the log")
        logged = self._log.turns[number - 1]
        now = AgentTurn(calls=heard.calls[number - 1], said="\n\n".join(heard.rounds[number - 1]))
        then = AgentTurn(calls=logged.calls, said=logged.agent)
        found = difference(then, now)
        if found is None or await self._is_entailed(number, then, now):
            return None
        return Divergence(turn=number + 1, kind=found.kind, reason=found.reason)

    async def _is_entailed(self, turn: int, then: AgentTurn, now: AgentTurn) -> bool:
        """Whether the model of `entailment:` finds that both turns tell the user the same."""
        if self._entailment is None:
            return False
        self._asked.append(await self._entailment.of(turn, then, now, self._seat))
        return self._asked[-1].verdict.verdict == "same"

    async def _diverge(self, heard: Heard, divergence: Divergence) -> str | None:
        self._divergence = divergence
        if self._model is None:
            self._seat.miss(
                {
                    "tool": "user",
                    "user": "diverged",
                    "arguments": {"turn": divergence.turn, "kind": divergence.kind},
                    "nearest": [{"difference": divergence.reason}],
                }
            )
            self._over = True
            return None
        self._taken_over = ModelUser(self._model, self._role, self._seat, generated_from=len(heard.said))
        return await self._taken_over.reply(_without_calls(heard))

    @property
    def _role(self) -> Role:
        """The case's role, held to what the log's user has wished; without a plan, the whole log is the plan."""
        done = self._replayed + 1
        wishes = tuple(turn.user for turn in self._log.turns)
        return role_of(self._seat.case, self._spec, constraints=wishes[:done] if _has_plan(self._seat) else wishes)

    def unsaid(self) -> tuple[str, ...]:
        return ()

    def report(self, heard: Heard, cut: Cut | None) -> UserReport:
        own: dict[str, Any] = {
            "kind": "logged",
            "logged": len(self._log.turns) - 1,
            "replayed": self._replayed,
            "divergence": self._divergence,
            "entailments": tuple(one.verdict for one in self._asked),
        }
        asked = [one.used for one in self._asked]
        if self._taken_over is not None:
            later = self._taken_over.report(_without_calls(heard), cut)
            return later.model_copy(update=own | used_by([*self._taken_over.used, *asked]))
        diverged = self._divergence
        return UserReport(
            **own,
            **used_by(asked),
            ended="user_diverged" if diverged is not None else "script_over" if cut is None else cut,
            reason=None if diverged is None else diverged.reason,
            turns=len(heard.said),
            steered=steered_in(heard),
        )


def _without_calls(heard: Heard) -> Heard:
    """Without the calls, which a model that plays the user must not see."""
    return Heard(said=heard.said, replies=heard.replies, rounds=heard.rounds)


def _has_plan(seat: UserContext) -> bool:
    return seat.case.conversation is not None and seat.case.conversation.plan is not None
