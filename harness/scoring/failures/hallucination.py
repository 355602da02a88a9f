"""Detectors of tools, parameters, data and checks that do not exist."""

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from harness.scoring.evidence import Evidence
from harness.scoring.failures.grounding import is_page
from harness.scoring.failures.reading import Act, Reading, has_failed, read
from harness.scoring.scorecard import Diagnosis, Failure, Kind
from harness.suite.tools import IMPORTED_SERVER, ToolSpec
from harness.traces.trajectory import Step

TOOL_HALLUCINATION_VERSION: Final = "4"
_OPENING: Final = frozenset({"patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if", "propertyNames"})


def invented_tools(reading: Reading) -> tuple[Diagnosis, ...]:
    """One finding a name."""
    names = _declared_names(reading)
    by_name: dict[str, list[Act]] = {}
    for act in reading.acts:
        refused = act.seen is not None and act.seen.error is not None and act.seen.error.type == "unknown_tool"
        if refused or (names and act.call.name not in names):
            by_name.setdefault(act.call.name, []).append(act)
    return tuple(
        _diagnosis(
            acts,
            kind="invented_tool",
            evidence=f"there is no tool {name!r}" + (f"; called {len(acts)} times" if len(acts) > 1 else ""),
        )
        for name, acts in by_name.items()
    )


def invented_parameters(reading: Reading) -> tuple[Diagnosis, ...]:
    """One finding a tool and parameter."""
    found: dict[tuple[str, str], list[Act]] = {}
    for act in reading.acts:
        declared = None if act.tool is None else _declared(act.tool)
        if declared is None or act.call.arguments is None:
            continue
        for name in act.call.arguments:
            if name and name not in declared:
                found.setdefault((act.call.name, name), []).append(act)
    return tuple(
        _diagnosis(acts, kind="invented_parameter", evidence=f"{tool} has no parameter {name!r}")
        for (tool, name), acts in found.items()
    )


def _declared_names(reading: Reading) -> frozenset[str]:
    """Empty where an imported list of tools lacks one that answered: it is incomplete, and only a refusal says more."""
    tools = reading.evidence.tools
    names = frozenset(tool.name for tool in tools)
    if any(tool.server != IMPORTED_SERVER for tool in tools):
        return names
    names &= reading.evidence.allowed  # a tool that another record of the file declares
    answered = {act.call.name for act in reading.acts if act.seen is not None and not act.failed}
    return names if answered <= names else frozenset()


def _declared(tool: ToolSpec) -> frozenset[str] | None:
    """None: the schema is open."""
    schema = tool.parameters
    properties = schema.get("properties")
    closed = schema.get("additionalProperties", False) is False and _OPENING.isdisjoint(schema)
    return frozenset(properties) if closed and isinstance(properties, dict) else None


def _diagnosis(acts: list[Act], *, kind: Kind, evidence: str) -> Diagnosis:
    steps = list(dict.fromkeys(act.step for act in acts))
    return Diagnosis(
        failure="tool_hallucination",
        kind=kind,
        origin_step=steps[0],
        dependent_steps=tuple(steps[1:]),
        evidence=evidence,
        confidence=1.0,
        version=TOOL_HALLUCINATION_VERSION,
    )


class ToolHallucination:
    """Tool hallucination, the two kinds that a call itself shows: a tool or a parameter that does not exist.

    `invented_tool` counts: a call to a name that is none of the declared tools, or that whoever ran the tools did not
    know. Does not count: a declared tool that the case does not allow (that is selection), or any name where no tool is
    declared or where a tool that an import does not declare answered (its list is incomplete): there only a refusal
    counts.

    `invented_parameter` counts: a top-level argument that the tool's schema does not have, where the schema lists its
    properties and does not open itself (`additionalProperties`, `patternProperties`, or a composition). Does not count:
    a wrong type, a missing argument, arguments that are not JSON (those are invalid, not invented), or a call of an
    invented tool, whose parameters nobody declared.

    Origin: the first such call of that name. Dependent steps: the later ones. See `claims` for the other two kinds.
    """

    name: ClassVar[str] = "tool_hallucination"
    version: ClassVar[str] = TOOL_HALLUCINATION_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        return (*invented_tools(reading), *invented_parameters(reading))


ASSUMPTIONS_VERSION: Final = "2"
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
    for step, message in reading.agent_messages:
        if step is not reading.steps[0] and any(map(message.casefold().__contains__, _WORDS)):
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
        version=ASSUMPTIONS_VERSION,
    )


class Assumptions:
    """Data that an agent says itself that it assumes or makes up, in place of getting them.

    `stated_assumption` (premature commitment) counts: the first message of the agent after the opening that says that
    it goes on as if it had what it has not ("assuming we have the file", "let's assume the following prices",
    "placeholder values", "from general knowledge"). `made_up_data` (tool hallucination) counts: the first message that
    says that the data themselves are made up ("hypothetical data", "a mock CSV file", "simulate the extraction"): a
    result stands where a tool's would have stood.

    Looked for only where the trial is not known to have succeeded. Does not count: what stands in code or in quotation
    marks; a word that the task itself uses (a task to simulate something); words that the opening message has (a mock
    file that was handed over); an assumption in an argument ("assume that all of them lie"); a condition ("if we
    assume"); test data that a program needs (`sample` and `dummy` where an agent runs code by calls).

    Origin: the message. Dependent steps: none.
    """

    name: ClassVar[str] = "assumptions"
    version: ClassVar[str] = ASSUMPTIONS_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return tuple(assumptions(read(evidence)))


CLAIMED_CHECKS_VERSION: Final = "1"
_SENTENCE: Final = re.compile(r"[^.!?\n]{1,600}[.!?]?")
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
                    version=CLAIMED_CHECKS_VERSION,
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
    """Checks that agents say they made by hand, where nobody could make one but the program that runs their code.

    `claimed_check` (premature commitment) counts: in a failed conversation without recorded calls, in which a program
    runs the agents' code, an agent tells the outcome of a manual check ("upon manual verification of the database", "I
    have manually checked the page"), or announces one and draws its conclusion in the same message ("I will verify each
    step manually ... these are verified"). An agent reads and runs code; it opens no page and watches no video by hand.

    Does not count: a conversation with a user, who may have looked; one in which a coordinator sends workers, who bring
    pages; a request, a plan, a question, a check that is said to be impossible or needed; a calculation by hand.

    Origin: the first such message. Dependent steps: none.
    """

    name: ClassVar[str] = "claimed_checks"
    version: ClassVar[str] = CLAIMED_CHECKS_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return claimed_checks(read(evidence)) if has_failed(evidence) else ()
