"""Sessions scored by a suite as its trials are: the same verifiers, metrics and detectors, over the same evidence.

Incremental and exactly once: a session is scored where no score with its key, digest and scorer exists, and a batch of
scores appears whole or not at all. A killed run is continued by the next one.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from harness.case import Suite
from harness.online.scores.outbox import ScoreOutbox
from harness.online.scores.sampling import Sampler
from harness.online.scores.scores import SessionSampling, SessionScore, session_of
from harness.online.session import SessionRow
from harness.online.session_scorer import SessionScorer
from harness.online.settings import OnlineSettings
from harness.online.store import SessionStore
from harness.values import Frozen

_BATCH: Final = 100


class ScoringRound(Frozen):
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
    outbox: ScoreOutbox | None = None
    """Where scores wait to be sent; None: they are not sent."""
    progress: Callable[[int], None] = field(default=lambda _: None)
    """Called with the number of sessions after each batch."""


def score_sessions(store: SessionStore, request: ScoringRequest) -> ScoringRound:
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
    return ScoringRound(
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
    store: SessionStore,
    scorer: SessionScorer,
    batch: Sequence[tuple[SessionRow, SessionSampling]],
    request: ScoringRequest,
) -> list[SessionScore]:
    samplings = dict(zip((row.key for row, _ in batch), (sampling for _, sampling in batch), strict=True))
    sessions = store.load_many([row for row, _ in batch])
    scores = [scorer.score(session, samplings[session.row.key]) for session in sessions]
    if request.outbox is not None:
        request.outbox.announce(scores)
    store.score_store.add(scores)
    return [one.model_copy(update={"card": one.card and one.card.model_copy(update={"scores": ()})}) for one in scores]


def _chosen(
    rows: Sequence[SessionRow], sampler: Sampler
) -> tuple[list[tuple[SessionRow, SessionSampling]], list[SessionRow]]:
    """Chosen ones, those of rarer rules first, and those that sampling leaves out."""
    chosen: list[tuple[SessionRow, SessionSampling]] = []
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
    store: SessionStore, chosen: list[tuple[SessionRow, SessionSampling]], request: ScoringRequest
) -> tuple[list[tuple[SessionRow, SessionSampling]], list[tuple[SessionRow, SessionSampling]]]:
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
            "sampling": SessionSampling(rule="", rate=1, in_base=False),
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
    pairs: Sequence[tuple[SessionRow, SessionSampling]],
) -> Iterator[Sequence[tuple[SessionRow, SessionSampling]]]:
    for start in range(0, len(pairs), _BATCH):
        yield pairs[start : start + _BATCH]
