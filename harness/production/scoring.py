"""Sessions scored by a suite as its trials are: the same verifiers, metrics and detectors, over the same evidence.

Incremental and exactly once: a session is scored if no score with its key, digest and scorer exists, and a batch of
scores appears whole or not at all. A killed run is continued by the next one.
"""

import hashlib
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import JsonValue

from harness.errors import HarnessError, UsageError
from harness.production.scores import (
    UNREADABLE,
    SessionSampling,
    SessionScore,
    score_identity,
    session_of,
    tool_facts,
)
from harness.production.session import Session, SessionRow
from harness.production.settings import OnlineSettings, SamplingRule
from harness.production.storage import in_pieces
from harness.production.store import SessionStore
from harness.scoring.evidence import Evidence
from harness.scoring.scorecard import Scorecard
from harness.scoring.scorer import build_scorer
from harness.suite.cases import UNTOLD_TASK, Case
from harness.suite.digests import suite_digest
from harness.suite.suites import Suite
from harness.traces.trial import Trial
from harness.values import Frozen, digest_of

PRODUCTION: Final = "production"
"""The case that a session is scored as which is no trial of the suite: it has the suite's own checks only."""
_READING: Final = "2"
"""Raised if the same records could be read as another trial: sessions are then scored again."""


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
        self._alone = _identity(suite, (production,))
        self._with_cases = _identity(suite, (*suite.cases, production))

    def scorer_of(self, row: SessionRow) -> str:
        """Digest of what scores a session. A trusted harness may have sent it as a trial of a case: it depends on the
        suite's cases too, and no other session does.
        """
        return self._with_cases if row.trusted else self._alone

    def identity_of(self, row: SessionRow) -> str:
        """Of the session's score as it is now."""
        return score_identity(row.key, row.digest, "rules", self.scorer_of(row))

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
        """The suite's case if a trusted harness names it, else one with the task that the session tells."""
        if session.own_record is not None and trial.case_id in self._cases:
            return self._cases[trial.case_id]
        named = session.case
        task = UNTOLD_TASK if named is None else named.task
        system = None if named is None else named.system
        return Case(id=PRODUCTION, task=task, system=system, category=self._category(session) or "general")

    def score(self, session: Session, sampling: SessionSampling) -> SessionScore:
        """The whole score; `skipped` with a note if the session cannot be read as a trial."""
        common = {**session_of(session.row), "kind": "rules", "suite": self._suite.name}
        common |= {
            "scorer": self.scorer_of(session.row),
            "scored_at": datetime.now(UTC).isoformat(),
            "sampling": sampling,
        }
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


def _identity(suite: Suite, cases: Sequence[Case]) -> str:
    """Of everything that a score by these cases depends on: checks, tools, code and versions of scorers."""
    packs = {name: pack for name, pack in suite.packs.items() if any(name in case.fixtures for case in cases)}
    alone = suite.model_copy(update={"cases": tuple(cases), "packs": packs})
    versions: dict[str, JsonValue] = dict(build_scorer(alone).versions)
    read = {"suite": suite_digest(alone), "versions": versions, "reading": _READING}
    return digest_of(read)[:32]


# Which sessions are scored: declared rules, and a hash of the session instead of chance.
#
# A session's number between 0 and 1 is a hash of its key and the seed. It is chosen if that number is below the highest
# rate of the rules that it meets, so that rate is the probability of its inclusion, whatever rules overlap, and 1 /
# rate is its weight in an estimate for the whole population (Horvitz and Thompson 1952).

_DAY_NS: Final = 86_400 * 10**9


class Sampler:
    """Decides by the settings, and by what the store knows of releases and durations when it is made."""

    def __init__(self, settings: OnlineSettings, rows: Sequence[SessionRow]) -> None:
        """`rows`: every session of the store, for `new_release` and `slow`."""
        self._settings = settings
        self._released_ns = _first_received(rows)
        self._durations = sorted(row.duration_s for row in rows)

    def decide(
        self, row: SessionRow, scores: Literal["rules", "judge"], *, failed: bool = False
    ) -> SessionSampling | None:
        """How a session is chosen; None if it is not. `failed`: what scoring by rules has shown."""
        rules = [rule for rule in self._settings.sampling if rule.scores in ("both", scores)]
        met = [rule for rule in rules if self._rule_applies(rule, row, failed)]
        if not met:
            return None
        best = max(met, key=lambda rule: rule.rate)
        number = place_of(row.key, self._settings.seed)
        base = max((rule.rate for rule in rules if rule.when == "always"), default=0.0)
        if number >= best.rate:
            return None
        return SessionSampling(rule=best.name, rate=best.rate, in_base=number < base)

    def _rule_applies(self, rule: SamplingRule, row: SessionRow, failed: bool) -> bool:
        match rule.when:
            case "always":
                return True
            case "failed":
                return failed or row.errors > 0
            case "thumbs_down":
                return row.feedback is not None and row.feedback < 0.5
            case "new_release":
                first = self._released_ns.get(row.release)
                return bool(row.release) and first is not None and row.received_first_ns - first < rule.days * _DAY_NS
            case "slow":
                return bool(self._durations) and row.duration_s >= self._quantile(rule.quantile)

    def _quantile(self, share: float) -> float:
        return self._durations[min(len(self._durations) - 1, int(share * len(self._durations)))]


def place_of(key: str, seed: str) -> float:
    """A session's number in [0, 1)."""
    return int(hashlib.sha256(f"{seed}|{key}".encode("utf-8", "replace")).hexdigest()[:13], 16) / 16**13


def _first_received(rows: Sequence[SessionRow]) -> Mapping[str, int]:
    """When each release was first received; the store's oldest release is none that is new."""
    first: dict[str, int] = {}
    for row in rows:
        if row.release:
            first[row.release] = min(row.received_first_ns, first.get(row.release, row.received_first_ns))
    oldest = min(first.values(), default=0)
    return {release: at for release, at in first.items() if at > oldest}


_BATCH: Final = 100


class ScoringRound(Frozen):
    """What one round of scoring did, in sessions."""

    complete: int
    """Sessions in the store that are complete, or go on for longer than is waited for."""
    before: int
    """Of these, scored before by the same scorers, or by another round meanwhile."""
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
    send_to: str | None = None
    """Where `ScoreStore.deliver` is to send the scores; None: they are not sent."""
    progress: Callable[[int], None] = field(default=lambda _: None)
    """Called with the number of sessions after each batch."""


def score_sessions(store: SessionStore, request: ScoringRequest) -> ScoringRound:
    """One round over the complete sessions that are not scored yet. Raises UsageError for a wrong suite."""
    scorer = SessionScorer(request.suite, request.settings)
    rows, now_ns = store.sessions(), time.time_ns()
    complete = [row for row in rows if row.is_complete(now_ns, request.settings.pause_s)]
    complete += _endless(store, rows, request, now_ns)
    known = store.score_store.identities()
    fresh = [row for row in complete if scorer.identity_of(row) not in known]
    sampler = Sampler(request.settings, rows)
    chosen, left_out = _chosen_and_left_out(fresh, sampler)
    now, waiting = _within_budget(store, chosen, request)
    store.score_store.add(_left_out(row, scorer, request) for row in left_out)
    scored: list[SessionScore] = []
    elsewhere = 0
    for batch in in_pieces(now, _BATCH):
        with store.score_store.claimed([scorer.identity_of(row) for row, _ in batch]) as mine:
            own = [pair for pair in batch if scorer.identity_of(pair[0]) in mine]
            scored += _scored_batch(store, scorer, own, request)
        elsewhere += len(batch) - len(own)
        request.progress(len(scored))
    return ScoringRound(
        complete=len(complete),
        before=len(complete) - len(fresh) + elsewhere,
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
    last_ns = store.score_store.last_received(request.suite.name)
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
    store.score_store.add(scores, request.send_to)
    return [one.model_copy(update={"card": one.card and one.card.model_copy(update={"scores": ()})}) for one in scores]


def _chosen_and_left_out(
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
    allowed = _sessions_allowed(store, request)
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
            "scorer": scorer.scorer_of(row),
            "suite": request.suite.name,
            "scored_at": datetime.now(UTC).isoformat(),
            "sampling": SessionSampling(rule="", rate=1, in_base=False),
            "skipped": True,
        }
    )


def _sessions_allowed(store: SessionStore, request: ScoringRequest) -> int | None:
    """How many sessions may be scored now; None: any number."""
    limits = [] if request.limit is None else [request.limit]
    if request.settings.budget.sessions is not None:
        today = datetime.now(UTC).strftime("%Y-%m-%d")
        limits.append(max(0, request.settings.budget.sessions - store.score_store.scored_on(today)))
    return min(limits, default=None)
