"""The interfaces of a calibration implemented with models: the judge, and the reflector that revises its prompt."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from harness.errors import HarnessError
from harness.judge.judge import Judge, JudgedTrial
from harness.judge.lab.calibration.question import JudgeAnswer, Question
from harness.judge.prompts import Prompt
from harness.judge.rubric import Criterion
from harness.upstream import ModelClient, OutOfBudget, Replied
from harness.values import JsonObject

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

    def answers(self, prompt: str, questions: Sequence[Question], sample: int) -> list[JudgeAnswer]:
        """Returns the answers; raises OutOfBudget, and errors of the gateway."""
        del sample  # every question is sent
        text = Prompt(name=self.judge.prompt.name, version=_CASSETTE, text=prompt)
        return asyncio.run(self._ask_all(replace(self.judge, prompt=text, samples=1), questions))

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
                    answer=judgement.answer, rationale=judgement.failure or judgement.rationale, shown=shown
                )

            return list(await _gathered([one(question) for question in questions]))


@dataclass(frozen=True, kw_only=True)
class ModelReflector:
    """A language model that revises prompts."""

    asker: ModelClient
    model: str

    def __call__(self, request: str) -> str:
        """The whole text of the reply; raises HarnessError where it is empty, OutOfBudget where the budget is spent."""
        return asyncio.run(self._ask_all(request))

    async def _ask_all(self, request: str) -> str:
        body: JsonObject = {"model": self.model, "messages": [{"role": "user", "content": request}]}
        if self.asker.provider == "anthropic":
            body["max_tokens"] = _MAX_TOKENS
        async with self.asker, self.asker.cassette(_CASSETTE) as cassette:
            reply = await self.asker.ask(cassette, body)
        text = _text(reply.replied)
        if reply.problem is not None or not text.strip():
            raise HarnessError(
                f"the model {self.model!r} returned no revised prompt: {reply.problem or 'its answer is empty'}",
                remedy="run the same command again: stored answers are reused",
            )
        return text


async def _gathered(asked: Sequence[Awaitable[JudgeAnswer]]) -> Sequence[JudgeAnswer]:
    """All answers; raises the first error after all requests have ended, so that none is left running."""
    found = await asyncio.gather(*asked, return_exceptions=True)
    answers: list[JudgeAnswer] = []
    for one in found:
        if isinstance(one, BaseException):
            raise one
        answers.append(one)
    return answers


def _text(replied: Replied) -> str:
    parts = (replied.message or {}).get("parts")
    found = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "\n".join(str(part.get("content")) for part in found if part.get("type") == "text")


__all__ = ["AskingJudge", "ModelReflector", "OutOfBudget"]
