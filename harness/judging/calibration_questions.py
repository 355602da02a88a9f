"""The questions of a calibration, their division by case, their answers, and the figures over them."""

import asyncio
import hashlib
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, Self

from harness.disk import Journal
from harness.errors import HarnessError, UsageError
from harness.gateway.budgets import Budget
from harness.gateway.models.client import ModelClient
from harness.gateway.models.recordings import ModelClientOptions
from harness.judging.judge import Judge, JudgedTrial
from harness.judging.prompts import Prompt
from harness.judging.rubrics import Criterion
from harness.judging.settings import JudgeSettings
from harness.judging.verdicts import Answer
from harness.scoring.statistics.agreement import AnswerPair as Pair
from harness.scoring.statistics.agreement import BinaryAgreement, binary_agreement, cohen_kappa
from harness.values import Frozen, JsonObject, digest_of, digest_of_text


class Question(Frozen):
    """One labelled item: a criterion of a trajectory, with the label of people."""

    id: str
    """Unique among all questions of a calibration."""
    case_id: str
    criterion: str
    statement: str
    domain: str = "general"
    critical: bool = False
    right: Answer
    step: int | None = None
    """The step that people named, of a criterion of kind `step`."""
    notes: tuple[str, ...] = ()
    """Notes that people wrote."""
    used: bool = False
    """Whether its label decided before, so that it is not held out."""


class JudgeAnswer(Frozen):
    """The judge's answer to one question."""

    answer: Answer
    step: int | None = None
    rationale: str = ""
    shown: str = ""
    """The evidence that the judge received, for the reflector."""


class PromptedJudge(Protocol):
    """A judge whose prompt can be exchanged."""

    def answers(self, prompt: str, questions: Sequence[Question]) -> Sequence[JudgeAnswer]:
        """Returns one answer per question, in their order.

        A problem with one question becomes its answer `judge_failed`; a problem with the judge itself is raised.
        """
        ...


Reflector = Callable[[str], str]
"""Proposes a better prompt: a language model, or rules."""


_SHARES = (0.4, 0.3, 0.3)


class Split(Frozen):
    """All questions of one case are in the same part, so that training data of a case cannot affect its evaluation."""

    train: tuple[Question, ...]
    validation: tuple[Question, ...]
    held_out: tuple[Question, ...]


def split_by_case(questions: Sequence[Question], seed: int = 0) -> Split:
    """40 % of the cases for training, 30 % for validation, 30 % held out, at least one each.

    Cases with a label `fail` are distributed separately from the others, so that each part has some if there are at
    least three. Cases with a used label are not held out. The same labels and seed always give the same split. Raises
    UsageError for fewer than three cases.
    """
    failing = {one.case_id for one in questions if one.right == "fail"}
    others = {one.case_id for one in questions} - failing
    if len(failing) + len(others) < 3:
        raise UsageError(
            f"labels of {len(failing) + len(others)} cases cannot be split into training, validation and held-out",
            remedy="label more cases; thirty give a first idea",
        )
    used = {one.case_id for one in questions if one.used}
    parts: tuple[set[str], set[str], set[str]] = (set(), set(), set())
    for group in (failing, others):
        unused_first = sorted(_shuffled(group, seed), key=used.__contains__)
        for part, dealt in zip(parts, _cases_in_parts(unused_first, parts), strict=True):
            part.update(dealt)
    parts[0].update(parts[2] & used)
    parts[2].difference_update(used)
    train, validation, held_out = (tuple(one for one in questions if one.case_id in part) for part in parts)
    return Split(train=train, validation=validation, held_out=held_out)


def deal_cases(cases: set[str], seed: int = 0) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Training, validation and held-out cases (40, 30, 30 %) of at least three, by the digests of their ids."""
    train, validation, held_out = _cases_in_parts(_shuffled(cases, seed), (set(), set(), set()))
    return tuple(train), tuple(validation), tuple(held_out)


def _shuffled(cases: set[str], seed: int) -> list[str]:
    return sorted(cases, key=lambda case: hashlib.sha256(f"{seed}:{case}".encode()).digest())


def _cases_in_parts(cases: list[str], parts: Sequence[set[str]]) -> tuple[list[str], list[str], list[str]]:
    """Parts that are still empty come first if there are too few cases for all."""
    if len(cases) < 3:
        order = sorted(range(3), key=lambda place: (len(parts[place]), -place))
        dealt: tuple[list[str], list[str], list[str]] = ([], [], [])
        for place, case in zip(order, cases, strict=False):
            dealt[place].append(case)
        return dealt
    held_out = max(1, math.floor(_SHARES[2] * len(cases)))
    validation = max(1, math.floor(_SHARES[1] * len(cases)))
    return cases[held_out + validation :], cases[held_out : held_out + validation], cases[:held_out]


# Stores every answer of a calibration by prompt and question: no question is sent twice, even after an
# interruption.
#
# GEPA's own cache is not used: it identifies a question by its index in a list, so that answers of the training part
# are returned for the validation part.

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
        self._load_journal()

    def answers(self, prompt: str, questions: Sequence[Question]) -> list[JudgeAnswer]:
        """One answer for each question, in their order."""
        keys = [digest_of([digest_of_text(prompt), question.id]) for question in questions]
        wanted = {key: one for key, one in zip(keys, questions, strict=True) if key not in self._answers}
        for some in _batched(list(wanted.items())):
            found = self._judge.answers(prompt, [question for _, question in some])
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

    def _load_journal(self) -> None:
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


class AgreementFigures(Frozen):
    """Figures over pass, fail and "not eligible" together; a failed judge agrees with no answer."""

    questions: int
    agreement: float
    kappa: float | None
    verdict: BinaryAgreement
    """The agreement on verdicts, if both people and judge state that the criterion applies."""
    false_passes: int
    """Failures that were judged a pass."""
    critical_false_passes: int
    """False passes of critical criteria; of all criteria, if the rubric has no critical one."""
    judge_failed: int


def figures(questions: Sequence[Question], answers: Sequence[JudgeAnswer]) -> AgreementFigures:
    """The figures of at least one question."""
    pairs = list(zip(questions, answers, strict=True))
    lenient = [question for question, answer in pairs if is_false_pass(question, answer)]
    some_critical = any(question.critical for question in questions)
    return AgreementFigures(
        questions=len(questions),
        agreement=sum(score(question, answer) for question, answer in pairs) / len(questions),
        kappa=cohen_kappa([(question.right, answer.answer) for question, answer in pairs]),
        verdict=binary_agreement(
            [
                Pair(question.case_id, question.right == "pass", answer.answer == "pass")
                for question, answer in pairs
                if question.right in ("pass", "fail") and answer.answer in ("pass", "fail")
            ]
        ),
        false_passes=len(lenient),
        critical_false_passes=sum(question.critical or not some_critical for question in lenient),
        judge_failed=sum(answer.answer == "judge_failed" for _, answer in pairs),
    )


def score(question: Question, answer: JudgeAnswer) -> float:
    """1 if the judge's answer is correct, else 0."""
    return float((answer.answer, answer.step) == (question.right, question.step))


def is_false_pass(question: Question, answer: JudgeAnswer) -> bool:
    """Whether the judge passed a failure: the most costly error."""
    return question.right == "fail" and answer.answer == "pass"


MARK = "```"
_MAX_TOKENS = 8192
_CASSETTE = "calibration"


@dataclass(frozen=True, kw_only=True)
class AskingJudge:
    """A judge with a replaceable prompt, which receives the same requests as in a run.

    Its client is `live`: the calibration's own cache stores the answers, so that no cassette fills up with answers to
    unused prompts.
    """

    judge: Judge
    places: Mapping[str, tuple[JudgedTrial, Criterion]]
    """Subject and criterion by a question's id."""
    in_flight: int

    def answers(self, prompt: str, questions: Sequence[Question]) -> list[JudgeAnswer]:
        """Returns the answers; raises OutOfBudget, and errors of the gateway."""
        text = Prompt(name=self.judge.prompt.name, version=_CASSETTE, text=prompt)
        return asyncio.run(self._ask_all(replace(self.judge, prompt=text), questions))

    async def _ask_all(self, judge: Judge, questions: Sequence[Question]) -> list[JudgeAnswer]:
        seats = asyncio.Semaphore(self.in_flight)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(judge.asker)
            cassette = await stack.enter_async_context(judge.asker.cassette(_CASSETTE))

            async def one(question: Question) -> JudgeAnswer:
                subject, criterion = self.places[question.id]
                async with seats:
                    judgement = await judge.judge(subject, criterion, (cassette,))
                shown = "\n".join(f"{piece.who}: {piece.text}" for piece in judge.evidence(subject, criterion))
                return JudgeAnswer(
                    answer=judgement.answer,
                    step=judgement.step,
                    rationale=judgement.failure or judgement.rationale,
                    shown=shown,
                )

            return list(await _gathered([one(question) for question in questions]))


@dataclass(frozen=True, kw_only=True)
class ModelReflector:
    """A language model that revises prompts."""

    asker: ModelClient
    model: str
    max_tokens: int | None = _MAX_TOKENS
    """Of an answer; None: the provider's own limit, if its wire format needs none."""

    @classmethod
    def of(cls, settings: JudgeSettings, secrets: Mapping[str, str], budget: Budget | None = None) -> Self:
        """A revised text is longer than a verdict: it has twice the tokens of `sampling`. The other parameters are not
        taken, because a repeated request is to give another answer.
        """
        options = ModelClientOptions(mode="live", secrets=secrets, budget=budget)
        most = settings.sampling.max_tokens
        asker = ModelClient(settings.spec, settings.provider, options)
        return cls(asker=asker, model=settings.model, max_tokens=most and 2 * most)

    def __call__(self, request: str) -> str:
        """The whole text of the reply, which holds no revised text if it is cut off; raises HarnessError if the model
        cannot be asked, OutOfBudget if the budget is spent."""
        return asyncio.run(self._ask_all(request))

    async def _ask_all(self, request: str) -> str:
        body: JsonObject = {"model": self.model, "messages": [{"role": "user", "content": request}]}
        if self.max_tokens is not None or self.asker.provider == "anthropic":
            body["max_tokens"] = self.max_tokens or _MAX_TOKENS
        async with self.asker, self.asker.cassette(_CASSETTE) as cassette:
            reply = await self.asker.ask(cassette, body)
        if reply.problem is not None:
            raise HarnessError(
                f"the model {self.model!r} returned no revised prompt: {reply.problem}",
                remedy="run the same command again: stored answers are reused",
            )
        text = reply.replied.text
        return f"{text.replace(MARK, '')} [cut off at its limit of tokens]" if reply.replied.cut else text


def proposed_text(answer: str) -> str | None:
    """The text between the first ``` mark of a reflector's answer and the last one; None if the answer holds none, such
    as a refusal.
    """
    first, last = answer.find(MARK), answer.rfind(MARK)
    if first == last:
        return None
    inside = answer[first + len(MARK) : last]
    _, line_end, text = inside.partition("\n")
    found = (text if line_end else inside).strip()
    return f"{found}\n" if found else None


async def _gathered(asked: Sequence[Awaitable[JudgeAnswer]]) -> Sequence[JudgeAnswer]:
    """All answers; raises the first error after all requests have ended, so that none is left running."""
    found = await asyncio.gather(*asked, return_exceptions=True)
    answers: list[JudgeAnswer] = []
    for one in found:
        if isinstance(one, BaseException):
            raise one
        answers.append(one)
    return answers
