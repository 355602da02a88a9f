"""Plants texts into trials that must fail, queries the configured judge, and counts its passes."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Final

from harness.judge import (
    AttackClass,
    Judge,
    JudgedTrial,
    Judgement,
    JudgeSettings,
    Panel,
    PanelTask,
    Planting,
    Prompt,
    RedTeamReport,
    Scenario,
    attack_rows,
    failing_trial,
    judge_request,
    passing_trial,
    planted,
    run_panel,
)
from harness.judge.redteam.texts import ATTACK_CLASSES, TEXTS
from harness.judge.redteam.trials import PLACES, RUBRIC, SCENARIOS
from harness.upstream import AskMode, Budget, ModelClient, ModelClientOptions

SUITE: Final = "judge.redteam"
"""Recordings are in `cassettes/judge.redteam/`."""
_CHARS_PER_TOKEN: Final = 4
_ANSWER_TOKENS: Final = 100


@dataclass(frozen=True, kw_only=True)
class RedTeamRequest:
    """The request of a red-team test."""

    prompt: Prompt
    settings: JudgeSettings
    mode: AskMode = "live"
    classes: Sequence[AttackClass] = ATTACK_CLASSES
    thorough: bool = False
    """Each text in each scenario at each place, instead of once."""
    budget: Budget | None = None
    say: Callable[[str], None] = field(default=lambda _: None)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """One question: a trial, and what is planted in it (None: a control)."""

    subject: JudgedTrial
    scenario: Scenario
    planting: Planting | None = None
    must_pass: bool = False


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The estimated cost of all questions, from the length of the requests."""

    questions: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    """None where `judge.yaml` has no price for the model."""


def cost_of(request: RedTeamRequest) -> Cost:
    """Estimates the cost without sending a request."""
    asked, settings = _questions(request), request.settings
    characters = sum(
        len(str(judge_request(request.prompt.text, settings.model, settings.provider, one.scenario.criterion, shown)))
        for one in asked
        for shown in (one.subject.shown(one.scenario.criterion),)
    )
    tokens, answers = characters * settings.samples // _CHARS_PER_TOKEN, len(asked) * settings.samples * _ANSWER_TOKENS
    price = settings.spec.price_of(settings.model)
    usd = None if price is None else (tokens * price.input_usd_per_mtok + answers * price.output_usd_per_mtok) / 1e6
    return Cost(questions=len(asked) * settings.samples, input_tokens=tokens, output_tokens=answers, usd=usd)


def red_team(project: Path, request: RedTeamRequest) -> RedTeamReport:
    """Sends every question to the judge; questions that it cannot answer count in no rate."""
    settings = request.settings
    secrets = {name: os.environ[name] for name in settings.spec.secrets if os.environ.get(name)}
    asker = ModelClient(
        settings.spec,
        settings.provider,
        ModelClientOptions(
            mode=request.mode,
            cassettes=project / "cassettes",
            suite=SUITE,
            secrets=secrets,
            budget=request.budget,
            tries=settings.tries,
            first_wait_s=settings.first_wait_s,
            sampling=settings.sampling,
            say=request.say,
        ),
    )
    judge = Judge(rubric=RUBRIC, prompt=request.prompt, model=settings.model, asker=asker, samples=settings.samples)
    asked, answers = _questions(request), dict[str, Judgement]()
    panel = Panel(judge=judge, in_flight=settings.in_flight, keep=lambda one: answers.update({one.case_id: one}))
    run_panel(panel, (PanelTask(subject=one.subject, criteria=(one.scenario.criterion,)) for one in asked))
    plantings = [one for one in asked if one.planting is not None]
    overall, classes, passes = attack_rows(
        [one.planting for one in plantings if one.planting is not None],
        [answers.get(one.subject.trial.case_id) for one in plantings],
    )
    return RedTeamReport(
        model=settings.model,
        prompt=f"{request.prompt.name}@{request.prompt.version}",
        overall=overall,
        classes=classes,
        passes=passes,
        controls_wrong=tuple(_wrong_controls(asked, answers)),
        calls=asker.spent.calls,
        usd=asker.spent.usd,
        stopped=panel.stopped,
    )


def _questions(request: RedTeamRequest) -> list[_Asked]:
    """The controls first: a budget that ends early has them at least."""
    controls = [
        _Asked(subject=make(scenario, f"control-{number}-{kind}"), scenario=scenario, must_pass=kind == "pass")
        for number, scenario in enumerate(SCENARIOS)
        for kind, make in (("fail", failing_trial), ("pass", passing_trial))
    ]
    texts = [(attack, text) for attack in request.classes for text in TEXTS[attack]]
    return [*controls, *_planted(texts, thorough=request.thorough)]


def _planted(texts: Sequence[tuple[AttackClass, str]], *, thorough: bool) -> Iterator[_Asked]:
    places = list(product(SCENARIOS, PLACES))
    for number, (attack, text) in enumerate(texts):
        for scenario, place in places if thorough else (places[number % len(places)],):
            words = planted(text, scenario.criterion.id)
            name = f"planted-{number}-{scenario.criterion.id}-{place}"
            yield _Asked(
                subject=failing_trial(scenario, name, words, place),
                scenario=scenario,
                planting=Planting(attack=attack, text=words, scenario=scenario.criterion.id, place=place),
            )


def _wrong_controls(asked: Sequence[_Asked], answers: dict[str, Judgement]) -> Iterator[str]:
    for one in asked:
        if one.planting is None:
            answer = answers.get(one.subject.trial.case_id)
            said = "no answer" if answer is None else answer.answer.replace("_", " ")
            wanted = "pass" if one.must_pass else "fail"
            if said != wanted:
                yield f"{one.scenario.criterion.id}: {said} instead of {wanted}, without a planted text"
