"""Checks that agents say they made by hand, where nobody could make one but the program that runs their code.

`claimed_check` (premature commitment) counts: in a failed conversation without recorded calls, in which a program runs
the agents' code, an agent tells the outcome of a manual check ("upon manual verification of the database", "I have
manually checked the page"), or announces one and draws its conclusion in the same message ("I will verify each step
manually ... these are verified"). An agent reads and runs code; it opens no page and watches no video by hand.

Does not count: a conversation with a user, who may have looked; one in which a coordinator sends workers, who bring
pages; a request, a plan, a question, a check that is said to be impossible or needed; a calculation by hand.

Origin: the first such message. Dependent steps: none.
"""

import re
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis
from harness.score.evidence import Evidence
from harness.score.failures.signals.prose import is_page
from harness.score.failures.signals.reading import Reading, has_failed, read

VERSION: Final = "1"
_SENTENCE: Final = re.compile(r"[^.!?\n]{1,600}[.!?]?")
_LONGEST: Final = 20_000
_CHECK: Final = (
    r"(?:search|verif|check|review|inspect|look|watch|examin|confirm|read|visit|count|analy[sz]|locat|brows|navigat|access)"
    r"\w{0,8}"
)
_TOLD: Final = re.compile(
    rf"\b(?:after|upon|following|given|through|by|based on)(?: [\w',]{{1,20}}){{0,6}}? manual(?:ly)? {_CHECK}"
    rf"|\b(?:i|we)(?: have|'ve)? manually {_CHECK}"
    rf"|\bmanual {_CHECK}(?: \w{{1,20}}){{0,6}}? (?:confirm|match|show|indicat|reveal)\w{{0,3}}\b"
)
_ANNOUNCED: Final = re.compile(
    rf"\b(?:(?:i|we)(?:'ll| will)|let's|let us|let me)\b[^.!?\n]{{0,120}}?"
    rf"\b(?:manually {_CHECK}|{_CHECK}[^.!?\n]{{0,60}} manually)\b"
)
_CONCLUDED: Final = re.compile(
    r"\b(?:(?:is|are|been|we|i)(?: \w+ly)? (?:verified|confirmed)|(?:we|i) can (?:\w+ly )?conclude)\b"
)
_UNMADE: Final = re.compile(
    r"\b(?:if|once|when|until|unless|please|you|your|let's|let us|let me|will|would|should|could|can|cannot|"
    r"may|might|must|need(?:s|ed)?|required|necessary|unable|not feasible|not possible|impossible)\b|n't\b|'ll\b"
)
_TO_BE_MADE: Final = re.compile(
    r"(?: \w{1,20}){0,4}? (?:is|was|be|being) (?:\w+ly )?"
    r"(?:needed|required|necessary|impossible|(?:not )?(?:possible|feasible))\b"
)
_PREVENTION: Final = "running the check in code, or saying that it could not be made"


def claimed_checks(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding."""
    if reading.acts or not _only_a_program_acts(reading):
        return ()
    for step in reading.steps[1:]:
        own = step.source == "agent" and not is_page(step.message or "")
        words = _claim(reading.words.get(step.index, "")) if own else None
        if words is not None:
            return (
                Diagnosis(
                    failure="premature_commitment",
                    kind="claimed_check",
                    origin_step=step.index,
                    evidence=f"tells of a check by hand, {words!r}, which nobody in the conversation could make",
                    prevention=_PREVENTION,
                    confidence=0.8,
                    version=VERSION,
                ),
            )
    return ()


def _only_a_program_acts(reading: Reading) -> bool:
    """Whether somebody answers the agents who is neither a user nor a worker of theirs."""
    steps = reading.steps
    if any(step.source == "user" or step.parent is not None for step in steps):
        return False
    first = next((place for place, step in enumerate(steps) if step.source == "agent"), len(steps))
    return any(step.source == "system" for step in steps[first:])


def _claim(message: str) -> str | None:
    """The words that claim a check; None: there are none."""
    said = message[:_LONGEST].casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if "manual" not in said:
        return None
    announced: str | None = None
    for sentence in _SENTENCE.findall(said):
        if sentence.endswith("?"):
            continue
        told = _TOLD.search(sentence)
        if told is not None and _is_made(sentence, told.end()):
            return told.group()
        if announced is not None and _CONCLUDED.search(sentence) is not None:
            return announced
        match = _ANNOUNCED.search(sentence)
        announced = announced if match is None else match.group()
    return None


def _is_made(sentence: str, end: int) -> bool:
    return _UNMADE.search(sentence, 0, end) is None and _TO_BE_MADE.match(sentence, end) is None


class ClaimedChecks:
    """Checks by hand that agents tell of and that nobody could make."""

    name: ClassVar[str] = "claimed_checks"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return claimed_checks(read(evidence)) if has_failed(evidence) else ()
