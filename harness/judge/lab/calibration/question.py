"""The questions of a calibration, and the interface of judges that answer them."""

from collections.abc import Sequence
from typing import Protocol

from harness.judge.judgement import Answer
from harness.values import Frozen


class Question(Frozen):
    """One labelled item: a criterion of a trajectory, with the label of people."""

    id: str
    """Unique among all questions of a calibration."""
    case_id: str
    criterion: str
    statement: str
    critical: bool = False
    right: Answer
    notes: tuple[str, ...] = ()
    """Notes that people wrote."""


class JudgeAnswer(Frozen):
    """The judge's answer to one question."""

    answer: Answer
    rationale: str = ""
    shown: str = ""
    """The evidence that the judge received, for the reflector."""


class PromptedJudge(Protocol):
    """A judge whose prompt can be exchanged."""

    def answers(self, prompt: str, questions: Sequence[Question], sample: int) -> Sequence[JudgeAnswer]:
        """Returns one answer per question, in their order; a `sample` above 0 requests a new answer without a cache.

        A problem with one question becomes its answer `judge_failed`; a problem with the judge itself is raised.
        """
        ...


class Reflector(Protocol):
    """Proposes a better prompt: a language model, or rules."""

    def __call__(self, request: str) -> str: ...
