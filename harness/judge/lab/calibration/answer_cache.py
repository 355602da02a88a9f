"""Stores every answer of a calibration by prompt, question and sample: no question is sent twice, even after an
interruption.

GEPA's own cache is not used: it identifies a question by its index in a list, so that answers of the training part are
returned for the validation part.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from harness.documents import Journal
from harness.judge.lab.calibration.question import JudgeAnswer, PromptedJudge, Question
from harness.values import digest_of, digest_of_text

_AT_ONCE = 64


class AnswerCache:
    """A judge with a cache of answers, which a file makes persistent. Failed answers are requested again after a
    restart.

    A calibration is deterministic except for the answers of judge and reflector, and both are stored here: a stopped
    calibration repeats the same steps without cost, and continues.
    """

    def __init__(self, judge: PromptedJudge, path: Path | None = None) -> None:
        self._judge = judge
        self._journal = Journal(path, "delete the folder, and calibrate from the beginning")
        self._answers: dict[str, JudgeAnswer] = {}
        self._proposals: dict[str, str] = {}
        self._asked_for: Counter[str] = Counter()
        self.calls = 0
        """The number of questions that were sent to the judge."""
        self._read()

    def answers(self, prompt: str, questions: Sequence[Question], sample: int = 0) -> list[JudgeAnswer]:
        """One answer for each question, in their order."""
        keys = [digest_of([digest_of_text(prompt), question.id, sample]) for question in questions]
        wanted = {key: one for key, one in zip(keys, questions, strict=True) if key not in self._answers}
        for some in _batched(list(wanted.items())):
            found = self._judge.answers(prompt, [question for _, question in some], sample)
            self.calls += len(some)
            by_key = dict(zip((key for key, _ in some), found, strict=True))
            self._answers |= by_key
            kept = {key: said for key, said in by_key.items() if said.answer != "judge_failed"}
            self._journal.add([{"key": key, "answer": said.model_dump()} for key, said in kept.items()])
        return [self._answers[key] for key in keys]

    def proposal(self, request: str, reflector: Callable[[str], str]) -> str:
        """The reflector's answer; a repeated request counts as a new question, distinguished by its number."""
        digest = digest_of_text(request)
        self._asked_for[digest] += 1
        key = digest_of([digest, self._asked_for[digest]])
        if key not in self._proposals:
            self._proposals[key] = reflector(request)
            self._journal.add([{"key": key, "proposal": self._proposals[key]}])
        return self._proposals[key]

    def _read(self) -> None:
        for number, entry in enumerate(self._journal.entries(), 1):
            try:
                if "answer" in entry:
                    self._answers[str(entry["key"])] = JudgeAnswer.model_validate(entry["answer"])
                else:
                    self._proposals[str(entry["key"])] = str(entry["proposal"])
            except (ValueError, KeyError):
                raise self._journal.damaged(number) from None


def _batched(questions: Sequence[tuple[str, Question]]) -> Iterator[Sequence[tuple[str, Question]]]:
    """The questions in batches, so that an interruption loses few answers."""
    for place in range(0, len(questions), _AT_ONCE):
        yield questions[place : place + _AT_ONCE]
