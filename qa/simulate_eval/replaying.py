"""A recorded agent against its own log, through the logged user."""

from contextlib import ExitStack, nullcontext

from harness.gateway.user import Heard, UserContext
from harness.suite.cases import Case
from harness.suite.conversations import UserSpec
from harness.users.logged_user import LoggedUser
from qa.simulate_eval.logs import Conversation


async def replayed_against_itself(found: list[Conversation]) -> tuple[int, int, int]:
    """Conversations that were played back whole, turns that were played back, and turns that there are."""
    whole = turns = every = 0
    for one in found:
        logged = one.log.turns
        seat = UserContext(
            trial_id="t",
            case=Case(id="c", task=logged[0].user),
            attempt=1,
            miss=lambda _: None,
            waits=nullcontext,
            closing=ExitStack(),
        )
        user = LoggedUser(one.log, seat, UserSpec(), None)
        replayed = 0
        for number in range(1, len(logged)):
            heard = Heard(
                said=tuple(turn.user for turn in logged[:number]),
                replies=tuple(turn.agent for turn in logged[:number]),
                rounds=tuple((turn.agent,) if turn.agent else () for turn in logged[:number]),
                calls=tuple(turn.calls for turn in logged[:number]),
            )
            replayed += await user.reply(heard) == logged[number].user
        whole += replayed == len(logged) - 1
        turns += replayed
        every += len(logged) - 1
    return whole, turns, every
