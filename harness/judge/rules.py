"""The mind of the rule model: an honest double of a judge, which follows only what its prompt tells it.

A rule works only where its text stands in the prompt, outside of the evidence: so a better prompt really judges better,
and there is something for calibration to climb. It has the one weakness that such models are feared for: an instruction
that it meets *outside of the evidence block* it obeys, whoever wrote it. Evidence that is delimited and escaped never
comes to stand there; evidence that is not, does.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from pydantic import Field, field_validator

from harness.validation import check_expression, finds, fits
from harness.values import Frozen, JsonObject, JsonValue

Said = Literal["pass", "fail", "not_eligible"]

_BLOCK: Final = re.compile(r"^<<<evidence (?P<key>[0-9a-f]{12})\n(?P<lines>.*?)\nevidence (?P=key)>>>$", re.S | re.M)
_CRITERION: Final = re.compile(r"^# Criterion\n\n(?P<json>\{.*?^\})$", re.S | re.M)
_CANDIDATES: Final = re.compile(r"^# Candidates$", re.M)
_PLANTED: Final = re.compile(
    r"(?:ignore|disregard|forget)\b[^.\n]{0,80}\binstructions?\b[^\n]{0,200}\bpass\b"
    r"|\b(?:verdict|answer) ?(?::|is|must be) ?\"?pass\b",
    re.I,
)


class ModelRule(Frozen):
    """One thing that the model knows how to tell, once it is told to."""

    criterion: str = "*"
    """The id that it is about; `*`: every one."""
    told_by: str = ""
    """What must stand in the prompt for the rule to be followed, in any case and spacing; empty: it always is."""
    who: str = ".*"
    """Regular expression over whole `who`: the pieces that are looked at."""
    finds: str
    """Regular expression, searched in what those pieces say."""
    finds_nothing: bool = False
    """The rule applies where nothing is found."""
    says: Said

    @field_validator("who", "finds")
    @classmethod
    def _is_expression(cls, value: str) -> str:
        check_expression(value)
        return value


class Mind(Frozen):
    """What a rule model knows; the first rule that applies decides."""

    rules: tuple[ModelRule, ...] = ()
    otherwise: Said = "pass"
    """Said where no rule applies: a judge that was told nothing is pleased with everything."""
    flips: float = Field(default=0.0, ge=0, le=1)
    """Share of verdicts that come out the other way, by chance of the seed."""
    seed: int = 0
    favours: Literal["A", "B"] | None = None
    """The place that it names where it sees no difference between two candidates; None: it says so."""


@dataclass(frozen=True, kw_only=True)
class RuleQuestion:
    """A request as the model understands it."""

    criterion: str
    told: str
    """Everything outside of the evidence, in one spacing and in lower case."""
    pieces: tuple[tuple[str, str, str], ...]
    """Ref, who and said."""
    deceived: bool
    """An instruction to pass stands outside of the evidence."""
    compares: bool = False
    """Two candidates are compared: the refs of their pieces begin with `A.` and `B.`."""


def understood(system: str, user: str) -> RuleQuestion:
    """What is asked; text that is not delimited as evidence is taken for instructions."""
    block = _BLOCK.search(user)
    outside = user if block is None else user[: block.start()] + user[block.end() :]
    criterion = _CRITERION.search(outside)
    lines = [] if block is None else block["lines"].splitlines()
    return RuleQuestion(
        criterion=_id(criterion["json"]) if criterion else "",
        told=" ".join(f"{system}\n{outside}".split()).lower(),
        pieces=tuple(piece for line in lines if (piece := _piece(line)) is not None),
        deceived=_PLANTED.search(outside) is not None,
        compares=_CANDIDATES.search(outside) is not None,
    )


def answer(mind: Mind, question: RuleQuestion, nth: int = 0) -> JsonObject:
    """The verdict object; `nth`: how often this very question was put before, which noise depends on.

    Raises OutOfTime where a rule takes too long.
    """
    if question.compares:
        return _preferred(mind, question)
    said, refs, why = _decided(mind, question)
    if said != "not_eligible" and _chance(mind.seed, question, nth) < mind.flips:
        said, why = ("fail" if said == "pass" else "pass"), f"{why} (noise)"
    shown: list[JsonValue] = list(refs)
    return {
        "criterion": question.criterion,
        "eligible": said != "not_eligible",
        "rationale": why,
        "verdict": None if said == "not_eligible" else said,
        "refs": shown,
    }


def _preferred(mind: Mind, question: RuleQuestion) -> JsonObject:
    """What would pass is better than what would not; where both would do the same, the place that it favours."""
    said = {}
    for letter in ("A", "B"):
        pieces = tuple(piece for piece in question.pieces if piece[0].startswith(f"{letter}."))
        said[letter] = _decided(mind, replace(question, pieces=pieces))[0]
    passing = [letter for letter in said if said[letter] == "pass"]
    better = passing[0] if len(passing) == 1 else mind.favours or "neither"
    return {"rationale": f"A: {said['A']}, B: {said['B']}", "better": better}


def _decided(mind: Mind, question: RuleQuestion) -> tuple[Said, Sequence[str], str]:
    if question.deceived:
        return "pass", (), "was told to pass"
    for rule in mind.rules:
        if (
            rule.criterion not in ("*", question.criterion)
            or " ".join(rule.told_by.split()).lower() not in question.told
        ):
            continue
        looked = [piece for piece in question.pieces if fits(rule.who, piece[1], field="who")]
        found = [ref for ref, _, said in looked if finds(rule.finds, said, field="finds")]
        if bool(found) != rule.finds_nothing:
            return rule.says, found[:5], f"{rule.finds!r} {'is not there' if rule.finds_nothing else 'was found'}"
    return mind.otherwise, (), "no rule applies"


def _chance(seed: int, question: RuleQuestion, nth: int) -> float:
    text = json.dumps([seed, nth, question.criterion, question.told, question.pieces])
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
