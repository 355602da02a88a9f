"""Results that are made up: the kind `fabricated_result` of the detector `claims`, which defines it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from harness.score.diagnosis import Diagnosis, Kind
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.grounding import atoms, is_identifier
from harness.score.failures.signals.reading import Reading
from harness.trace import Step

VERSION: Final = "9"
"""Of both kinds that words show."""
_EXAMPLE: Final = re.compile(r"\b(?:e\.g\.|for example|for instance|such as|like|format|example)", re.I)
_EXAMPLES: Final = ("e.g.", "example", "instance", "such as", "like", "format")
"""One of them stands where the expression finds something; few messages have one."""
_OWN_OUTPUT: Final = re.compile(
    r"(?m)^\s{0,8}(?:Observation|API output|Tool (?:output|result|response)|Function (?:output|result))\s?:\s?\S"
    r"|^\s{0,8}<(?:tool|function)_(?:responses?|results?|outputs?)>|^\s{0,8}<observations?>"
)
_OUTPUTS: Final = ("bservation", "output", "result", "response")
"""One of them stands in every text with an output of its own; looking for them is quicker than the expression is."""
_WORD: Final = re.compile(r"[#A-Za-z0-9][A-Za-z0-9_.@:+-]{3,63}")
_SENTENCE_END: Final = re.compile(r"\s(?:(?<=[.!?]\s)|(?<=\n))")
"""White space behind a mark, or the end of a line; written so that it is looked for at white space alone."""
_DIGIT: Final = re.compile(r"[0-9]")
_ESCAPED: Final = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})")
_OPERATOR: Final = "[=+*/^\N{MULTIPLICATION SIGN}\N{DIVISION SIGN}\N{ALMOST EQUAL TO}]"
_IN_COMPUTATION: Final = re.compile(rf"(?:{_OPERATOR}|\\\(|\\boxed\{{)\s?(\d+)\b|\b(\d+)(?=\s?{_OPERATOR})")
_PART: Final = 6
_LONG_NUMBER: Final = 7
"""A shorter run of digits can be an amount, which is rightly computed."""


def fabricated_results(reading: Reading) -> tuple[Diagnosis, ...]:
    """One finding a message."""
    if not reading.records_calls:
        return ()
    own = _OwnArguments(reading.acts)
    found = []
    for step in reading.steps:
        if step.source != "agent":
            continue
        if not step.message:
            continue
        if any(word in step.message for word in _OUTPUTS) and _OWN_OUTPUT.search(step.message):
            found.append(finding("fabricated_result", step, "writes a tool's answer itself", 0.9))
            continue
        # what code can compute may be true
        values = [] if reading.runs_code else list(codes(reading.words[step.index]))
        computed = _computed(step.message) if any(map(_is_long_number, values)) else frozenset()
        made_up = [value for value in values if value not in computed and _is_made_up(value, reading, step, own)]
        if made_up:
            evidence = f"tells of {', '.join(map(repr, made_up[:5]))}, which nothing had given"
            found.append(finding("fabricated_result", step, evidence, 0.8))
    return tuple(found)


class _OwnArguments:
    """The atoms of everything that the agent had put into its calls, read as far as somebody asks."""

    def __init__(self, acts: Sequence[Act]) -> None:
        self._acts = acts
        self._next = 0
        self._atoms: set[str] = set()

    def until(self, moment: int) -> set[str]:
        """Of the calls up to and including those of the moment, which must not fall from one question to the next."""
        while self._next < len(self._acts) and self._acts[self._next].moment <= moment:
            self._atoms |= self._acts[self._next].asked
            self._next += 1
        return self._atoms


def codes(words: str) -> Iterator[str]:
    """Words with a digit that are told of, not offered as an example. `words`: a message without code and quotes."""
    if _DIGIT.search(words) is None:
        return
    folded = words.casefold()
    may_offer = any(word in folded for word in _EXAMPLES)
    for sentence in _SENTENCE_END.split(_ESCAPED.sub(" ", words) if "\\" in words else words):
        if _DIGIT.search(sentence) and not (may_offer and _EXAMPLE.search(sentence)):
            yield from (word.rstrip(".:-+_@") for word in _WORD.findall(sentence) if _DIGIT.search(word))


def _is_made_up(value: str, reading: Reading, step: Step, own: _OwnArguments) -> bool:
    if (value.isdigit() and not _is_long_number(value)) or not is_identifier(value):
        return False
    if reading.sources.grounded(value, reading.moments[step.index]):
        return False  # mostly so, and quicker to see than what follows
    known = own.until(reading.moments[step.index])
    # else it may be the agent's own, or named after something that is known
    return not (
        set(atoms(value)) <= known
        or any(is_identifier(part.upper()) and part in known for part in atoms(value))
        or any(
            len(part) >= _PART
            and reading.sources.grounded(part, reading.moments[step.index])
            and is_identifier(part.upper())
            for part in atoms(value)
        )
    )


def _is_long_number(value: str) -> bool:
    return value.isdigit() and len(value) >= _LONG_NUMBER


def _computed(message: str) -> frozenset[str]:
    """The numbers that stand in a computation which the message itself makes; read once, whatever it holds."""
    return frozenset(one[1] or one[2] for one in _IN_COMPUTATION.finditer(message))


def finding(kind: Kind, step: Step, evidence: str, confidence: float) -> Diagnosis:
    """A finding at one step, whose origin it is."""
    return Diagnosis(
        failure="tool_hallucination",
        kind=kind,
        origin_step=step.index,
        evidence=evidence,
        confidence=confidence,
        version=VERSION,
    )
