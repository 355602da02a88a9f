"""Stores every answer of a calibration by prompt, question and sample: no question is sent twice, even after an
interruption.

GEPA's own cache is not used: it identifies a question by its index in a list, so that answers of the training part are
returned for the validation part.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from harness.errors import ResultsError
from harness.judge.lab.calibration.question import Answered, PromptedJudge, Question
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
        self._path = path
        self._answers: dict[str, Answered] = {}
        self._proposals: dict[str, str] = {}
        self._asked_for: Counter[str] = Counter()
        self.calls = 0
        """The number of questions that were sent to the judge."""
        if path is not None and path.exists():
            self._read(path)

    def answers(self, prompt: str, questions: Sequence[Question], sample: int = 0) -> list[Answered]:
        """One answer a question, in their order."""
        keys = [digest_of([digest_of_text(prompt), question.id, sample]) for question in questions]
        wanted = {key: one for key, one in zip(keys, questions, strict=True) if key not in self._answers}
        for some in _batched(list(wanted.items())):
            found = self._judge.answers(prompt, [question for _, question in some], sample)
            self.calls += len(some)
            told = dict(zip((key for key, _ in some), found, strict=True))
            self._answers |= told
            kept = {key: said for key, said in told.items() if said.answer != "judge_failed"}
            self._write([{"key": key, "answer": said.model_dump()} for key, said in kept.items()])
        return [self._answers[key] for key in keys]

    def proposal(self, request: str, reflector: Callable[[str], str]) -> str:
        """The reflector's answer; a repeated request is a new question, which its number distinguishes."""
        digest = digest_of_text(request)
        self._asked_for[digest] += 1
        key = digest_of([digest, self._asked_for[digest]])
        if key not in self._proposals:
            self._proposals[key] = reflector(request)
            self._write([{"key": key, "proposal": self._proposals[key]}])
        return self._proposals[key]

    def _read(self, path: Path) -> None:
        """Reads the file. Its last line may be incomplete; any other unreadable line is an error."""
        lines = path.read_bytes().split(b"\n")
        whole, torn = lines[:-1], lines[-1]
        for number, line in enumerate(whole, 1):
            try:
                entry = json.loads(line)
                if "answer" in entry:
                    self._answers[entry["key"]] = Answered.model_validate(entry["answer"])
                else:
                    self._proposals[entry["key"]] = str(entry["proposal"])
            except (ValueError, KeyError, TypeError):
                raise ResultsError(
                    f"{path}, line {number}: is damaged", remedy="delete the folder, and calibrate from the beginning"
                ) from None
        if torn:
            os.truncate(path, path.stat().st_size - len(torn))

    def _write(self, entries: Sequence[dict[str, object]]) -> None:
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as stream:
            stream.write(b"".join(json.dumps(entry, ensure_ascii=False).encode() + b"\n" for entry in entries))
            stream.flush()
            os.fsync(stream.fileno())


def _batched(asked: Sequence[tuple[str, Question]]) -> Iterator[Sequence[tuple[str, Question]]]:
    """So many at a time that a stop costs little."""
    for place in range(0, len(asked), _AT_ONCE):
        yield asked[place : place + _AT_ONCE]
