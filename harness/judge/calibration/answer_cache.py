"""Every answer of a calibration, kept by prompt, question and sample: nothing is asked twice, not even after a stop.

GEPA's own cache is not used: it knows a question by its place in a list, so answers of the training part come back as
answers of the validation part.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from harness.errors import ResultsError
from harness.judge.calibration.question import Answered, PromptedJudge, Question
from harness.values import digest_of, digest_of_text

_AT_ONCE = 64


class AnswerCache:
    """A judge with a memory; with a file, one that outlives the process. Answers that failed are asked for again then.

    A calibration is deterministic but for what judge and reflector say, and both are kept here: one that was stopped
    goes the same way again at no cost, and on from there.
    """

    def __init__(self, judge: PromptedJudge, path: Path | None = None) -> None:
        self._judge = judge
        self._path = path
        self._answers: dict[str, Answered] = {}
        self._proposals: dict[str, str] = {}
        self._asked_for: Counter[str] = Counter()
        self.calls = 0
        """Questions that the judge was really asked."""
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
        """What the reflector said; the same request put again is a new question, kept apart by its number."""
        digest = digest_of_text(request)
        self._asked_for[digest] += 1
        key = digest_of([digest, self._asked_for[digest]])
        if key not in self._proposals:
            self._proposals[key] = reflector(request)
            self._write([{"key": key, "proposal": self._proposals[key]}])
        return self._proposals[key]

    def _read(self, path: Path) -> None:
        """The last line may be torn; any other that cannot be read is no memory to go by."""
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
