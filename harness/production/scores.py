"""The score of one session by one scorer, as it is stored."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, Literal

from pydantic import JsonValue

from harness.judging.verdicts import Judgement
from harness.production.session import SessionRow
from harness.scoring.rules.learned import broken
from harness.scoring.scorecard import Scorecard
from harness.traces.outcomes import MEASURED
from harness.traces.trajectory import Content, Trajectory
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
    """Digest of what scored it: the suite (without its cases, unless a trusted sender may name one) and the scorers'
    versions, or rubric and judge. With `session` and `digest` it is the key of a score, of which there is one.
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
    """What of the session could not be read as it is."""

    @property
    def day(self) -> str:
        """The day on which it was received, in UTC."""
        return day_of(self.received_ns)

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
        """Session, its digest and scorer, as one digest."""
        return score_identity(self.session, self.digest, self.kind, self.scorer)


def day_of(ns: int) -> str:
    """The day of a time in nanoseconds since the epoch, in UTC."""
    return datetime.fromtimestamp(ns / 1e9, UTC).strftime("%Y-%m-%d")


def score_identity(session: str, digest: str, kind: ScoreKind, scorer: str) -> str:
    """32 hexadecimal digits: what there is one score of."""
    text = f"{session}|{digest}|{kind}|{scorer}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


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


# Scores as flat rows, one for each question that was answered: what reports and charts are computed from.
#
# A row says of one session what one signal gave. Signals are `success`, `check:<name>`, `mode:<failure mode>`,
# `criterion:<id>`, `metric:<name>`, `tool:<name>` (whether an answer was an error), `shape:<name>|<digest>` (a
# structure of answer occurred), `feedback`, `duration_s` and `steps`. `unreadable` is the one signal of a session that
# could not be read as a trial, and 0 for every other; `without_content` says whether its spans left out what was said
# and done.

UNREADABLE_SESSION: Final = "unreadable"
ANY_MODE: Final = "any_failure_mode"
"""A signal that every session has in which failure modes were searched for."""
WITHOUT_CONTENT: Final = "without_content"
JUDGED: Final = "judged"
"""A signal of every score by a judge, always 0: how many there are."""

_WORDS: Final = {
    "success": "no success",
    "feedback": "negative feedback",
    WITHOUT_CONTENT: "spans without content",
}


def signal_words(signal: str) -> str:
    """What a high rate of the signal means: `success` counts sessions without success, `feedback` disliked ones."""
    return _WORDS.get(signal, signal)


def signals_of(score: SessionScore) -> Iterator[tuple[str, float]]:
    """(signal, value) of one score; what is unknown (None) has none, and so is in no denominator.

    The value is 1 if a check failed, a mode or an error occurred: higher is worse.
    """
    if score.skipped:
        if score.unreadable:
            yield UNREADABLE_SESSION, 1.0
        return
    yield from _of_rules(score) if score.kind == "rules" else _of_judge(score)


def _of_judge(score: SessionScore) -> Iterator[tuple[str, float]]:
    yield JUDGED, 0.0
    for one in score.judgements:
        if one.answer in ("pass", "fail"):
            yield f"criterion:{one.criterion}", float(one.answer == "fail")


def _of_rules(score: SessionScore) -> Iterator[tuple[str, float]]:
    yield UNREADABLE_SESSION, 0.0
    yield WITHOUT_CONTENT, float(bool(score.uncaptured))
    if score.card is not None and score.card.outcome in MEASURED:
        yield from _signals_of_card(score.card, searched="arguments" not in score.uncaptured)
    yield "duration_s", score.duration_s
    yield "steps", float(score.steps)
    yield from _of_tools(score)
    if score.feedback is not None:
        yield "feedback", float(score.feedback < 0.5)


def _of_tools(score: SessionScore) -> Iterator[tuple[str, float]]:
    for name, facts in score.tools.items():
        if facts.calls:
            yield f"tool:{name}", float(facts.errors > 0)
        for shape in facts.shapes:
            yield f"shape:{name}|{shape}", 1.0


def _signals_of_card(card: Scorecard, *, searched: bool) -> Iterator[tuple[str, float]]:
    """Success, checks, modes, broken rules, metrics, as far as they are known. `searched`: if modes could be found."""
    if card.success is not None:
        yield "success", float(not card.success)
    for verdict in card.verdicts:
        if verdict.passed is not None:
            yield f"check:{verdict.check}", float(not verdict.passed)
    if searched or card.diagnoses:
        yield from _of_modes(card)
    if card.rules:
        yield "broken_rule", float(bool(broken(card.rules)))
    for measured in card.scores:
        if measured.value is not None:
            yield f"metric:{measured.metric}", measured.value


def _of_modes(card: Scorecard) -> Iterator[tuple[str, float]]:
    found = {diagnosis.failure for diagnosis in card.diagnoses}
    yield ANY_MODE, float(bool(found))
    for failure in sorted(found):
        yield f"mode:{failure}", 1.0


_MAX_DEPTH: Final = 3
_MAX_NAMES: Final = 60
_MAX_SHAPES: Final = 20
_MAX_TEXT: Final = 100_000
_NO_ERRORS: Final = frozenset({"replay_miss", "limit_reached"})


def tool_facts(trajectory: Trajectory) -> dict[str, ToolFacts]:
    """By tool: calls that were answered, those answered by an error, and the structures of the other answers."""
    seen, has_results = trajectory.observations, "results" not in trajectory.uncaptured
    found: dict[str, tuple[int, int, set[str]]] = {}
    for call in trajectory.calls:
        answered = seen.get(call.id)
        if answered is None:
            continue
        calls, errors, shapes = found.get(call.name, (0, 0, set()))
        if answered.error is None:
            if has_results and len(shapes) < _MAX_SHAPES:
                shapes.add(shape_digest(answered.content))
        elif answered.error.type not in _NO_ERRORS:
            errors += 1
        found[call.name] = (calls + 1, errors, shapes)
    return {
        name: ToolFacts(calls=calls, errors=errors, shapes=tuple(sorted(shapes)))
        for name, (calls, errors, shapes) in sorted(found.items())
    }


def shape_digest(content: JsonValue) -> str:
    """Eight hexadecimal digits of an answer's structure; an answer in JSON text is opened."""
    if isinstance(content, str) and content[:1] in "[{" and len(content) <= _MAX_TEXT:
        with suppress(ValueError, RecursionError):  # no JSON: a text
            content = json.loads(content)
    return hashlib.sha256(_shape(content, 0).encode("utf-8", "replace")).hexdigest()[:8]


def _shape(value: JsonValue, depth: int) -> str:
    match value:
        case dict() if depth < _MAX_DEPTH:
            names = sorted(value)[:_MAX_NAMES]
            return "{" + ",".join(f"{name}:{_shape(value[name], depth + 1)}" for name in names) + "}"
        case list() if depth < _MAX_DEPTH:
            return "[" + "|".join(sorted({_shape(item, depth + 1) for item in value[:_MAX_NAMES]})) + "]"
        case dict() | list():
            return "deeper"
        case _:
            return type(value).__name__.replace("float", "int")
