"""Figures of the simulated users of a run: ends of conversations, replayed and invalid ones, and their effect."""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from harness.judging.verdicts import Judgement
from harness.runs.store.judgements import latest, of_last_judge
from harness.scoring.scorecard import Scorecard
from harness.scoring.statistics.intervals import Interval, wilson
from harness.traces.trial import Trial, UserEnding, UserReport
from harness.values import Frozen


class Noted(Frozen):
    """What is to be seen in one conversation."""

    case_id: str
    attempt: int
    turn: int | None = None
    kind: str
    """The fault that makes it invalid, the kind of divergence, or the criterion that does not hold."""
    reason: str


class UserGroup(Frozen):
    """The conversations of one persona, scenario, model or kind of user."""

    by: str
    """`persona`, `scenario`, `model` or `user`."""
    name: str
    conversations: int
    invalid: int
    rate: float
    """Invalid conversations among all."""
    interval: Interval | None
    """Wilson, 95 %."""


class UserSummary(Frozen):
    """The report on the simulated users of a run."""

    conversations: int
    """Trials with a user that is not a script."""
    ended: dict[UserEnding, int]
    groups: tuple[UserGroup, ...]
    invalid: tuple[Noted, ...]
    steered: tuple[str, ...]
    """Trials in which the agent tried to steer the user: they count, as failures."""
    diverged: tuple[Noted, ...]
    """Logged conversations from which the agent diverged."""
    replayed: float | None
    """Share of the messages after the opening that were a log's own; None where no user had a log. After a divergence,
    the log's further messages count as not replayed.
    """
    entailed: int
    """Messages of these before which the model of `entailment:` found that the agent's other turn tells the same."""
    success: float | None
    """Over measured trials: invalid conversations are left out."""
    success_with_invalid: float | None
    """The success rate with invalid conversations counted as failures of the agent."""
    judged: tuple[Noted, ...] = ()
    """What a judge found against users by the rubric `user_simulator`: it invalidates no conversation by itself."""
    generated: int = 0
    """Messages that a model wrote."""
    judge: str | None = None
    """The model and the prompt that found it: of several judges the one that answered last."""
    is_judged: bool = False
    """Whether a judge has answered by the rubric `user_simulator`."""
    unanswered: int = 0
    """Questions to which it gave no answer."""
    uncertified: dict[str, str] = {}
    """Criterion -> why what it finds proves nothing: it is not certified for it."""
    success_without_judged: float | None = None
    """The success rate without the conversations in `judged`; None where no judge found anything."""
    cost_usd: float | None
    input_tokens: int
    output_tokens: int


def summarise_users(
    trials: Iterable[Trial],
    cards: Iterable[Scorecard],
    judgements: Iterable[Judgement] = (),
    uncertified: Mapping[str, str] = MappingProxyType({}),
) -> UserSummary:
    """The summary of a run's stored trials; `judgements` are those by the rubric `user_simulator`, `uncertified` is
    what the judge that answered last lacks.
    """
    simulated = [trial for trial in trials if trial.user is not None and trial.user.kind != "script"]
    reports = [trial.user for trial in simulated if trial.user is not None]
    success = {(card.case_id, card.attempt): card.success for card in cards}
    known = [succeeded for trial in simulated if (succeeded := success.get((trial.case_id, trial.attempt))) is not None]
    invalid = [trial for trial in simulated if trial.outcome == "simulator_failed"]
    logged = [report for report in reports if report.replayed is not None]
    after_opening = sum(map(messages_to_replay, logged))
    answers = of_last_judge(judgements)
    judge = next((one.judge for one in answers if one.judge.prompt is not None), None)
    judged = tuple(_judged(answers))
    doubted = {(one.case_id, one.attempt) for one in judged}
    undoubted = [
        succeeded
        for trial in simulated
        if (key := (trial.case_id, trial.attempt)) not in doubted and (succeeded := success.get(key)) is not None
    ]
    costs = [report.cost_usd for report in reports if report.cost_usd is not None]
    return UserSummary(
        conversations=len(simulated),
        ended=dict(Counter(report.ended for report in reports)),
        groups=tuple(_groups(simulated)),
        invalid=tuple(
            Noted(case_id=trial.case_id, attempt=trial.attempt, turn=found.turn, kind=found.fault, reason=found.reason)
            for trial in invalid
            if trial.user is not None and (found := trial.user.invalid) is not None
        ),
        steered=tuple(
            f"{trial.case_id}/{trial.attempt}: {trial.user.steered[0]}"
            for trial in simulated
            if trial.user is not None and trial.user.steered
        ),
        diverged=tuple(
            Noted(case_id=trial.case_id, attempt=trial.attempt, turn=left.turn, kind=left.kind, reason=left.reason)
            for trial in simulated
            if trial.user is not None and (left := trial.user.divergence) is not None
        ),
        replayed=sum(report.replayed or 0 for report in logged) / after_opening if after_opening else None,
        entailed=sum(report.entailed for report in logged),
        success=sum(known) / len(known) if known else None,
        success_with_invalid=sum(known) / (len(known) + len(invalid)) if known or invalid else None,
        judged=judged,
        generated=sum(report.generated or 0 for report in reports),
        judge=None if judge is None else f"{judge.model} {judge.prompt}@{judge.prompt_version}",
        is_judged=any(one.failure is None for one in answers),
        unanswered=sum(one.failure is not None for one in latest(answers).values()),
        uncertified=dict(uncertified),
        success_without_judged=sum(undoubted) / len(undoubted) if judged and undoubted else None,
        cost_usd=sum(costs) if costs else None,
        input_tokens=sum(report.input_tokens for report in reports),
        output_tokens=sum(report.output_tokens for report in reports),
    )


def messages_to_replay(report: UserReport) -> int:
    """The messages after the opening of which a log gave its share: those that were said, and after a divergence those
    that the log has beside them.
    """
    left = 0 if report.divergence is None else report.logged or 0
    return max(0, report.turns - 1, left)


def _judged(judgements: Iterable[Judgement]) -> Iterable[Noted]:
    """The last answer to each criterion, where it is that the criterion does not hold."""
    last = {(one.case_id, one.attempt, one.criterion): one for one in judgements if one.failure is None}
    for one in last.values():
        if one.passed is False:
            yield Noted(case_id=one.case_id, attempt=one.attempt, kind=one.criterion, reason=one.rationale)


def _groups(trials: list[Trial]) -> Iterable[UserGroup]:
    every: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    for trial in trials:
        user = trial.user
        if user is None:
            continue
        names = {"user": user.kind, "persona": user.persona, "model": user.model, "scenario": trial.case_id}
        for by, name in names.items():
            if name is not None:
                every[by, name] += 1
                failed[by, name] += trial.outcome == "simulator_failed"
    for (by, name), number in every.items():
        rate = failed[by, name] / number
        interval = wilson(rate, number)
        yield UserGroup(
            by=by,
            name=name,
            conversations=number,
            invalid=failed[by, name],
            rate=rate,
            interval=interval,
        )
