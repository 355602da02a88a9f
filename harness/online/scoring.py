"""Sessions scored by a suite as its trials are: the same verifiers, metrics and detectors, over the same evidence.

Incremental and exactly once: a session is scored where no score with its key, digest and scorer exists, and a batch of
scores appears whole or not at all. A killed run is continued by the next one.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Final

from harness.case import UNTOLD_TASK, Case, Suite, suite_digest
from harness.errors import HarnessError, UsageError
from harness.online.scores.outbox import Outbox
from harness.online.scores.sampling import Sampler
from harness.online.scores.scores import UNREADABLE, Sampling, SessionScore, score_identity, session_of
from harness.online.scores.tool_facts import tool_facts
from harness.online.session import Session, SessionRow
from harness.online.settings import OnlineSettings
from harness.online.store import SessionStore
from harness.score import Evidence, Scorecard, build_scorer
from harness.trace import Trial
from harness.values import Frozen, JsonValue, digest_of

PRODUCTION: Final = "production"
"""The case that a session is scored as which is no trial of the suite: it has the suite's own checks only."""
_BATCH: Final = 100
_READING: Final = "2"
"""Raised where the same records could be read as another trial: sessions are then scored again."""


class Scored(Frozen):
    """What one round of scoring did, in sessions."""

    complete: int
    """Sessions in the store that are complete, or go on for longer than is waited for."""
    before: int
    """Of these, scored before by the same scorers."""
    scored: int
    skipped: int
    """Left out by sampling."""
    unreadable: int
    """Without a trajectory: their spans tell of no agent, model or tool, or cannot be read."""
    without_content: int
    """Of the scored ones, those whose spans do not carry all that was said and done: what depends on it is not known.
    """
    failed: int
    """Of the scored ones, those in which a check failed or a failure mode was found."""
    waiting: int
    """Beyond the day's budget."""
    within_pause: int
    """Not complete yet: they received something less than the pause ago, and are scored in a later round."""


@dataclass(frozen=True, kw_only=True)
class ScoringRequest:
    """What is scored, and how much of it."""

    suite: Suite
    settings: OnlineSettings
    limit: int | None = None
    """At most so many sessions now; None: all."""
    outbox: Outbox | None = None
    """Where scores wait to be sent; None: they are not sent."""
    progress: Callable[[int], None] = field(default=lambda _: None)
    """Called with the number of sessions after each batch."""


class SessionScorer:
    """A suite's scorer for sessions."""

    def __init__(self, suite: Suite, settings: OnlineSettings) -> None:
        """Raises UsageError that names the check and the field, for a suite whose scorers are not found."""
        if any(case.id == PRODUCTION for case in suite.cases):
            raise UsageError(
                f"suite {suite.name!r} has a case {PRODUCTION!r}, the name of sessions", remedy="rename it"
            )
        self._settings = settings
        self._suite = suite
        self._cases = {case.id: case for case in suite.cases}
        production = Case(id=PRODUCTION, task=UNTOLD_TASK)
        self._scorer = build_scorer(suite.model_copy(update={"cases": (*suite.cases, production)}))
        self.identity = _identity(suite, production)
        """Of what scores a session. Cases of the suite are no part of it: a session is scored by none."""

    @cached_property
    def _known_cases(self) -> frozenset[str]:
        return frozenset(_case_mark(_identity(self._suite, case)) for case in self._suite.cases)

    @cached_property
    def _once_unknown(self) -> frozenset[str]:
        return frozenset(map(_unknown_mark, self._cases))

    def has_scored(self, row: SessionRow, scored_cases: Mapping[str, str]) -> bool:
        """Whether a score of the session as it is now exists, by the suite as it is now.

        `scored_cases`: those of the store. A trial that a trusted harness sent is scored again where its own case
        has changed, and no session because of any other case.
        """
        case = scored_cases.get(score_identity(row.key, row.digest, "rules", self.identity))
        if not case:
            return case is not None
        return case in self._known_cases if _is_case_mark(case) else case not in self._once_unknown

    def _mark_of(self, session: Session, trial: Trial) -> str:
        """What of the suite's cases the score of a session depends on; "" for nothing."""
        if session.own_record is None:
            return ""
        case = self._cases.get(trial.case_id)
        return _unknown_mark(trial.case_id) if case is None else _case_mark(_identity(self._suite, case))

    def card(self, session: Session, trial: Trial) -> Scorecard:
        """The scorecard of a session. A trusted harness's trial of the suite is scored as its case."""
        case = self.case_of(session, trial)
        with tempfile.TemporaryDirectory(prefix="harness-session-") as folder:
            own = session.own_record
            archive = own.write_archive(Path(folder)) if own is not None else None
            evidence = Evidence(
                case=case,
                trial=trial,
                tools=self._suite.tools,
                end_state_archive=archive,
                reference_state=None if own is None else own.reference_state(self._suite, case),
            )
            card = self._scorer.score(evidence)
        return card if case.id != PRODUCTION else card.model_copy(update={"case_id": trial.case_id})

    def case_of(self, session: Session, trial: Trial) -> Case:
        """The suite's case where a trusted harness names it, else one with the task that the session tells."""
        if session.own_record is not None and trial.case_id in self._cases:
            return self._cases[trial.case_id]
        named = session.case
        task = UNTOLD_TASK if named is None else named.task
        system = None if named is None else named.system
        return Case(id=PRODUCTION, task=task, system=system, category=self._category(session) or "general")

    def score(self, session: Session, sampling: Sampling) -> SessionScore:
        """The whole score; `skipped` with a note where the session cannot be read as a trial."""
        common = {**session_of(session.row), "kind": "rules", "scorer": self.identity, "suite": self._suite.name}
        common |= {"scored_at": datetime.now(UTC).isoformat(), "sampling": sampling}
        try:
            trial = session.trial()
        except (HarnessError, ValueError, TypeError, RecursionError) as error:
            return SessionScore.model_validate({**common, "skipped": True, "notes": (f"{UNREADABLE}{error}"[:300],)})
        if trial is None:
            notes = (f"{UNREADABLE}its spans tell of no agent, model or tool",)
            return SessionScore.model_validate({**common, "skipped": True, "notes": notes})
        card = self.card(session, trial)
        return SessionScore.model_validate(
            {
                **common,
                "case": self._mark_of(session, trial),
                "prompt": card.prompt or "",
                "category": self._category(session) or card.category,
                "steps": len(trial.trajectory.steps),
                "card": card,
                "tools": tool_facts(trial.trajectory),
                "uncaptured": trial.trajectory.uncaptured,
                "notes": tuple(f"{note.problem} ({note.count}x)" for note in session.notes[:20]),
            }
        )

    def _category(self, session: Session) -> str | None:
        for name in self._settings.category:
            for span in session.spans:
                raw = span.attributes.get(name)
                if isinstance(raw, str) and raw.strip():
                    return raw.strip()[:100]
        return None


def _identity(suite: Suite, case: Case) -> str:
    """Of everything that the score of this case's trials depends on: checks, tools, code and versions of scorers."""
    packs = {name: pack for name, pack in suite.packs.items() if name in case.fixtures}
    alone = suite.model_copy(update={"cases": (case,), "packs": packs, "run_metrics": ()})
    versions: dict[str, JsonValue] = dict(build_scorer(alone).versions)
    composite = {name: part.model_dump(mode="json") for name, part in suite.composite.items()}
    read = {"suite": suite_digest(alone), "composite": composite, "versions": versions, "reading": _READING}
    return digest_of(read)[:32]


def _case_mark(identity: str) -> str:
    return f"c{identity[:31]}"


def _unknown_mark(case_id: str) -> str:
    """Of a case that the suite does not have."""
    return f"u{digest_of(case_id)[:31]}"


def _is_case_mark(mark: str) -> bool:
    return mark.startswith("c")


def score_sessions(store: SessionStore, request: ScoringRequest) -> Scored:
    """One round over the complete sessions that are not scored yet. Raises UsageError for a wrong suite."""
    scorer = SessionScorer(request.suite, request.settings)
    rows, now_ns = store.sessions(), time.time_ns()
    complete = [row for row in rows if row.is_complete(now_ns, request.settings.pause_s)]
    complete += _endless(store, rows, request, now_ns)
    scored_cases = store.score_store.scored_cases()
    fresh = [row for row in complete if not scorer.has_scored(row, scored_cases)]
    sampler = Sampler(request.settings, rows)
    chosen, left_out = _chosen(fresh, sampler)
    now, waiting = _within_budget(store, chosen, request)
    store.score_store.add(_left_out(row, scorer, request) for row in left_out)
    scored: list[SessionScore] = []
    for batch in _batches(now):
        scored += _scored_batch(store, scorer, batch, request)
        request.progress(len(scored))
    return Scored(
        complete=len(complete),
        before=len(complete) - len(fresh),
        scored=sum(not one.skipped for one in scored),
        skipped=len(left_out),
        unreadable=sum(one.skipped for one in scored),
        without_content=sum(bool(one.uncaptured) for one in scored),
        failed=sum(one.failed for one in scored),
        waiting=len(waiting),
        within_pause=len(rows) - len(complete),
    )


def _endless(store: SessionStore, rows: Sequence[SessionRow], request: ScoringRequest, now_ns: int) -> list[SessionRow]:
    """Sessions without a pause that were not scored for the longest time that is waited."""
    settings, longest_ns = request.settings, request.settings.longest_s * 1e9
    found = [
        row
        for row in rows
        if now_ns - row.received_first_ns >= longest_ns and not row.is_complete(now_ns, settings.pause_s)
    ]
    if not found:
        return []
    scores = (one for one in store.score_store.read() if one.kind == "rules" and one.suite == request.suite.name)
    last_ns = {one.session: one.received_ns for one in scores}
    return [row for row in found if row.received_last_ns - last_ns.get(row.key, 0) >= longest_ns]


def _scored_batch(
    store: SessionStore, scorer: SessionScorer, batch: Sequence[tuple[SessionRow, Sampling]], request: ScoringRequest
) -> list[SessionScore]:
    samplings = dict(zip((row.key for row, _ in batch), (sampling for _, sampling in batch), strict=True))
    sessions = store.load_many([row for row, _ in batch])
    scores = [scorer.score(session, samplings[session.row.key]) for session in sessions]
    if request.outbox is not None:
        request.outbox.announce(scores)
    store.score_store.add(scores)
    return [one.model_copy(update={"card": one.card and one.card.model_copy(update={"scores": ()})}) for one in scores]


def _chosen(rows: Sequence[SessionRow], sampler: Sampler) -> tuple[list[tuple[SessionRow, Sampling]], list[SessionRow]]:
    """Chosen ones, those of rarer rules first, and those that sampling leaves out."""
    chosen: list[tuple[SessionRow, Sampling]] = []
    left_out: list[SessionRow] = []
    for row in rows:
        sampling = sampler.decide(row, "rules")
        if sampling is None:
            left_out.append(row)
        else:
            chosen.append((row, sampling))
    chosen.sort(key=lambda pair: (pair[1].in_base, pair[0].received_last_ns))
    return chosen, left_out


def _within_budget(
    store: SessionStore, chosen: list[tuple[SessionRow, Sampling]], request: ScoringRequest
) -> tuple[list[tuple[SessionRow, Sampling]], list[tuple[SessionRow, Sampling]]]:
    """What is scored now, and what waits: sessions that have a score already, of a scorer that has changed since, do
    not keep new ones waiting, and the latest of them come first.
    """
    allowed = _allowed(store, request)
    if allowed is None or allowed >= len(chosen):
        return chosen, []
    scored = store.score_store.scored_sessions(request.suite.name)
    ordered = [pair for pair in chosen if pair[0].key not in scored]
    ordered += reversed([pair for pair in chosen if pair[0].key in scored])
    return ordered[:allowed], ordered[allowed:]


def _left_out(row: SessionRow, scorer: SessionScorer, request: ScoringRequest) -> SessionScore:
    return SessionScore.model_validate(
        {
            **session_of(row),
            "kind": "rules",
            "scorer": scorer.identity,
            "suite": request.suite.name,
            "scored_at": datetime.now(UTC).isoformat(),
            "sampling": Sampling(rule="", rate=1, in_base=False),
            "skipped": True,
        }
    )


def _allowed(store: SessionStore, request: ScoringRequest) -> int | None:
    """How many sessions may be scored now; None: any number."""
    limits = [] if request.limit is None else [request.limit]
    if request.settings.budget.sessions is not None:
        today = datetime.now(UTC).strftime("%Y-%m-%d")
        done = sum(
            one.scored_at[:10] == today and one.kind == "rules" and not one.skipped for one in store.score_store.read()
        )
        limits.append(max(0, request.settings.budget.sessions - done))
    return min(limits, default=None)


def _batches(
    pairs: Sequence[tuple[SessionRow, Sampling]],
) -> Iterator[Sequence[tuple[SessionRow, Sampling]]]:
    for start in range(0, len(pairs), _BATCH):
        yield pairs[start : start + _BATCH]
