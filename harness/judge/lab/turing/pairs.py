"""Pairs of a real and a simulated conversation, as an annotator sees them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from harness.simulate import log_of_trajectory
from harness.trace import Trial
from harness.values import Frozen, digest_of

_LEAST: Final = 2
"""The number of user messages that a conversation needs: in a shorter one the simulator wrote none."""
_SIGNAL: Final = re.compile(r"\[\[\s*END[^\]\n]{0,60}\]\]|</?finished>|#{2,3}\s*[A-Z][A-Z-]+\s*#{2,3}")
"""The signals by which simulators end a conversation: they would reveal the simulated one."""


class ShownConversation(Frozen):
    """One conversation without anything that would reveal its source."""

    run: str
    case_id: str
    attempt: int
    trajectory: str
    """Digest of the trajectory."""
    plan: str = ""
    """The user's plan; shown only when the user's adherence to it is rated."""
    turns: tuple[tuple[str, str], ...]
    """The user's message, and what the agent said to it."""


class TuringPair(Frozen):
    """Two conversations, one of a person."""

    real: ShownConversation
    simulated: ShownConversation

    def real_is_first(self, annotator: str) -> bool:
        """Whether the real one is shown first: pseudo-random, and the same when the page is opened again."""
        return int(digest_of([annotator, self.real.trajectory, self.simulated.trajectory])[-1], 16) % 2 == 0


def conversations_of(run: str, trials: Iterable[Trial], plans: dict[str, str]) -> list[ShownConversation]:
    """The conversations of a run's trials with two messages of the user or more; equal ones once."""
    found: dict[str, ShownConversation] = {}
    for trial in trials:
        log = log_of_trajectory(trial.trajectory, {})
        turns = () if log is None else tuple((_plain(turn.user), _plain(turn.agent)) for turn in log.turns)
        turns = tuple(turn for turn in turns if any(turn))
        if len(turns) >= _LEAST:
            digest = trial.trajectory.digest
            found.setdefault(
                digest,
                ShownConversation(
                    run=run,
                    case_id=trial.case_id,
                    attempt=trial.attempt,
                    trajectory=digest,
                    plan=plans.get(trial.case_id, ""),
                    turns=turns,
                ),
            )
    return list(found.values())


def pairs_of(real: Sequence[ShownConversation], simulated: Sequence[ShownConversation]) -> list[TuringPair]:
    """Pairs each simulated conversation with a real one, of the same case where possible; a real one is used once."""
    waiting: dict[str, list[ShownConversation]] = defaultdict(list)
    for one in real:
        waiting[one.case_id].append(one)
    real_by_case: dict[str, ShownConversation] = {}
    for one in simulated:
        if waiting[one.case_id]:
            real_by_case[one.trajectory] = waiting[one.case_id].pop(0)
    left = iter([one for case in sorted(waiting) for one in waiting[case]])
    pairs = []
    for one in simulated:
        other = real_by_case.get(one.trajectory) or next(left, None)
        if other is not None:
            pairs.append(TuringPair(real=other, simulated=one))
    return pairs


def _plain(text: str) -> str:
    return _SIGNAL.sub("", text).strip()
