"""What an agent did between two messages of a user, compared with what it did in a log."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.simulate.meaning.calls import ComparedCall, calls_differ
from harness.simulate.meaning.difference import MeaningDifference
from harness.simulate.meaning.texts import texts_differ


@dataclass(frozen=True, kw_only=True)
class AgentTurn:
    """The agent's calls and words since the user's last message."""

    calls: Sequence[ComparedCall] = ()
    said: str = ""


def difference(then: AgentTurn, now: AgentTurn) -> MeaningDifference | None:
    """Why two turns do not mean the same to the user, by rules; None where they do.

    Calls come first: writes have to be the same, reads are not compared, since the user learns of them only by what is
    said. Then come the texts.
    """
    called = calls_differ(then.calls, now.calls)
    if called is not None:
        return MeaningDifference(kind="calls", reason=called)
    return texts_differ(then.said, now.said)
