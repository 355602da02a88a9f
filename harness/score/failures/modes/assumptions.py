"""Data that an agent says itself that it assumes or makes up, in place of getting them.

`stated_assumption` (premature commitment) counts: the first message of the agent after the opening that says that it
goes on as if it had what it has not ("assuming we have the file", "let's assume the following prices", "placeholder
values", "from general knowledge"). `made_up_data` (tool hallucination) counts: the first message that says that the
data themselves are made up ("hypothetical data", "a mock CSV file", "simulate the extraction"): a result stands where a
tool's would have stood.

Looked for only where the trial is not known to have succeeded. Does not count: what stands in code or in quotation
marks; a word that the task itself uses (a task to simulate something); words that the opening message has (a mock file
that was handed over); an assumption in an argument ("assume that all
of them lie"); a condition ("if we assume"); test data that a program needs (`sample` and `dummy` where an agent runs
code by calls).

Origin: the message. Dependent steps: none.
"""

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis, Failure, Kind
from harness.score.evidence import Evidence
from harness.score.failures.signals.reading import Reading, read
from harness.trace import Step

VERSION: Final = "2"
_DATA: Final = (
    r"(?:data(?:sets?)?|values?|numbers?|figures?|results?|prices?|pricing|files?|csv|extraction|transcription|"
    r"information|rates?|contents?|scenario|representation|analysis|lists?|distances?|responses?|outputs?|details)"
)
_ASSUMED: Final = re.compile(
    r"\bassum(?:e|ing) (?:that )?(?:we|i|you|the file) (?:now )?(?:have|had|got|receive|obtain|obtained|is available)\b"
    r"|\bunder the assumption that the \w+ is\b"
    r"|\bassum(?:e|ing) (?:that )?there (?:are|is|were)\b"
    rf"|\bassum(?:e|ing) the (?:following|details|{_DATA})\b"
    rf"|\bassumed (?:\w+ )?{_DATA}\b"
    rf"|\bplaceholder (?:\w+ )?{_DATA}\b"
    r"|\b(?:from|based on|using) (?:my|our|general|common|prior) (?:general |own )?knowledge\b|\bfrom memory\b",
    re.I,
)
_MADE_UP: Final = re.compile(
    rf"\b(?:mock|hypothetical|simulated|fictitious|made-up|invented) (?:\w+ ){{0,2}}{_DATA}\b"
    rf"|\bsimulate (?:the |a |some |an )?(?:\w+ ){{0,4}}{_DATA}\b",
    re.I,
)
_TEST_DATA: Final = re.compile(rf"\b(?:sample|dummy|example) {_DATA}\b", re.I)
"""In a conversation these are results; where code is run by calls, they are what a program is tried on."""
_CONDITION: Final = re.compile(r"\b(?:if|unless|not|never|without|instead of|than|no longer)\b[^.\n]{0,40}$", re.I)
_WORDS: Final = (
    *("assum", "placeholder", "knowledge", "memory", "mock", "hypothetical", "simulat", "fictitious", "made-up"),
    *("invented", "sample", "dummy", "example"),
)
"""One of them stands in whatever the others find; looking for them first is quicker."""
_LONGEST: Final = 20_000
_BEFORE: Final = 60


def assumptions(reading: Reading) -> Iterator[Diagnosis]:
    """At most one finding of each kind."""
    if reading.evidence.success is True:
        return
    task = reading.evidence.case.task.casefold()
    opening = (reading.steps[0].message or "").casefold() if reading.steps else ""
    made_up = (_MADE_UP, *(() if reading.runs_code else (_TEST_DATA,)))
    ways: tuple[tuple[Failure, Kind, tuple[re.Pattern[str], ...]], ...] = (
        ("premature_commitment", "stated_assumption", (_ASSUMED, *made_up)),
        ("tool_hallucination", "made_up_data", made_up),
    )
    messages = [(step, reading.words[step.index][:_LONGEST]) for step in _after_the_opening(reading)]
    for failure, kind, patterns in ways:
        found = next(((step, said) for step, text in messages if (said := _said(text, patterns, task, opening))), None)
        if found is not None:
            yield _found(failure, kind, *found)


def _after_the_opening(reading: Reading) -> Iterator[Step]:
    for step in reading.steps[1:]:
        if step.source == "agent" and step.message and any(map(step.message.casefold().__contains__, _WORDS)):
            yield step


def _said(text: str, patterns: tuple[re.Pattern[str], ...], task: str, opening: str) -> str | None:
    for pattern in patterns:
        for match in pattern.finditer(text):
            words = match.group().casefold()
            asked_for = words.split()[0].rstrip("ed") in task or words in opening
            if not asked_for and not _CONDITION.search(text[max(0, match.start() - _BEFORE) : match.start()]):
                return match.group()
    return None


def _found(failure: Failure, kind: Kind, step: Step, said: str) -> Diagnosis:
    return Diagnosis(
        failure=failure,
        kind=kind,
        origin_step=step.index,
        evidence=f"says itself that it goes on with what it has not got: {said!r}",
        prevention="getting the data, or saying that it cannot be had, in place of assuming it",
        confidence=0.7,
        version=VERSION,
    )


class Assumptions:
    """Data that an agent says that it assumes or makes up."""

    name: ClassVar[str] = "assumptions"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return tuple(assumptions(read(evidence)))
