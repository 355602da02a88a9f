"""What a calibration asks a judge, and the seam to whatever answers."""

from collections.abc import Sequence
from typing import Protocol

from harness.judge.judgement import Answer
from harness.values import Frozen


class Question(Frozen):
    """One labelled item: a criterion of a trajectory, with what people say is right."""

    id: str
    """Unique among all questions of a calibration, whatever split they fall into."""
    case_id: str
    criterion: str
    statement: str
    critical: bool = False
    right: Answer
    notes: tuple[str, ...] = ()
    """What people wrote about it."""


class Answered(Frozen):
    """What the judge said to one question."""

    answer: Answer
    rationale: str = ""
    shown: str = ""
    """The evidence that the judge was shown, for whoever is to improve the prompt."""


class PromptedJudge(Protocol):
    """A judge whose prompt can be exchanged."""

    def answers(self, prompt: str, questions: Sequence[Question], sample: int) -> Sequence[Answered]:
        """One answer a question, in their order; `sample` above 0 asks anew, past every cache.

        What goes wrong with one question is its answer `judge_failed`; what goes wrong with the judge is raised.
        """
        ...


class Reflector(Protocol):
    """Whatever proposes a better prompt: a language model, or rules."""

    def __call__(self, request: str) -> str: ...
