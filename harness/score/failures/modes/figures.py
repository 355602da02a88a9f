"""Figures that agents tell each other from nowhere, in a failed conversation without recorded calls.

A figure is a number of three digits and more, or one with a decimal point, a currency or a percent sign. It comes from
nowhere where neither the task, nor the opening message, nor the output of a program, nor a page that an agent fetched,
nor a user had it, and where it does not stand behind an equals sign. Looked for is the first message with two such
figures that a later message of an agent has again:

`recalled_figures` (premature commitment): they stand where a look-up should have been; no dependent steps.
`unsourced_figures_carried` (cascading error): the rest was built on them. Quantities alone count, on which a result can
rest; years and the numbers of addresses do not, which only name a thing. Dependent steps are the later messages with
one of them.

Does not count: a trial that is not known to have failed; one with recorded calls, which have their answers; where a
coordinator sends workers, whose messages are pages; the opening message, which tells the task; figures that stand once.

Origin: the message.
"""

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis, Failure, Kind
from harness.score.evidence import Evidence
from harness.score.failures.signals.prose import is_page
from harness.score.failures.signals.reading import Reading, has_failed, read
from harness.trace import Step

VERSION: Final = "2"
_FIGURE: Final = re.compile(
    r"(?<![\w.,/=-])(?<!= )(?<!=\s\$)(?<!=\$)([$\u20ac\u00a3]?)(\d{1,15}(?:,\d{3})*(?:\.\d{1,9})?)(%?)(?![\w-])"
)
_LINK: Final = re.compile(r"https?://\S+")
_PLACE: Final = re.compile(
    r"\b[A-Z]{2},? \d{5}(?:-\d{4})?\b"  # a postal code behind its state
    r"|\b\d{1,5},? (?:[NSEW]\.? )?(?:[A-Z][\w'.-]{1,30} ){1,4}"
    r"(?:St|Street|Ave|Avenue|Blvd|Boulevard|Rd|Road|Dr|Drive|Lane|Ln|Loop|Pl|Place|Way|Hwy|Highway)\b"
)
_YEAR: Final = re.compile(r"(?<![\d$\u20ac\u00a3.,])(?:1[5-9]|20)\d\d(?![\d,.%]*[\d%])")
_NAMING: Final = (_PLACE, _YEAR)
"""Numbers that name a thing and measure none."""
_DIGITS: Final = 3
_FEWEST: Final = 2
_LONGEST: Final = 50_000
_PREVENTION: Final = "looking the figures up, or saying that they are not known, before they were used"


def unsourced_figures(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding of each of the two kinds."""
    steps = reading.steps
    if reading.acts or len(steps) < 3 or any(step.parent is not None for step in steps):
        return ()
    given = _figures(reading.evidence.case.task)
    figures = [_figures(step.message or "") for step in steps]
    recalled = _first_from_nowhere(steps, figures, given)
    if recalled is None:
        return ()
    found = [_found("premature_commitment", "recalled_figures", steps, figures, recalled)]
    quantities = [one & _figures(step.message or "", _NAMING) for one, step in zip(figures, steps, strict=True)]
    carried = _first_from_nowhere(steps, quantities, given)
    if carried is not None:
        found.append(_found("cascading_error", "unsourced_figures_carried", steps, quantities, carried))
    return tuple(found)


def _first_from_nowhere(
    steps: Sequence[Step], figures: Sequence[frozenset[str]], given: frozenset[str]
) -> tuple[int, frozenset[str]] | None:
    """Where the first message stands that tells enough of them, and which ones later messages have again."""
    known = set(given | figures[0])
    last = {figure: place for place, step in enumerate(steps) if step.source == "agent" for figure in figures[place]}
    for place, step in enumerate(steps):
        if place and step.source == "agent" and not is_page(step.message or ""):
            carried = frozenset(figure for figure in figures[place] - known if last[figure] > place)
            if len(carried) >= _FEWEST:
                return place, carried
        known |= figures[place]
    return None


def _figures(text: str, without: Sequence[re.Pattern[str]] = ()) -> frozenset[str]:
    text = _LINK.sub(" ", text[:_LONGEST])
    for pattern in without:
        text = pattern.sub(" ", text)
    found = set()
    for currency, number, percent in _FIGURE.findall(text):
        plain = number.replace(",", "")
        if currency or percent or "." in plain or len(plain) >= _DIGITS:
            found.add(plain.rstrip("0").rstrip(".") if "." in plain else plain)
    return frozenset(found)


def _found(
    failure: Failure,
    kind: Kind,
    steps: Sequence[Step],
    figures: Sequence[frozenset[str]],
    where: tuple[int, frozenset[str]],
) -> Diagnosis:
    place, carried = where
    after = zip(steps[place + 1 :], figures[place + 1 :], strict=True)
    later = tuple(step.index for step, some in after if step.source == "agent" and not some.isdisjoint(carried))
    shown = ", ".join(sorted(carried)[:5])
    return Diagnosis(
        failure=failure,
        kind=kind,
        origin_step=steps[place].index,
        dependent_steps=later if failure == "cascading_error" else (),
        evidence=f"tells {shown}, which nobody had given and no program printed; {len(later)} messages use them",
        prevention=_PREVENTION,
        confidence=0.7,
        version=VERSION,
    )


class UngroundedFigures:
    """Figures from nowhere that a conversation goes on with."""

    name: ClassVar[str] = "figures"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return unsourced_figures(read(evidence)) if has_failed(evidence) else ()
