"""Detectors of look-ups that were announced and never made, and of answers and premises that rest on nothing."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import ClassVar, Final

from harness.scoring.evidence import Evidence
from harness.scoring.failures.grounding import NEVER, atoms, texts
from harness.scoring.failures.loops import COMMANDS
from harness.scoring.failures.reading import Act, Reading, gist, has_failed, read
from harness.scoring.failures.signals import (
    INFORMATIVE,
    PlanNeeds,
    announced,
    check_of,
    gives,
    hands_in,
    is_informed,
    new_atoms,
    offered_tools,
)
from harness.scoring.scorecard import Diagnosis, Failure, Kind
from harness.traces.trajectory import Step, ToolCall

LOOKUPS_VERSION: Final = "5"
_LONGEST_PLAN: Final = 20_000
"""Characters of a plan that are examined."""
_MESSAGES: Final = 4
_OPENING: Final = 300
"""Characters of a report that say how it went."""
_COULD_NOT: Final = re.compile(
    r"\b(?:unable to|not able to|failed to|(?:could|can)(?:not| not|n't)(?: be)?(?: \w+ly)? "
    r"(?:find|found|locat|determin|access|open|read|retriev|extract|identif|confirm|verif|complet|obtain|answer)\w{0,3})\b",
    re.I,
)
_LITERAL: Final = re.compile(r"final_answer\(\s*(?:answer\s*=\s*)?[\"']([^\"'\n]{1,300})[\"']")
_WILL_CHECK: Final = re.compile(
    r"\b(?:i(?:'ll| will| shall| am going to|'m going to)|let me|let us|let's|next,? i|now,? i)(?: \w+){0,2} "
    r"(?:verify|double-?check|cross-?check|validate)\b"
)


@dataclass(frozen=True, kw_only=True)
class MissingLookups:
    """An answer that stands in place of look-ups."""

    answered: int
    """Index of the step that states the answer."""
    later: tuple[int, ...]
    needed: PlanNeeds
    """What the plan needed from outside; nothing where an agent reported that it had failed."""
    reported: int | None = None
    """Index of the step in which an agent that was sent handed in that it could not; None: none did."""


def is_answer(call: ToolCall) -> bool:
    """Whether a call hands in: by its own name, or by code that does so."""
    if hands_in(call.name):
        return True
    code = (call.arguments or {}).get("code")
    return isinstance(code, str) and "final_answer(" in code


def unmade_lookups(reading: Reading) -> MissingLookups | None:
    """None: the plan needed none, one was made, nothing was handed in, or the trial succeeded."""
    if reading.evidence.success is True or not reading.records_calls:
        return None
    return reading.evidence.once(_missing_lookups)


def _missing_lookups(evidence: Evidence) -> MissingLookups | None:
    reading = read(evidence)
    return _planned_and_unmade(reading) or _answered_after_failure(reading)


def _answered_after_failure(reading: Reading) -> MissingLookups | None:
    """An answer that follows at once on the report of a sub-agent that could not find it."""
    answers = list(takewhile(lambda act: is_answer(act.call), reversed(reading.acts)))[::-1]
    reports = [place for place, act in enumerate(answers) if hands_in(act.call.name) and _says_failed(_handed_in(act))]
    later = answers[reports[-1] + 1 :] if reports else []
    if not later or _says_failed(_handed_in(later[-1])):
        return None
    report, last = answers[reports[-1]], later[-1]
    value = _handed_in(last)
    known = [text for text in (_LITERAL.findall(value) or [value]) if text.strip()]
    if any(text.strip().casefold() in _handed_in(report).casefold() for text in known) or told_by(reading, last):
        return None
    steps = tuple(dict.fromkeys(act.step for act in later))
    return MissingLookups(
        answered=steps[0],
        later=steps[1:],
        needed=PlanNeeds(items=(), tools=(), checks=False),
        reported=report.step,
    )


def _handed_in(act: Act) -> str:
    return " ".join(act.argument_texts)


def _says_failed(report: str) -> bool:
    return _COULD_NOT.search(report, 0, _OPENING) is not None


def _planned_and_unmade(reading: Reading) -> MissingLookups | None:
    answers = [act for act in reading.acts if is_answer(act.call)]
    said = None if answers else last_words(reading)
    if not (answers or said) or _brought_something(reading):
        return None
    if told_by(reading, answers[-1]) if answers else said is not None and _told(reading, said.message or ""):
        return None
    offered = offered_tools(reading)
    needed = announced(_plan(reading, said), offered)
    if not needed.items or (said is not None and announced(_said(said), offered).items):
        return None
    answered = _stated(reading, answers[0], offered) if said is None else said.index
    later = dict.fromkeys(act.step for act in answers if act.step > answered)
    return MissingLookups(answered=answered, later=tuple(later), needed=needed)


def last_words(reading: Reading) -> Step | None:
    """The message that a run ended with, where it made no call and nobody but the task had spoken to the agent."""
    steps = reading.steps
    if reading.evidence.trial.outcome != "finished" or not steps or steps[-1].source != "agent" or steps[-1].calls:
        return None
    said = [step for step in steps if step.source == "user" and step.message]
    first = next((step.index for step in steps if step.source == "agent"), steps[-1].index)
    return steps[-1] if steps[-1].message and all(step.index < first for step in said) else None


def unmade_checks(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding: a check that the agent announced in its own words, and no call followed."""
    if reading.evidence.success is True or not reading.records_calls:
        return ()
    heard = max((reading.moments[step.index] for step in reading.steps if step.source == "user"), default=-1)
    found = [
        (step.index, match.group())
        for step in reading.steps
        if step.source == "agent" and reading.moments[step.index] > heard
        for match in (_WILL_CHECK.search(reading.words.get(step.index, "").casefold()),)
        if match is not None
    ]
    if not found:
        return ()  # the usual case
    last = max((act.step for act in reading.acts if not is_answer(act.call)), default=-1)
    ends = [act.step for act in reading.acts if is_answer(act.call)][-1:]
    ends = ends or [step.index for step in (last_words(reading),) if step is not None]
    for index, words in found:
        if ends and last < index <= ends[0]:
            evidence = f"announces {words!r}, and no call followed before the answer"
            return (_finding("premature_commitment", "unchecked_answer", ends[0], (), evidence, 0.7),)
    return ()


def abandoned_plans(unmade: MissingLookups | None) -> tuple[Diagnosis, ...]:
    """At most one finding of each of the two modes."""
    if unmade is None:
        return ()
    named = f" by {', '.join(unmade.needed.tools)}" if unmade.needed.tools else ""
    items = len(unmade.needed.items)
    if unmade.reported is not None:
        evidence = (
            f"the agent that was sent reported at step {unmade.reported} that it could not; an answer followed at once"
        )
        return (_lookup_finding("goal_drift", "plan_not_carried_out", unmade, evidence),)
    evidence = f"{items} items of the plan need a look-up{named}; the answer was given, and none had told anything"
    found = [_lookup_finding("goal_drift", "plan_not_carried_out", unmade, evidence)]
    if unmade.needed.checks:
        evidence = "the plan announced to verify what it finds; the answer was given with nothing found or verified"
        found.append(_lookup_finding("premature_commitment", "unchecked_answer", unmade, evidence))
    return tuple(found)


def told_by(reading: Reading, answer: Act) -> Act | None:
    """The call of a tool, no program of the agent's, whose result told what is handed in."""
    earlier = (act for act in reading.acts if act.number < answer.number)
    return _told(reading, " ".join(answer.argument_texts), earlier)


def _told(reading: Reading, value: str, acts: Iterable[Act] | None = None) -> Act | None:
    others = (act for act in (reading.acts if acts is None else acts) if not is_answer(act.call))
    tools = (act for act in others if COMMANDS.isdisjoint(act.call.arguments or ()))
    return next((act for act in tools if gives(act, value)), None)


def _brought_something(reading: Reading) -> bool:
    return is_informed(reading, [act for act in reading.acts if act.seen is not None and not is_answer(act.call)])


def _plan(reading: Reading, answer: Step | None) -> str:
    """What the agent wrote before its first call; where there is none, before its answer."""
    if reading.acts:
        first = reading.acts[0].moment + (0 if is_answer(reading.acts[0].call) else 1)  # what it said when it called
    else:
        first = NEVER if answer is None else reading.moments[answer.index]
    before = (
        step for step in reading.steps if step.source == "agent" and reading.moments[step.index] < first and _said(step)
    )
    return "\n".join(_said(step) for step, _ in zip(before, range(_MESSAGES), strict=False))[:_LONGEST_PLAN]


def _stated(reading: Reading, answer: Act, offered: frozenset[str]) -> int:
    """The message right before the call where it says something itself and is not a plan, else the call's own step."""
    own = next(step for step in reading.steps if step.index == answer.step)
    if _said(own):
        return own.index
    statement = None
    for step in reading.steps:
        if step.index >= own.index:
            break
        if step.source != "agent":
            statement = None
        elif _said(step) and not step.calls and not announced(_said(step), offered).items:
            statement = step.index
    return own.index if statement is None else statement


def _said(step: Step) -> str:
    return " ".join(part for part in (step.thought, step.message, *(step.plan or ())) if part)


def _lookup_finding(failure: Failure, kind: Kind, unmade: MissingLookups, evidence: str) -> Diagnosis:
    sure = 0.9 if unmade.needed.tools else 0.8
    return _finding(failure, kind, unmade.answered, unmade.later, evidence, sure)


def _finding(
    failure: Failure, kind: Kind, step: int, later: tuple[int, ...], evidence: str, confidence: float
) -> Diagnosis:
    return Diagnosis(
        failure=failure,
        kind=kind,
        origin_step=step,
        dependent_steps=later,
        evidence=evidence,
        confidence=confidence,
        version=LOOKUPS_VERSION,
    )


class Lookups:
    """Look-ups that were announced and never made, where an answer was given all the same.

    The plan is what the agent wrote before its first call. At least one of its items needs a look-up (see `announced`).
    The run handed in an answer, by a call or as its last words where nobody had spoken but the task, and no other
    call's answer told that answer or anything new (see `progress`): what the plan needed was never obtained. The plan
    and the calls show it. Three modes begin at the same step, the one that states the answer:

    `plan_not_carried_out` (goal drift): the agent left its plan, and what it did instead was to answer.
    `unsupported_answer` (tool hallucination): the answer stands for what a tool would have told; see `unsupported`.
    `unchecked_answer` (premature commitment): the plan announced that something would be verified or confirmed. It
    counts also where the agent's own words said so later ("I will verify this"), and no call followed but the one that
    hands in.

    The first two are found as well where a sub-agent was to look something up and reported that it could not, and the
    next step handed in an answer all the same, which neither its report nor any tool had told.

    Looked for only where the trial is not known to have succeeded. Does not count: a run that handed nothing in, a
    look-up that was made and brought something (whatever became of it), a task that needs none; an answer that says
    that it is not known.

    Dependent steps: the later ones that hand the answer in.
    """

    name: ClassVar[str] = "lookups"
    version: ClassVar[str] = LOOKUPS_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        abandoned = abandoned_plans(unmade_lookups(reading))
        if any(one.kind == "unchecked_answer" for one in abandoned):
            return abandoned
        return (*abandoned, *unmade_checks(reading))


UNSUPPORTED_VERSION: Final = "7"


def unsupported_answers(reading: Reading, unmade: MissingLookups | None) -> tuple[Diagnosis, ...]:
    """At most one finding."""
    if reading.evidence.success is True:
        return ()
    if unmade is not None and unmade.reported is not None:
        return (_unlooked(unmade),)
    last = next((act for act in reversed(reading.acts) if is_answer(act.call)), None)
    if last is None:
        return () if unmade is None else (_unlooked(unmade),)
    others = [act for act in reading.acts if not is_answer(act.call) and act.seen is not None]
    if not others:
        return _from_nowhere(reading, last) if unmade is None else (_unlooked(unmade),)
    informed = any(count >= INFORMATIVE for count in new_atoms(reading, others).values())
    informed = informed or told_by(reading, last) is not None
    if informed or (unmade is None and any(_computed(last, act) for act in others)):
        return ()
    evidence = f"handed in, and none of the {len(others)} answers before had told it or much else that was new"
    return (_unsupported_finding("tool_hallucination", "unsupported_answer", last.step, evidence, 0.7),)


def _unlooked(unmade: MissingLookups) -> Diagnosis:
    evidence = "handed in what its plan needed to look up, and no call had told anything of it"
    if unmade.reported is not None:
        evidence = f"handed in an answer, though step {unmade.reported} had reported that none could be found"
    return _unsupported_finding("tool_hallucination", "unsupported_answer", unmade.answered, evidence, 0.7)


def _from_nowhere(reading: Reading, answer: Act) -> tuple[Diagnosis, ...]:
    """Of a trial that is known to have failed: an answer without any call, where there were tools that tell."""
    own = (tool for tool in reading.evidence.tools if tool.name in reading.evidence.allowed)
    tells = [tool.name for tool in own if tool.effect == "read" and not hands_in(tool.name)]
    if reading.evidence.success is not False or not tells:
        return ()
    evidence = f"handed in without any call, though {tells[0]} could have been asked"
    return (_unsupported_finding("tool_hallucination", "unsupported_answer", answer.step, evidence, 0.5),)


def _computed(answer: Act, act: Act) -> bool:
    """Whether the call ran a program that printed the answer and does not contain it, its comments left out."""
    arguments = act.call.arguments
    if COMMANDS.isdisjoint(arguments or ()) or act.seen is None or act.failed:
        return False
    value = " ".join(answer.argument_texts).strip().casefold()
    whole = re.compile(rf"(?<![\w.]){re.escape(value)}(?![\w.]?\w)")
    printed = "\n".join(texts(act.seen.content)).casefold()
    asked = gist(act.argument_texts).casefold()
    return bool(value) and whole.search(printed) is not None and whole.search(asked) is None


def _unsupported_finding(failure: Failure, kind: Kind, step: int, evidence: str, confidence: float) -> Diagnosis:
    return Diagnosis(
        failure=failure,
        kind=kind,
        origin_step=step,
        evidence=evidence,
        confidence=confidence,
        version=UNSUPPORTED_VERSION,
    )


class Unsupported:
    """Answers that rest on nothing.

    `unsupported_answer` (tool hallucination) counts: the run handed in an answer by a call, it had made other calls,
    and no answer to any of them told anything that was not known before (see `progress`); or it had made none, and its
    plan needed to look something up (see `lookups`), or an agent that was sent had reported that it could not (there
    too), or it is known to have failed and tools that only tell were there. The result was made up. An answer in words
    counts where the plan needed a look-up. Does not count: a run without recorded calls; an answer that a tool's result
    told, however short it was; what a program of the agent printed without having it in its own text, where the plan
    needed nothing from outside (a riddle is computed); nor where the trial is known to have succeeded.

    Origin: the call that hands in, or the step that states the answer. Dependent steps: none.
    """

    name: ClassVar[str] = "unsupported"
    version: ClassVar[str] = UNSUPPORTED_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        return unsupported_answers(reading, unmade_lookups(reading))


_FULL_NAME: Final = re.compile(
    r"(?<![\w'-])[A-Z][\w'-]{1,30}(?: (?:[A-Z]\.|[A-Z][\w'-]{1,30}|de|van|von|of|the)){0,4} [A-Z][\w'-]{1,30}"
)
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? (?:\d{1,2},? )?"
_BEFORE: Final = r"(?:in|since|until|by|during|year|before|after|around|circa|early|late|mid)"
_YEAR: Final = re.compile(
    rf"(?:(?i:(?<!ending )(?<!ends )\b{_BEFORE} (?:the year )?)|\(|{_MONTH})(1\d{{3}}|20\d\d)(?![\w%-]|[.,]\d)"
)
_SENTENCE: Final = re.compile(r"[^.!?\n]*(?:[.!?\n]|\Z)")
_COMPUTES: Final = re.compile(r"(?i)[=+]|\b(?:minus|plus|subtract|add(?:ing)?|sum|total|calculat|comput|convert)")
_LONGEST_RECALLED: Final = 300
_SHORTEST: Final = 3
_LONGEST_PROSE: Final = 20_000


def recalled_name(reading: Reading, version: str) -> Diagnosis | None:
    """The first query for a name that nothing had given, if the final answer rests on its result."""
    final, last = _final(reading), reading.steps[-1].index if reading.steps else 0
    words = [atom for atom in atoms(final[:_LONGEST_PROSE]) if len(atom) >= _SHORTEST]
    for act in reading.acts[1:]:
        name = next(_unknown_names(act, reading), None)
        if name is None or act.step == last:
            continue
        if any(reading.sources.since(word) == act.moment + 1 for word in words):
            evidence = (
                f"{name!r} was the agent's own premise, which no answer had given; the answer is from its page alone"
            )
            return _premise_finding(act.step, (last,), evidence, check_of(name, act, reading), version)
    return None


def _final(reading: Reading) -> str:
    """What the run answered in the end, else the last words of its agent."""
    output = reading.evidence.trial.trajectory.final_output
    said = (step.message for step in reversed(reading.steps) if step.source == "agent" and step.message)
    return output if isinstance(output, str) else next(said, "")


def _unknown_names(act: Act, reading: Reading) -> Iterator[str]:
    if act.writes or act.failed or act.seen is None or is_answer(act.call):
        return
    for text in act.argument_texts:
        for name in _FULL_NAME.findall(text) if len(text) <= _LONGEST_RECALLED else ():
            if not any(reading.sources.grounded(atom, act.moment) for atom in atoms(name) if len(atom) >= _SHORTEST):
                yield name


def recalled_year(reading: Reading, version: str) -> Diagnosis | None:
    """The first year that nothing had given, is stated, and is used again."""
    if not reading.acts:
        return None
    steps = [step for step in reading.steps if step.source == "agent"]
    ends = set(atoms(_final(reading)))
    for place, step in enumerate(steps):
        for year in _years(step) if step.index > reading.acts[0].step else ():
            if reading.sources.grounded(year, reading.moments[step.index]):
                continue
            known = reading.sources.since(year)
            users = [
                one.index for one in steps[place + 1 :] if reading.moments[one.index] <= known and _says(one, year)
            ]
            if not users and year not in ends:
                continue
            later = tuple(users or [steps[-1].index]) if step is not steps[-1] else ()
            if later:
                evidence = f"{year} was stated, and nothing given had told it; later steps rest on it"
                return _premise_finding(
                    step.index, later, evidence, f"a query about {year} before it was used", version
                )
    return None


def _years(step: Step) -> Iterator[str]:
    for said in (step.thought, step.message):
        for sentence in _SENTENCE.findall((said or "")[:_LONGEST_PROSE]):
            if _COMPUTES.search(sentence) is None:
                yield from _YEAR.findall(sentence)


def _says(step: Step, word: str) -> bool:
    asked = (text for call in step.calls for text in texts(call.arguments or {}))
    return any(word in text for text in (step.thought or "", step.message or "", *asked))


def _premise_finding(step: int, later: tuple[int, ...], evidence: str, prevention: str, version: str) -> Diagnosis:
    return Diagnosis(
        failure="cascading_error",
        kind="carried_premise",
        origin_step=step,
        dependent_steps=later,
        evidence=evidence,
        prevention=prevention,
        confidence=0.4,
        version=version,
    )


PREMISES_VERSION: Final = "5"
_NAME: Final = re.compile(r"\b(?:[A-Z][\w'-]{2,30}|\d{3,6})\b")
_LONGEST_PREMISE: Final = 300
_FEWEST: Final = 2
_ABBREVIATION: Final = 4


def carried_premises(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding: the premise that most rests on, the earliest of equals."""
    brought, users = _brought(reading)
    _rest_on(reading, brought, users)
    word = max(brought, key=lambda one: len(users[one]), default=None)
    if word is None or len(users[word]) < _FEWEST:
        return ()
    return (
        Diagnosis(
            failure="cascading_error",
            kind="carried_premise",
            origin_step=brought[word].step,
            dependent_steps=tuple(sorted(users[word])),
            evidence=f"{word!r} was the agent's own premise, about which no call had asked; later steps rest on it",
            prevention=check_of(word, brought[word], reading),
            confidence=0.4,
            version=PREMISES_VERSION,
        ),
    )


def _brought(reading: Reading) -> tuple[dict[str, Act], dict[str, set[int]]]:
    """By word: the read that brought it from nowhere, in their order, and the steps of the calls that use it later."""
    brought: dict[str, Act] = {}
    users: dict[str, set[int]] = {}
    known = set[str]()
    for act in reading.acts:
        for word in dict.fromkeys(() if act.writes else _names(act)):
            first = brought.get(word)
            if first is not None and act.step != first.step:
                if not users[word] and reading.sources.grounded(word, act.moment):
                    brought.pop(word)  # an answer has confirmed it, so that it is not a premise any longer
                    known.add(word)
                else:
                    users[word].add(act.step)
            elif word in known:
                continue
            elif first is None and not is_answer(act.call) and not reading.sources.grounded(word, act.moment):
                brought[word] = act
                users[word] = set()
    return brought, users


def _rest_on(reading: Reading, brought: dict[str, Act], users: dict[str, set[int]]) -> None:
    """Adds the last step to the users of the words that the final answer has."""
    final = reading.evidence.trial.trajectory.final_output
    if not isinstance(final, str) or not reading.steps:
        return
    last = reading.steps[-1].index
    for word in set(atoms(final)) & brought.keys():
        if brought[word].step < last:
            users[word].add(last)


def _names(act: Act) -> Iterator[str]:
    for text in act.argument_texts:
        if len(text) <= _LONGEST_PREMISE:
            for match in _NAME.findall(text):
                if not (match.isupper() and len(match) <= _ABBREVIATION):
                    yield from atoms(match)


class Premises:
    """Premises that an agent recalled where it should have looked: a name that it queried, a year that it stated.

    `carried_premise` counts here too, in a trial that is known to have failed and calls tools. A full name that no
    answer had given is queried after other queries, and the final answer has a word that this query's answer was the
    first to give: whatever the name was meant to be, the end rests on it. A year that nothing given contains is stated,
    and stands again in a later step or in the final answer before any answer confirms it. Does not count: a name of one
    word, a name that is partly known, the first query of all, numbers that do not stand as a year does, sentences that
    compute.

    Origin: the query with the name, the statement of the year. Dependent steps: those that use it again, and the last.

    Cascading error beyond codes: a premise of the agent's own that later queries and the answer rest on.

    `carried_premise` counts: in a trial that is known to have failed, a name or a number that the agent itself brought
    into a call's arguments, that nothing given to it had contained before and that no answer confirmed until the next
    use, and that at least two of the later calls, or one of them and the answer, contain again. Asking about it before
    going on would have stopped it. Does not count: words in lower case, abbreviations of up to four letters, code,
    texts of a paragraph's length, identifiers (see `cascading_error`), a name that was used once.

    What an agent recalled in place of a look-up, a full name or a year, counts too: see `recalled`.

    Origin: the first call that contains it. Dependent steps: the later ones, and the step that gives the answer.
    """

    name: ClassVar[str] = "premises"
    version: ClassVar[str] = PREMISES_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        if not has_failed(evidence) or evidence.success is not False or reading.runs_code:
            return ()
        found = carried_premises(reading)
        recalled = recalled_name(reading, PREMISES_VERSION) or recalled_year(reading, PREMISES_VERSION)
        return found or (() if recalled is None else (recalled,))
