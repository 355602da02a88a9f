"""Detectors of broken conversations: agents that talk and have code run, without tool calls to look at."""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from harness.scoring.evidence import Evidence
from harness.scoring.failures.grounding import is_page
from harness.scoring.failures.reading import Reading, has_failed, read
from harness.scoring.scorecard import Diagnosis, Failure, Kind
from harness.traces.trajectory import Step

CONVERSATION_VERSION: Final = "5"
_ASSUMED: Final = re.compile(
    r"\b(?:assum\w{1,10}|hypothetical\w{0,4}|simulat\w{1,6}|placeholder\w?|sample data|dummy|mock|fabricat\w{1,6}|"
    r"for demonstration|example data|let's say|typical(?:ly)?|general knowledge|based on my knowledge|"
    r"known (?:data|information)|commonly known|from memory)\b",
    re.I,
)
_FAILED: Final = re.compile(r"execution failed|Traceback|exitcode: 1|Error")
_CODE: Final = "```"
_REASONER: Final = re.compile(r"(?i)(?:ai )?assistant|coder|reasoner|analyst|solver")
"""A worker without tools, who concludes from what the others brought."""
_SHORT: Final = 40
_FEW: Final = 4
_WORKER: Final = 0.3
_PREVENTION_BY_KIND: Final[dict[Kind, str]] = {
    "worker_result_carried": "the same question to another worker or another source before the rest was built on it",
    "first_result_carried": "a check of the first code's result by another way before it was gone on with",
    "failed_code_carried": "the failed code corrected and run again with success before the next step",
    "first_answer_carried": "a check of the first answer by another agent before it was gone on with",
    "assumed_data": "getting the data, or saying that it cannot be had, in place of assuming it",
}


def conversation_candidates(reading: Reading) -> tuple[Diagnosis, ...]:
    """Every kind that applies; of two at one step the first in the order above."""
    if reading.acts or len(reading.steps) < 2:
        return ()
    by_step: dict[int | None, Diagnosis] = {}
    for one in _candidates(reading):
        by_step.setdefault(one.origin_step, one)
    return tuple(by_step.values())


def _candidates(reading: Reading) -> Iterator[Diagnosis]:
    worker = _worker_to_blame(reading.steps)
    if worker is not None:
        evidence = "what this worker brought was taken for enough, and the rest was built on it"
        yield _carried(reading, worker, "worker_result_carried", evidence, confidence=_WORKER)
        return  # what workers bring are pages: the other kinds' words in them are not the agent's
    first, second = reading.steps[:2]
    if _has_code(first) and second.source == "system":
        yield _carried(reading, first, "first_result_carried", "the opening message's code was run at once")
    assumed = next((step for step in reading.steps[1:] if step.source == "agent" and _words(step)), None)
    if assumed is not None:
        yield _assumption(assumed)
    author = _failing_author(reading.steps)
    if author is not None:
        yield _carried(reading, author, "failed_code_carried", "its code was the first to fail")
    answer = _first_answer(reading.steps)
    if answer is not None:
        yield _carried(reading, answer, "first_answer_carried", "nobody checked the first answer", confidence=0.3)


def _assumption(step: Step) -> Diagnosis:
    return Diagnosis(
        failure="premature_commitment",
        kind="assumed_data",
        origin_step=step.index,
        evidence=f"goes on with what it has not got: {_words(step)!r}",
        prevention=_PREVENTION_BY_KIND["assumed_data"],
        confidence=0.5,
        version=CONVERSATION_VERSION,
    )


def _carried(reading: Reading, step: Step, kind: Kind, evidence: str, *, confidence: float = 0.5) -> Diagnosis:
    later = [
        one.index
        for one in reading.steps
        if one.index > step.index and (_failure(one) if kind == "failed_code_carried" else one.source == "agent")
    ]
    return Diagnosis(
        failure="cascading_error",
        kind=kind,
        origin_step=step.index,
        dependent_steps=tuple(later),
        evidence=evidence,
        prevention=_PREVENTION_BY_KIND.get(kind),
        confidence=confidence,
        version=CONVERSATION_VERSION,
    )


def _worker_to_blame(steps: Sequence[Step]) -> Step | None:
    """Where a coordinator sends workers: the last result of a short run, and the second of a long one.

    The first result of a long run is mostly a search page that is looked into next; with the second, a source has been
    chosen, and the later ones follow from that.
    """
    coordinators = {step.agent for step in steps if step.source == "agent" and step.thought and step.agent}
    if not coordinators or not any(step.parent is not None for step in steps):
        return None
    results = [step for step in steps if step.source == "agent" and step.message and step.agent not in coordinators]
    if not results:
        return None
    reasoned = [step for step in results if step.agent is not None and _REASONER.fullmatch(step.agent)]
    if reasoned and len(steps) < _SHORT:
        return reasoned[-1]
    return results[-1] if len(results) <= _FEW else results[1]


def _first_answer(steps: Sequence[Step]) -> Step | None:
    talk = [step for step in steps if step.source == "agent" and step.message]
    agents = {step.agent for step in talk}
    if len(agents) < 2 or len(talk) < 3 or any(step.source == "user" for step in steps):
        return None
    return talk[1]


def _failing_author(steps: Sequence[Step]) -> Step | None:
    author: Step | None = None
    for step in steps:
        if step.source == "agent":
            author = step
        elif _failure(step):
            return author
    return None


def _failure(step: Step) -> bool:
    return step.source == "system" and _FAILED.search(step.message or "") is not None


def _has_code(step: Step) -> bool:
    return step.source == "agent" and _CODE in (step.message or "")


def _words(step: Step) -> str | None:
    found = _ASSUMED.search(step.message or "")
    return None if found is None else found.group()


class BrokenConversation:
    """Where a failed conversation went wrong: agents that talk and have code run, without tool calls to look at.

    Examined only where the trial is known to have failed and made no tool call, because words like "assume" stand in
    good conversations too. Each kind at most once, each at another step; which of them is the most probable, the
    ranking says:

    `worker_result_carried` (cascading error): a coordinator sends workers; the result that was taken for enough: the
    last conclusion of a short run, else the last of few results or the second of many. Dependent steps: the later
    messages.

    `first_result_carried` (cascading error): the opening message brought code that was run at once, so that all the
    rest stands on a result which nobody had planned or checked. Dependent steps: the agents' later messages that build
    on it.

    `assumed_data` (premature commitment): the first message after the opening that goes on with data which was assumed,
    simulated, remembered or filled in as a placeholder instead of being got. Does not count: code that is merely wrong.

    `failed_code_carried` (cascading error): the message whose code failed first. Dependent steps: the later failures.

    `first_answer_carried` (cascading error): the first answer to the opening, among at least two agents without a user.
    Dependent steps: the agents' later messages. Nothing in it points there but that many such conversations went wrong
    at that step, as the counts say.
    """

    name: ClassVar[str] = "conversation"
    version: ClassVar[str] = CONVERSATION_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return tuple(conversation_candidates(read(evidence))) if has_failed(evidence) else ()


FIGURES_VERSION: Final = "2"
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
_PREVENTION_OF_FIGURES: Final = "looking the figures up, or saying that they are not known, before they were used"


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
        prevention=_PREVENTION_OF_FIGURES,
        confidence=0.7,
        version=FIGURES_VERSION,
    )


class UngroundedFigures:
    """Figures that agents tell each other from nowhere, in a failed conversation without recorded calls.

    A figure is a number of three digits and more, or one with a decimal point, a currency or a percent sign. It comes
    from nowhere where neither the task, nor the opening message, nor the output of a program, nor a page that an agent
    fetched, nor a user had it, and where it does not stand behind an equals sign. Looked for is the first message with
    two such figures that a later message of an agent has again:

    `recalled_figures` (premature commitment): they stand where a look-up should have been; no dependent steps.
    `unsourced_figures_carried` (cascading error): the rest was built on them. Quantities alone count, on which a result
    can rest; years and the numbers of addresses do not, which only name a thing. Dependent steps are the later messages
    with one of them.

    Does not count: a trial that is not known to have failed; one with recorded calls, which have their answers; where a
    coordinator sends workers, whose messages are pages; the opening message, which tells the task; figures that stand
    once.

    Origin: the message.
    """

    name: ClassVar[str] = "figures"
    version: ClassVar[str] = FIGURES_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return unsourced_figures(read(evidence)) if has_failed(evidence) else ()
