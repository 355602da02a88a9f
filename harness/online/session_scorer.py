"""The scorer of a session: the verifiers, metrics and detectors of a suite, over the same evidence as a trial's."""

import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Final

from harness.case import UNTOLD_TASK, Case, Suite, suite_digest
from harness.errors import HarnessError, UsageError
from harness.online.scores.scores import UNREADABLE, SessionSampling, SessionScore, score_identity, session_of
from harness.online.scores.tool_facts import tool_facts
from harness.online.session import Session, SessionRow
from harness.online.settings import OnlineSettings
from harness.score import Evidence, Scorecard, build_scorer
from harness.trace import Trial
from harness.values import JsonValue, digest_of

PRODUCTION: Final = "production"
"""The case that a session is scored as which is no trial of the suite: it has the suite's own checks only."""
_READING: Final = "2"
"""Raised where the same records could be read as another trial: sessions are then scored again."""


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
        """Of what scores a session. Cases of the suite are not part of it: a session is scored by none."""

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

    def score(self, session: Session, sampling: SessionSampling) -> SessionScore:
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
