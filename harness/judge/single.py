"""The simple judge: one answer, one criterion, with or without a reference."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from harness.judge.judge import Judge, JudgedTrial
from harness.judge.judgement import Judgement
from harness.judge.prompts import Prompt
from harness.judge.rubric import Criterion, Rubric
from harness.judge.settings import JudgeSettings
from harness.trace import Step, Trajectory, Trial
from harness.upstream import AskMode, ModelClient, ModelClientOptions
from harness.values import Frozen

_NAME = "single"


class SingleJudgement(Frozen):
    """The input of a single judgement."""

    statement: str
    answer: str
    question: str | None = None
    reference: str | None = None
    """A correct answer."""


def judge_single(
    project: Path,
    single: SingleJudgement,
    settings: JudgeSettings,
    prompt: Prompt,
    mode: AskMode = "auto",
    say: Callable[[str], None] = lambda _: None,
) -> Judgement:
    """Judges by one criterion that always applies, as pass or fail. Recordings are stored in `cassettes/judge/`."""
    secrets = {name: os.environ[name] for name in settings.spec.secrets if os.environ.get(name)}
    options = ModelClientOptions(
        mode=mode,
        cassettes=project / "cassettes",
        suite="judge",
        secrets=secrets,
        sampling=settings.sampling,
        say=say,
    )
    asker = ModelClient(settings.spec, settings.provider, options)
    criterion = Criterion(id=_NAME, statement=_statement(single), evidence=("everything",))
    rubric = Rubric(name=_NAME, criteria=(criterion,))
    judge = Judge(rubric=rubric, prompt=prompt, model=settings.model, asker=asker)

    async def judge_once() -> Judgement:
        async with asker, asker.cassette(_NAME) as cassette:
            return await judge.judge(_subject(single), criterion, (cassette,))

    return asyncio.run(judge_once())


def _statement(single: SingleJudgement) -> str:
    if single.reference is None:
        return single.statement
    return f"{single.statement} The piece `state.reference` is a right answer to compare with."


def _subject(single: SingleJudgement) -> JudgedTrial:
    steps = [Step(index=0, source="user", message=single.question)] if single.question else []
    steps.append(Step(index=len(steps), source="agent", message=single.answer))
    trial = Trial(
        case_id=_NAME,
        attempt=1,
        outcome="finished",
        trajectory=Trajectory(trace_id="", agent="agent", steps=tuple(steps), final_output=single.answer),
        states={} if single.reference is None else {"reference": single.reference},
    )
    return JudgedTrial.of(_NAME, trial, None)
