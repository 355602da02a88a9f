"""The score of one session by one scorer, as it is stored."""

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, Literal

from pydantic import model_validator

from harness.judge import Judgement
from harness.online.session import SessionRow
from harness.score import Scorecard
from harness.trace import Content
from harness.values import Frozen

ScoreKind = Literal["rules", "judge"]
UNREADABLE: Final = "unreadable: "
"""The note of a session that could not be read begins so."""


class SessionSampling(Frozen):
    """Why a session was chosen, and how likely that was."""

    rule: str
    """The rule with the highest rate that it met."""
    rate: float
    """The probability with which a session like this is chosen; 1 / rate is its weight."""
    in_base: bool
    """Whether the base rate alone chose it: charts look at these only, since all of them were as likely."""


class ToolFacts(Frozen):
    """How one tool answered in one session."""

    calls: int = 0
    errors: int = 0
    shapes: tuple[str, ...] = ()
    """Digests of the structures of its answers (names and types, no values), sorted."""


class SessionScore(Frozen):
    """The scores of one session by one scorer."""

    session: str
    """The session's key."""
    trace_id: str = ""
    """Of its first trace."""
    digest: str
    """Of the session's records when it was scored; a late span leads to a further score."""
    kind: ScoreKind
    """`rules`: verdicts, metrics and failure modes. `judge`: judgements of one rubric."""
    scorer: str
    """Digest of what scored it: the suite without its cases and the scorers' versions, or rubric and judge. With
    `session`, `digest` and `case` it is the key of a score, of which there is one.
    """
    case: str = ""
    """For a trial that a trusted harness sent: a digest of the case that it names. "" for every other session, whose
    score depends on no case of the suite.
    """
    scored_at: str
    suite: str
    rubric: str = ""
    """The rubric that it was judged by; "" for rules."""
    source: str
    release: str = ""
    model: str = ""
    prompt: str = ""
    judge: str = ""
    """Model and prompt version of the judge, or "" for rules."""
    category: str = "general"
    received_ns: int
    """When the session's last record was received."""
    skipped: bool = False
    """Whether sampling left it out, or it could not be read (`notes`): it has no scores, and is not examined again."""
    steps: int = 0
    duration_s: float = 0.0
    feedback: float | None = None
    sampling: SessionSampling
    card: Scorecard | None = None
    """None in scores of the kind `judge`."""
    judgements: tuple[Judgement, ...] = ()
    tools: dict[str, ToolFacts] = {}
    uncaptured: tuple[Content, ...] = ()
    """What its spans do not carry: checks and metrics that read it are not known, and no failure mode is searched for.
    """
    notes: tuple[str, ...] = ()
    """What of the session could not be read as it stands."""

    @model_validator(mode="before")
    @classmethod
    def _rubric_of_judgements(cls, stored: Any) -> Any:
        """Scores that were stored without this field name the rubric in their judgements."""
        judged = stored.get("judgements") if isinstance(stored, dict) and "rubric" not in stored else None
        if not judged or not isinstance(judged, list | tuple):
            return stored
        first = judged[0]
        return {**stored, "rubric": first.get("rubric", "") if isinstance(first, dict) else first.rubric}

    @property
    def day(self) -> str:
        """The day on which it was received, in UTC."""
        return datetime.fromtimestamp(self.received_ns / 1e9, UTC).strftime("%Y-%m-%d")

    @property
    def unreadable(self) -> bool:
        """Whether it was chosen and could not be read as a trial."""
        return self.skipped and any(note.startswith(UNREADABLE) for note in self.notes)

    @property
    def failed(self) -> bool:
        """Whether a check or a criterion failed, or a failure mode was found."""
        card = self.card
        by_rules = card is not None and (card.success is False or bool(card.diagnoses))
        return by_rules or any(one.answer == "fail" for one in self.judgements)

    @property
    def identity(self) -> str:
        """Session, its digest, scorer and case, as one digest."""
        shared = self.shared_identity
        return hashlib.sha256(f"{shared}|{self.case}".encode()).hexdigest()[:32] if self.case else shared

    @property
    def shared_identity(self) -> str:
        """The same without the case."""
        return score_identity(self.session, self.digest, self.kind, self.scorer)


def score_identity(session: str, digest: str, kind: ScoreKind, scorer: str) -> str:
    """32 hexadecimal digits: what there is one score of, where no case of the suite matters."""
    text = f"{session}|{digest}|{kind}|{scorer}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def latest_scores(scores: Iterable[SessionScore]) -> dict[tuple[str, ScoreKind, str, str], SessionScore]:
    """By session, kind, suite and rubric the score that was made last."""
    return {(one.session, one.kind, one.suite, one.rubric): one for one in scores}


def session_of(row: SessionRow) -> dict[str, object]:
    """The fields that a score takes over from its session."""
    return {
        "session": row.key,
        "trace_id": row.trace_ids[0],
        "digest": row.digest,
        "source": row.source,
        "release": row.release,
        "model": row.model,
        "received_ns": row.received_last_ns,
        "duration_s": row.duration_s,
        "feedback": row.feedback,
    }
