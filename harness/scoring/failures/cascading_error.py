"""Detectors of cascading errors: a wrong value enters at one step, and later steps are built on it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from pydantic import JsonValue

from harness.scoring.evidence import Evidence
from harness.scoring.failures.grounding import Sources, atoms, identifiers, is_identifier
from harness.scoring.failures.reading import Act, Reading, has_failed, opened, read, says_error
from harness.scoring.failures.signals import Foreign, check_of, foreign_of, read_back
from harness.scoring.scorecard import Diagnosis, Kind
from harness.values import canonical_json

CASCADING_ERROR_VERSION: Final = "7"


def carried_values(reading: Reading, foreign: Sequence[Foreign]) -> tuple[Diagnosis, ...]:
    """One finding a value."""
    found = []
    for one in foreign:
        later = _later_uses(reading, one)
        if one.lookalike is not None and later:
            found.append(_diagnosis(one, later, reading, miscopied=True))
        elif one.lookalike is None and not one.confirmed and _kinds(one) > 1:
            found.append(_diagnosis(one, later, reading, miscopied=False))
    return tuple(found)


def _later_uses(reading: Reading, one: Foreign) -> tuple[int, ...]:
    origin = one.acts[0]
    steps = {act.step for act in one.acts if act.number > origin.number and act.step != origin.step}
    wanted = set(atoms(one.value))
    for step in reading.steps:
        after = reading.moments[step.index] > origin.moment
        if after and step.source == "agent" and step.message and wanted <= set(atoms(step.message)):
            steps.add(step.index)
    return tuple(sorted(steps))


def _kinds(one: Foreign) -> int:
    return len({act.key for act in one.acts})


def _diagnosis(one: Foreign, later: tuple[int, ...], reading: Reading, *, miscopied: bool) -> Diagnosis:
    source = f"where {one.lookalike!r} had been given" if miscopied else "and had been given by nobody"
    check = check_of(one.value, one.acts[0], reading)
    return Diagnosis(
        failure="cascading_error",
        kind="miscopied_value" if miscopied else "invented_value",
        origin_step=one.acts[0].step,
        dependent_steps=later,
        evidence=f"{one.value!r} was used {source}; {len(later)} later steps rest on it",
        prevention=f"copying {one.lookalike!r} as it had been given; or {check}" if miscopied else check,
        confidence=0.9 if miscopied else 0.7,
        version=CASCADING_ERROR_VERSION,
    )


class CascadingError:
    """Cascading error: a wrong value enters at one step, and later steps are built on it.

    `miscopied_value` counts: an identifier in a call that differs in one or two characters from one that the agent had
    been given, and that it had not been given itself, used again by a later call or told to the user. `invented_value`
    counts: an identifier from nowhere that no answer confirmed, used again by a later call of another kind.

    Does not count: a wrong value that was used once (nothing rests on it); a failed call tried again with the right
    value; a value computed from others (amounts and dates are not examined); a wrong answer of a tool (see
    `wrong_sources`).

    Origin: where the value entered. Dependent steps: the later ones that use it.
    """

    name: ClassVar[str] = "cascading_error"
    version: ClassVar[str] = CASCADING_ERROR_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return carried_values(read(evidence), foreign_of(evidence))


WRONG_SOURCES_VERSION: Final = "3"
_WORD: Final = re.compile(r"#?[A-Za-z0-9][A-Za-z0-9_.@:+-]{3,63}")
_SENTENCE: Final = re.compile(r"(?<![.!?\n])[.!?\n]+\s")
"""Looked for at the first of several marks only: a long run of marks without a space after it is read once."""
_LETTER: Final = re.compile(r"[A-Za-z]")
_DIGIT: Final = re.compile(r"\d")
_DEPTH: Final = 8
_MOST: Final = 400
"""Places of an answer, and identifiers of a message, that are examined."""


def wrong_sources(reading: Reading) -> Iterator[Diagnosis]:
    """At most one of each kind."""
    ways: tuple[Callable[[Reading], Iterator[Diagnosis]], ...] = (_hidden, _injected, _contradicted, _misled)
    for way in ways:
        found = next(way(reading), None)
        if found is not None:
            yield found


def _hidden(reading: Reading) -> Iterator[Diagnosis]:
    for act in reading.acts:
        if act.failed or act.seen is None or not says_error(act.seen.content, act.writes):
            continue
        later = [one for one in reading.acts if one.number > act.number]
        if any(one.key == act.key and not one.failed and not says_error(_content(one), one.writes) for one in later):
            continue
        values = act.identifiers
        users = _users(reading, values, act.moment, besides=act.key) if values else ()
        if users:
            evidence = f"{act.call.name} answered with an error that was flagged as a success, and the agent went on"
            yield _found("hidden_error_carried", act.step, users, evidence, read_back(act, reading), 0.7)


def _injected(reading: Reading) -> Iterator[Diagnosis]:
    for act in reading.acts:
        if act.failed or act.seen is None or act.seen.injected is None:
            continue
        here = (one for one in _identifiers(act) if reading.sources.since(one) == act.moment + 1)
        for value in here:
            users = _users(reading, (value,), act.moment)
            if users:
                evidence = f"the answer of {act.call.name} was changed on purpose, and {value!r} of it was used"
                yield _found("injected_answer_carried", act.step, users, evidence, read_back(act, reading), 0.8)


def _contradicted(reading: Reading) -> Iterator[Diagnosis]:
    if reading.runs_code:
        return
    said = [reading.moments[step.index] for step in reading.steps if step.source == "user"]
    before: dict[str, Act] = {}
    for act in reading.acts:
        if act.tool is None or act.writes:
            before.clear()  # of a tool that nobody declared it is not known what it changes
            continue
        if act.failed or act.seen is None:
            continue
        earlier = before.get(act.key)
        before[act.key] = act
        if earlier is None or earlier.answer == act.answer or any(earlier.moment < one < act.moment for one in said):
            continue
        yield from _between(reading, earlier, act)


def _between(reading: Reading, earlier: Act, later: Act) -> Iterator[Diagnosis]:
    first, second = dict(_places(_content(earlier))), dict(_places(_content(later)))
    for place in first.keys() & second.keys():
        old, new = first[place], second[place]
        if old == new or not (is_identifier(old) and is_identifier(new)):
            continue
        for act, value in ((later, new), (earlier, old)):
            users = _users(reading, (value,), later.moment)
            if users:
                evidence = f"{act.call.name} told {old!r} and, asked again in the same state, {new!r}"
                how = f"comparing the two answers of {act.call.name} before either was used"
                yield _found(
                    "contradicted_answer_carried", act.step, users, f"{evidence}; {value!r} was used", how, 0.7
                )
                return


def _misled(reading: Reading) -> Iterator[Diagnosis]:
    profile = reading.evidence.case.user_profile
    if not profile:
        return
    given = Sources()
    given.tell(canonical_json(profile), -1)
    named = dict(_places(profile))
    for step in reading.steps:
        if step.source != "user" or not step.message:
            continue
        for sentence in _SENTENCE.split(step.message):
            for word in _WORD.findall(sentence)[:_MOST]:
                value = word.rstrip(".:,-+")
                if not is_identifier(value) or given.grounded(value, 0):
                    continue
                right = given.lookalike(value, 0) or _named_otherwise(value, sentence, named)
                first = next((act for act in reading.acts if _uses(act, value, reading.moments[step.index])), None)
                if right is None or first is None:
                    continue
                users = _users(reading, (value,), reading.moments[step.index])
                evidence = f"the user said {value!r} where the profile has {right!r}, and calls rest on it"
                prevention = check_of(value, first, reading)
                yield _found("contradicted_user_carried", step.index, users, evidence, prevention, 0.8)


def _named_otherwise(value: str, sentence: str, named: Mapping[str, str]) -> str | None:
    """What the profile holds under a name that stands in the sentence, in the value's shape; None where several do."""
    said = set(atoms(sentence))
    right = {held for place, held in named.items() if _shape(held) == _shape(value) and set(_words(place)) <= said}
    return right.pop() if len(right) == 1 else None


def _words(place: str) -> list[str]:
    """The words of the last name on the way to a value."""
    names = [part for part in place.split("/") if not part.isdigit()]
    return atoms(names[-1].replace("_", " ")) if names else ["?"]


def _shape(value: str) -> str:
    return _DIGIT.sub("0", _LETTER.sub("a", value))


def _uses(act: Act, value: str, moment: int) -> bool:
    return act.moment > moment and value in act.identifiers


def _users(reading: Reading, values: tuple[str, ...], moment: int, besides: str | None = None) -> tuple[int, ...]:
    """Later steps of the agent that use one of the values, in a call (but those of the key) or in a message."""
    steps = {
        act.step
        for act in reading.acts
        if act.moment > moment and act.key != besides and not set(values).isdisjoint(act.identifiers)
    }
    wanted = [set(atoms(value)) for value in values]
    for step in reading.steps:
        if step.source == "agent" and step.message and reading.moments[step.index] > moment:
            stated = set(atoms(step.message))
            if any(one <= stated for one in wanted):
                steps.add(step.index)
    return tuple(sorted(steps))


def _content(act: Act) -> JsonValue:
    return None if act.seen is None else opened(act.seen.content)


def _identifiers(act: Act) -> tuple[str, ...]:
    return identifiers(_content(act))[:_MOST]


def _places(value: JsonValue, place: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text of objects by the way to it; lists are left out, whose order says nothing."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict) and depth < _DEPTH:
        for name, part in value.items():
            yield from _places(part, f"{place}/{name}", depth + 1)


def _found(
    kind: Kind, step: int, later: tuple[int, ...], evidence: str, prevention: str, confidence: float
) -> Diagnosis:
    return Diagnosis(
        failure="cascading_error",
        kind=kind,
        origin_step=step,
        dependent_steps=tuple(one for one in later if one != step),
        evidence=evidence,
        prevention=prevention,
        confidence=confidence,
        version=WRONG_SOURCES_VERSION,
    )


class WrongSources:
    """Cascading error that begins in what the agent was given: a tool's answer or a user's word, on which later steps
    rest.

    Looked for only where the trial is known to have failed. Of each kind, the first.

    `hidden_error_carried` counts: a tool's answer that is not an error by its flag and says that it is one (an object
    with `error`, `success: false` or `status: failed`; a text that begins with "Error:"), where the same call did not
    succeed later, and a later call or message of the agent uses an identifier of that call. `injected_answer_carried`
    counts: an answer that was changed on purpose and is not an error, where later steps use an identifier that only it
    had given. `contradicted_answer_carried` counts: a read that was asked twice for the same, with no write and no word
    of the user between, whose answers are objects that differ in an identifier at the same place, where a later step
    uses one of the two: it began with the answer whose value is used. `contradicted_user_carried` counts: an identifier
    that the user said and that differs from the one in the case's profile of the user in one or two characters, or is
    what the profile holds under the name that the user gave it, in another value of the same shape; and that a later
    call uses.

    Does not count: an answer that nothing rests on; an answer that changed after a write, or in clock times, amounts or
    words; a user's identifier of which the profile holds nothing alike.

    Origin: the step of the call that was answered, or the user's message. Dependent steps: the later ones that use it.
    """

    name: ClassVar[str] = "wrong_sources"
    version: ClassVar[str] = WRONG_SOURCES_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return tuple(wrong_sources(read(evidence))) if has_failed(evidence) else ()
