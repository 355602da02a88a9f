"""Sessions judged by a rubric, as trials are: one question a criterion, on the same evidence, by the same judge.

A judge's answers are recorded in the store's own cassettes, so that a killed round asks nothing twice. What the day's
budget does not cover waits; a session at which the judge failed is asked again in the next round.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from harness.errors import UsageError
from harness.gateway.budgets import Budget
from harness.gateway.models.recordings import AskMode
from harness.judging.certification import CriterionRates, measured_rates, read_records, record_path
from harness.judging.judge import Judge, JudgedTrial, client_of
from harness.judging.panel import Panel, PanelTask, run_panel
from harness.judging.prompts import Prompt
from harness.judging.rubrics import Criterion, Rubric, load_rubric
from harness.judging.settings import JudgeSettings
from harness.judging.verdicts import JudgeIdentity, Judgement
from harness.production.days import DayFacts
from harness.production.scores import SessionSampling, SessionScore, score_identity
from harness.production.scoring import Sampler, SessionScorer
from harness.production.session import Session, SessionRow
from harness.production.settings import OnlineSettings
from harness.production.storage import in_pieces
from harness.production.store import SessionStore
from harness.scoring.evidence import content_words
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.traces.outcomes import MEASURED
from harness.traces.trial import Trial
from harness.values import Frozen, digest_of

_BATCH: Final = 16
_RUN: Final = "online"


class SessionsJudged(Frozen):
    """What one round of judging did, in sessions."""

    before: int
    """Judged before by the same judge."""
    judged: int
    skipped: int
    """Left out by sampling."""
    without_question: int
    """About which nothing could be asked: no criterion of the rubric is for them, they were not measured, or their
    spans do not carry what was said. They are not examined again."""
    failed: int
    """At which the judge failed; they are asked again in the next round."""
    waiting: int
    """Beyond the day's budget."""
    usd: float
    tokens: int
    stopped: str | None = None
    """Why the round ended early."""


@dataclass(frozen=True, kw_only=True)
class JudgingRequest:
    """By whom, and by which rubric."""

    suite: Suite
    settings: OnlineSettings
    rubric: Rubric
    prompt: Prompt
    judge: JudgeSettings
    mode: AskMode = "auto"
    send_to: str | None = None


@dataclass(kw_only=True)
class _Candidate:
    """A session that is to be judged; `judgements` by criterion, as they come.

    `without_question`: why nothing can be asked about it; None if something can, or that is not known yet.
    """

    row: SessionRow
    rules: SessionScore
    sampling: SessionSampling
    wanted: int = 0
    without_question: str | None = None
    judgements: dict[str, Judgement] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        return 0 < self.wanted == len(self.judgements) and all(one.failure is None for one in self.judgements.values())


def judge_sessions(store: SessionStore, request: JudgingRequest) -> SessionsJudged:
    """One round over the sessions that were scored by rules. Raises HarnessError for what the judge's model refuses."""
    return _Round(store, request).run()


class _Round:
    """One round of judging."""

    def __init__(self, store: SessionStore, request: JudgingRequest) -> None:
        self._store = store
        self._request = request
        self._folder = store.layout.judge
        self._scorer = SessionScorer(request.suite, request.settings)
        self._identity = judge_scorer(request.rubric, self._judge(None).identity)

    def run(self) -> SessionsJudged:
        candidates, before, skipped = self._candidates()
        done = failed = unasked = elsewhere = 0
        usd, tokens, stopped = 0.0, 0, None
        for taken in in_pieces(candidates, _BATCH):
            if stopped is not None:
                break
            with self._store.score_store.claimed([self._identity_of(one.row) for one in taken]) as mine:
                batch = [one for one in taken if self._identity_of(one.row) in mine]
                today, budget = self._budget()
                stopped = self._batch(batch, budget)
                usd, tokens = usd + budget.spent_usd, tokens + budget.spent_tokens
                self._store.score_store.spend(today, budget.spent_usd, budget.spent_tokens)
                ready = [one for one in batch if one.is_done]
                idle = [one for one in batch if one.without_question is not None]
                self._store_results(ready, idle)
            done, unasked = done + len(ready), unasked + len(idle)
            failed += sum(any(j.failure is not None for j in one.judgements.values()) for one in batch)
            elsewhere += len(taken) - len(batch)
        return SessionsJudged(
            before=before + elsewhere,
            judged=done,
            skipped=skipped,
            without_question=unasked,
            failed=failed,
            waiting=len(candidates) - done - failed - unasked - elsewhere,
            usd=usd,
            tokens=tokens,
            stopped=stopped,
        )

    def _candidates(self) -> tuple[list[_Candidate], int, int]:
        rows = {row.key: row for row in self._store.sessions()}
        known = self._store.score_store.identities()
        sampler = Sampler(self._request.settings, list(rows.values()))
        found, before, skipped = list[_Candidate](), 0, 0
        for score in self._store.scores(suite=self._request.suite.name, kind="rules"):
            row = rows.get(score.session)
            if row is None or row.digest != score.digest:
                continue  # a late span came: it is scored by rules first
            if self._identity_of(row) in known:
                before += 1
                continue
            sampling = sampler.decide(row, "judge", failed=score.failed)
            if sampling is None:
                skipped += 1
            else:
                found.append(_Candidate(row=row, rules=score, sampling=sampling))
        found.sort(key=lambda one: (one.sampling.in_base, one.row.received_last_ns))
        return found, before, skipped

    def _budget(self) -> tuple[str, Budget]:
        """The day, and what may still be spent on it."""
        limits, today = self._request.settings.budget, datetime.now(UTC).strftime("%Y-%m-%d")
        usd, tokens = self._store.score_store.spent_on(today)
        budget = Budget(usd=limits.usd, tokens=limits.tokens)
        if budget.usd is not None:
            budget.usd = max(0.0, budget.usd - usd)
        if budget.tokens is not None:
            budget.tokens = max(0, budget.tokens - tokens)
        if budget.usd == 0 or budget.tokens == 0:
            budget.charge(0, 0)
        return today, budget

    def _identity_of(self, row: SessionRow) -> str:
        return score_identity(row.key, row.digest, "judge", self._identity)

    def _batch(self, batch: Sequence[_Candidate], budget: Budget) -> str | None:
        """Asks about a batch; why it ended early."""
        by_key: dict[tuple[str, int, str], list[_Candidate]] = {}

        def keep(judgement: Judgement) -> None:
            for one in by_key.get((judgement.case_id, judgement.attempt, judgement.trajectory), ()):
                one.judgements[judgement.criterion] = judgement

        def tasks() -> Iterator[PanelTask]:
            sessions = {session.row.key: session for session in self._store.load_many([one.row for one in batch])}
            for one in batch:
                task = self._task(sessions[one.row.key])
                if isinstance(task, str):
                    one.without_question = task
                    continue
                one.wanted = len(task.criteria)
                key = (task.subject.trial.case_id, task.subject.trial.attempt, task.subject.digest)
                by_key.setdefault(key, []).append(one)
                yield task

        panel = Panel(judge=self._judge(budget), in_flight=self._request.judge.in_flight, keep=keep)
        run_panel(panel, tasks())
        return panel.stopped

    def _task(self, session: Session) -> PanelTask | str:
        """What the judge is asked; the reason in words if there is nothing to ask."""
        trial = session.trial()
        if trial is None:
            return "the session cannot be read as a trial"
        if trial.outcome not in MEASURED:
            return f"not measured: {trial.outcome}"
        unheard = [one for one in trial.trajectory.uncaptured if one in ("answer", "messages")]
        if unheard:
            return f"the spans do not carry {content_words(unheard)}"
        criteria: tuple[Criterion, ...] = tuple(self._request.rubric.criteria_for(trial.case_id))
        if not criteria:
            return "no criterion of the rubric is for it"
        return PanelTask(subject=self._subject(session, trial), criteria=criteria)

    def _subject(self, session: Session, trial: Trial) -> JudgedTrial:
        case: Case | None = self._scorer.case_of(session, trial)
        return JudgedTrial.of(_RUN, trial, case)

    def _judge(self, budget: Budget | None) -> Judge:
        request = self._request
        names = {*request.suite.secrets, *request.judge.spec.secrets}
        secrets = {name: os.environ[name] for name in sorted(names) if os.environ.get(name)}
        suite = f"{request.suite.name}.judge"
        return Judge(
            rubric=request.rubric,
            prompt=request.prompt,
            settings=request.judge,
            asker=client_of(request.judge, request.mode, secrets, budget=budget, cassettes=self._folder, suite=suite),
            folder=request.suite.folder,
        )

    def _store_results(self, ready: Sequence[_Candidate], idle: Sequence[_Candidate]) -> None:
        """Stores what was judged, and that nothing can be asked about `idle`."""
        scores = [
            self._score_of(one, judgements=tuple(one.judgements[name] for name in sorted(one.judgements)))
            for one in ready
        ]
        scores += [self._score_of(one, skipped=True, notes=(str(one.without_question),)) for one in idle]
        self._store.score_store.add(scores, self._request.send_to)

    def _score_of(self, one: _Candidate, **update: object) -> SessionScore:
        judge = f"{self._request.judge.model}/{self._request.prompt.name}@{self._request.prompt.version}"
        common = {
            "kind": "judge",
            "rubric": self._request.rubric.name,
            "scorer": self._identity,
            "scored_at": datetime.now(UTC).isoformat(),
            "judge": judge,
            "sampling": one.sampling,
            "card": None,
            "tools": {},
            "notes": (),
        }
        return one.rules.model_copy(update={**common, **update})


def judge_scorer(rubric: Rubric, judge: JudgeIdentity) -> str:
    """The `scorer` of the scores by a rubric and a judge."""
    return digest_of([rubric.digest, judge.model_dump(mode="json")])[:32]


def day_rates(project: Path, facts: DayFacts, suite: str, day: str) -> dict[str, CriterionRates | str]:
    """By signal the rates on people's labels of the judge that scored it on the day, or why there are none.

    A judge is known by the records of the suite's labels and the rubric as it is now. Raises InvalidDocument.
    """
    found: dict[str, CriterionRates | str] = {}
    folder = project / "suites" / suite
    for name, scorers in facts.judges(day).items():
        try:
            rubric = load_rubric(name, folder)
        except UsageError:
            continue  # it was a file elsewhere
        records = read_records(record_path(project, suite, name))
        known = {judge_scorer(rubric, one.judge): one.judge for one in records}
        judge = known.get(scorers[0]) if len(scorers) == 1 else None
        rates = {} if judge is None else measured_rates(rubric, judge, records)
        for one in rubric.criteria:
            reason = "several judges scored the day" if len(scorers) > 1 else "no labels of people tested this judge"
            own = None if one.kind == "code" else rates.get(one.id) or reason
            if own is not None:
                found |= dict.fromkeys((f"criterion:{one.id}", f"criterion:{name}/{one.id}"), own)
    return found
