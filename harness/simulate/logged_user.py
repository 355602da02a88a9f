"""The user of a log: said again word for word while the agent does the same, then played on by the persona."""

from typing import Any

from harness.case import UserSpec
from harness.gateway import Cut, Heard, UserContext
from harness.simulate.asking import UserModel
from harness.simulate.entailment import Entailed, Entailment
from harness.simulate.fidelity.check import checked
from harness.simulate.log import UserLog
from harness.simulate.meaning.difference import MeaningDifference
from harness.simulate.meaning.turn import AgentTurn, difference
from harness.simulate.model_user import ModelUser
from harness.simulate.role import Role, role_of
from harness.trace import Divergence, UserReport


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
        `entailment`: asked where wording alone differs; None: that is a divergence.
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
            return await self._taken_over.reply(_aloud(heard))
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
            return Divergence(turn=1, kind="slots", reason="the case's opening is not that of the log")
        logged = self._log.turns[number - 1]
        now = AgentTurn(calls=heard.calls[number - 1], said="\n\n".join(heard.rounds[number - 1]))
        then = AgentTurn(calls=logged.calls, said=logged.agent)
        found: MeaningDifference | None = difference(then, now)
        if found is None or await self._is_entailed(found, then, now):
            return None
        return Divergence(turn=number + 1, kind=found.kind, reason=found.reason)

    async def _is_entailed(self, found: MeaningDifference, then: AgentTurn, now: AgentTurn) -> bool:
        """Whether the check of meaning finds that what differs by rules means the same."""
        if self._entailment is None or not found.of_wording:
            return False
        entailed = await self._entailment.of(then, now, self._seat)
        self._asked.append(entailed)
        return entailed.opinion == "same"

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
        return await self._taken_over.reply(_aloud(heard))

    @property
    def _role(self) -> Role:
        """The case's role, held to what the log's user has wished; without a plan, the whole log is the plan."""
        done = self._replayed + 1
        wishes = tuple(turn.user for turn in self._log.turns)
        return role_of(self._seat.case, self._spec, constraints=wishes[:done] if _has_plan(self._seat) else wishes)

    def unsaid(self) -> tuple[str, ...]:
        return ()

    def report(self, heard: Heard, cut: Cut | None) -> UserReport:
        if self._taken_over is not None:
            later = self._taken_over.report(_aloud(heard), cut)
            return later.model_copy(
                update={
                    "kind": "logged",
                    "replayed": self._replayed,
                    "divergence": self._divergence,
                    **self._spent(later),
                }
            )
        _, steered = checked(
            role_of(self._seat.case, self._spec), heard, ended="script_over", generated_from=len(heard.said)
        )
        missed = self._divergence is not None
        report = UserReport(
            kind="logged",
            ended="replay_miss" if missed else cut or "script_over",
            reason=None if self._divergence is None else self._divergence.reason,
            turns=len(heard.said),
            replayed=self._replayed,
            divergence=self._divergence,
            steered=steered,
        )
        return report.model_copy(update=self._spent(report))

    def _spent(self, report: UserReport) -> dict[str, Any]:
        """What the check of meaning found, and its part of what the trial's user used."""
        costs = [one.cost_usd for one in self._asked if one.cost_usd is not None]
        return {
            "entailed": sum(one.opinion == "same" for one in self._asked),
            "input_tokens": report.input_tokens + sum(one.input_tokens for one in self._asked),
            "output_tokens": report.output_tokens + sum(one.output_tokens for one in self._asked),
            "cost_usd": (report.cost_usd or 0.0) + sum(costs) if costs else report.cost_usd,
        }


def _aloud(heard: Heard) -> Heard:
    """Without the calls, which a model that plays the user must not see."""
    return Heard(said=heard.said, replies=heard.replies, rounds=heard.rounds)


def _has_plan(seat: UserContext) -> bool:
    return seat.case.conversation is not None and seat.case.conversation.plan is not None
