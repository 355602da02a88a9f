"""The questions of one annotator: all pairs first, since the ratings that follow name the simulated conversation."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from harness.judge.lab.turing.answers import TakenForReal, TuringAnswer
from harness.judge.lab.turing.pairs import ShownConversation, TuringPair
from harness.values import Frozen

SCALE: Final = {
    1: "does something else",
    2: "pursues little of it",
    3: "pursues some of it",
    4: "pursues nearly all of it",
    5: "keeps to it throughout",
}
"""The five points of intent consistency."""


class PairQuestion(Frozen):
    """Which of two conversations is a person's?"""

    pair: TuringPair
    real_is_first: bool

    @property
    def shown(self) -> tuple[ShownConversation, ShownConversation]:
        """The two conversations in the order of display."""
        pair = self.pair
        return (pair.real, pair.simulated) if self.real_is_first else (pair.simulated, pair.real)

    def answer(self, key: str, annotator: str) -> TuringAnswer | None:
        """The answer of a key: `a` the first, `b` the second, `u` cannot be determined; None for any other key."""
        if key not in ("a", "b", "u"):
            return None
        first = key == "a"
        return _answer(
            self.pair.simulated,
            annotator,
            real=self.pair.real.trajectory,
            taken_for_real="unsure" if key == "u" else "real" if first == self.real_is_first else "simulated",
        )


class IntentQuestion(Frozen):
    """How well does the user follow its plan?"""

    conversation: ShownConversation

    def answer(self, key: str, annotator: str) -> TuringAnswer | None:
        """The answer of a key from 1 to 5; None for any other."""
        if key not in {str(point) for point in SCALE}:
            return None
        return _answer(self.conversation, annotator, intent=int(key))


def questions_of(
    pairs: Sequence[TuringPair], answered: Sequence[TuringAnswer], annotator: str
) -> list[PairQuestion | IntentQuestion]:
    """The questions that the annotator has not answered. Conversations without a plan are not rated."""
    answered_pairs = {(one.simulated, one.real) for one in answered if one.annotator == annotator}
    of_pairs: list[PairQuestion | IntentQuestion] = [
        PairQuestion(pair=pair, real_is_first=pair.real_is_first(annotator))
        for pair in pairs
        if (pair.simulated.trajectory, pair.real.trajectory) not in answered_pairs
    ]
    rated = {pair.simulated.trajectory: pair.simulated for pair in pairs if pair.simulated.plan}
    return of_pairs + [
        IntentQuestion(conversation=one) for digest, one in rated.items() if (digest, None) not in answered_pairs
    ]


def _answer(
    about: ShownConversation,
    annotator: str,
    *,
    real: str | None = None,
    taken_for_real: TakenForReal | None = None,
    intent: int | None = None,
) -> TuringAnswer:
    return TuringAnswer(
        annotator=annotator,
        run=about.run,
        case_id=about.case_id,
        attempt=about.attempt,
        simulated=about.trajectory,
        real=real,
        taken_for_real=taken_for_real,
        intent=intent,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )
