"""Scores as flat rows, one for each question that was answered: what reports and charts are computed from.

A row says of one session what one signal gave. Signals are `success`, `check:<name>`, `mode:<failure mode>`,
`criterion:<id>`, `metric:<name>`, `tool:<name>` (whether an answer was an error), `shape:<name>|<digest>` (a
structure of answer occurred), `feedback`, `duration_s` and `steps`. `unreadable` is the one signal of a session that
could not be read as a trial, and 0 for every other; `without_content` says whether its spans left out what was said and
done.
"""

from collections.abc import Iterator
from typing import Final, get_args

from harness.online.scores.scores import SessionScore
from harness.score import Failure, Scorecard
from harness.trace import MEASURED
from harness.values import JsonValue

UNREADABLE_SESSION: Final = "unreadable"
ANY_MODE: Final = "any_failure_mode"
"""A signal that every session has in which failure modes were searched for."""
WITHOUT_CONTENT: Final = "without_content"
JUDGED: Final = "judged"
"""A signal of every score by a judge, always 0: how many there are."""
FACTS: Final = {
    "session": "VARCHAR", "digest": "VARCHAR", "scored_at": "VARCHAR", "kind": "VARCHAR", "suite": "VARCHAR",
    "day": "VARCHAR", "release": "VARCHAR", "model": "VARCHAR", "prompt": "VARCHAR", "judge": "VARCHAR",
    "scorer": "VARCHAR", "rubric": "VARCHAR", "received_ns": "BIGINT", "category": "VARCHAR", "steps": "INTEGER",
    "weight": "DOUBLE", "in_base": "BOOLEAN", "signal": "VARCHAR", "value": "DOUBLE",
}  # fmt: skip
"""Columns and their SQL types. `value` is 1 where a check failed, a mode or an error occurred: higher is worse."""


_WORDS: Final = {
    "success": "no success",
    "feedback": "negative feedback",
    WITHOUT_CONTENT: "spans without content",
}


def signal_words(signal: str) -> str:
    """What a high rate of the signal means: `success` counts sessions without success, `feedback` disliked ones."""
    return _WORDS.get(signal, signal)


def facts_of(score: SessionScore) -> Iterator[dict[str, JsonValue]]:
    """The rows of one score; what is unknown (None) has none, and so is in no denominator."""
    common: dict[str, JsonValue] = {
        "session": score.session,
        "digest": score.digest,
        "scored_at": score.scored_at,
        "kind": score.kind,
        "suite": score.suite,
        "day": score.day,
        "release": score.release,
        "model": score.model,
        "prompt": score.prompt,
        "judge": score.judge,
        "scorer": score.scorer,
        "rubric": score.rubric,
        "received_ns": score.received_ns,
        "category": score.category,
        "steps": score.steps,
        "weight": 1 / score.sampling.rate,
        "in_base": score.sampling.in_base,
    }
    for signal, value in _signals(score):
        yield {**common, "signal": signal, "value": value}


def _signals(score: SessionScore) -> Iterator[tuple[str, float]]:
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
        yield from signals_of_card(score.card)
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


def signals_of_card(card: Scorecard) -> Iterator[tuple[str, float]]:
    """Of a session or trial that was measured: success, checks, failure modes and metrics, as far as they are known."""
    if card.success is not None:
        yield "success", float(not card.success)
    for verdict in card.verdicts:
        if verdict.passed is not None:
            yield f"check:{verdict.check}", float(not verdict.passed)
    yield from _of_modes(card)
    for measured in card.scores:
        if measured.value is not None:
            yield f"metric:{measured.metric}", measured.value


def _of_modes(card: Scorecard) -> Iterator[tuple[str, float]]:
    if {*get_args(Failure)} <= card.modes_not_measured.keys():
        return  # none was searched for
    found = {diagnosis.failure for diagnosis in card.diagnoses}
    yield ANY_MODE, float(bool(found))
    for failure in sorted(found):
        yield f"mode:{failure}", 1.0
