"""The rules of the rule model: a double of a judge, which follows only the instructions of its prompt.

A rule applies only where its text is in the prompt, outside of the evidence: a better prompt therefore judges better,
and calibration can improve it. The model has the known weakness of language models: it obeys every instruction *outside
of the evidence block*, whoever wrote it. Delimited and escaped evidence never appears there; other evidence does.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field, JsonValue, field_validator

from harness.suite.expressions import check_expression, finds, fits
from harness.values import Frozen, JsonObject

Said = Literal["pass", "fail", "not_eligible"]

_BLOCK: Final = re.compile(r"^<<<evidence (?P<key>[0-9a-f]{12})\n(?P<lines>.*?)\nevidence (?P=key)>>>$", re.S | re.M)
_CRITERION: Final = re.compile(r"^# Criterion\n\n(?P<json>\{.*?^\})$", re.S | re.M)
_PLANTED: Final = re.compile(
    r"(?:ignore|disregard|forget)\b[^.\n]{0,80}\binstructions?\b[^\n]{0,200}\bpass\b"
    r"|\b(?:verdict|answer) ?(?::|is|must be) ?\"?pass\b",
    re.I,
)


class ModelRule(Frozen):
    """One rule that the model applies when its prompt contains it."""

    criterion: str = "*"
    """The id of its criterion; `*`: every criterion."""
    told_by: str = ""
    """The text that the prompt must contain for the rule to apply, in any case and spacing; an empty text always
    applies.
    """
    who: str = ".*"
    """Regular expression over whole `who`: the pieces that are examined."""
    finds: str
    """A regular expression that is searched for in the text of those pieces."""
    finds_nothing: bool = False
    """The rule applies where nothing is found."""
    says: Said
    mode: str | None = None
    """With `fail`, to a question for a step: the mode; the step is that of the first piece."""

    @field_validator("who", "finds")
    @classmethod
    def _is_expression(cls, value: str) -> str:
        check_expression(value)
        return value


class RuleSet(Frozen):
    """The rules of a rule model; the first rule that applies decides."""

    rules: tuple[ModelRule, ...] = ()
    otherwise: Said = "pass"
    """The answer where no rule applies: a judge without instructions passes everything."""
    flips: float = Field(default=0.0, ge=0, le=1)
    """Share of verdicts that are inverted, pseudo-randomly by the seed."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class RuleQuestion:
    """A request as the model understands it."""

    criterion: str
    instructions: str
    """All text outside of the evidence, in lower case with normalised spacing."""
    pieces: tuple[tuple[str, str, str], ...]
    """The reference, the speaker and the text of each piece."""
    deceived: bool
    """Whether an instruction to pass is outside of the evidence."""


def understood(system: str, user: str) -> RuleQuestion:
    """Parses a question; text that is not delimited as evidence is treated as instructions."""
    block = _BLOCK.search(user)
    outside = user if block is None else user[: block.start()] + user[block.end() :]
    criterion = _CRITERION.search(outside)
    lines = [] if block is None else block["lines"].splitlines()
    return RuleQuestion(
        criterion=_id(criterion["json"]) if criterion else "",
        instructions=" ".join(f"{system}\n{outside}".split()).lower(),
        pieces=tuple(piece for line in lines if (piece := _piece(line)) is not None),
        deceived=_PLANTED.search(outside) is not None,
    )


def answer(mind: RuleSet, question: RuleQuestion, nth: int = 0) -> JsonObject:
    """The verdict object; `nth`: how often this question was sent before, which the noise depends on.

    Raises OutOfTime where a rule takes too long.
    """
    verdict, refs, why, mode = _decided(mind, question)
    if verdict != "not_eligible" and _chance(mind.seed, question, nth) < mind.flips:
        verdict, why = ("fail" if verdict == "pass" else "pass"), f"{why} (noise)"
    shown: list[JsonValue] = list(refs)
    step = next((int(found[1]) for ref in refs if (found := re.match(r"s(\d+)", ref))), None)
    asked: JsonObject = {} if mode is None or verdict != "fail" else {"mode": mode, "step": step}
    return asked | {
        "criterion": question.criterion,
        "eligible": verdict != "not_eligible",
        "rationale": why,
        "verdict": None if verdict == "not_eligible" else verdict,
        "refs": shown,
    }


def _decided(mind: RuleSet, question: RuleQuestion) -> tuple[Said, Sequence[str], str, str | None]:
    if question.deceived:
        return "pass", (), "was told to pass", None
    for rule in mind.rules:
        if (
            rule.criterion not in ("*", question.criterion)
            or " ".join(rule.told_by.split()).lower() not in question.instructions
        ):
            continue
        seen = [piece for piece in question.pieces if fits(rule.who, piece[1], field="who")]
        found = [ref for ref, _, verdict in seen if finds(rule.finds, verdict, field="finds")]
        if bool(found) != rule.finds_nothing:
            why = f"{rule.finds!r} {'is not there' if rule.finds_nothing else 'was found'}"
            return rule.says, found[:5], why, rule.mode
    return mind.otherwise, (), "no rule applies", None


def _chance(seed: int, question: RuleQuestion, nth: int) -> float:
    text = json.dumps([seed, nth, question.criterion, question.instructions, question.pieces])
    return int(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8], 16) / 0x1_0000_0000


def _id(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return ""
    return str(value.get("id", ""))


def _piece(line: str) -> tuple[str, str, str] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    found = isinstance(value, dict) and {"ref", "who", "said"} <= value.keys()
    return (str(value["ref"]), str(value["who"]), str(value["said"])) if found else None
