"""Premature commitment by lists: one of several items that match alike is taken, or some items stand for all.

`ambiguous_match` counts: a write on one item of a list (objects in a tool's answer) where another item of the list has
the words that the user gave under the same name (`name`, `title`, `drug`), nothing else that the user said tells the
two apart, and the agent neither asked nor read further before it wrote. Does not count: items whose status differs;
a trial that is known to have succeeded.

`unread_items` counts: a task about all items of a list ("every", "which of"), a list that tells no more of its items
than names and ids, a tool that was asked about at least two of them and not about all, and a last message that tells of
one of the others as well. Does not count: a sentence that says that something was left out or not looked at.

Origin: the write, or the last message. Dependent steps: none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis, Kind
from harness.score.evidence import Evidence
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.grounding import atoms, texts
from harness.score.failures.signals.reading import Reading, read
from harness.score.failures.signals.told_errors import opened
from harness.trace import Step
from harness.values import JsonValue

VERSION: Final = "1"
Item = Mapping[str, str]
"""The texts and numbers of one object of a list, as text; what is nested is left out."""
_NAMES: Final = frozenset(
    {"name", "title", "drug", "label", "subject", "customer", "patient", "contact", "employee", "full_name", "product"}
)
_STATUS: Final = frozenset({"status", "state", "active", "enabled", "available", "in_stock", "stock"})
_ALL: Final = re.compile(r"\b(?:all|each|every|which of|any of|both|per)\b", re.I)
_LEFT_OUT: Final = re.compile(
    r"\b(?:not|n't|only|remaining|others?|rest|without|could|skipped|unread|unchecked|still|yet|assum\w+)\b|n't\b", re.I
)
_SENTENCE: Final = re.compile(r"[^.!?\n]{1,1000}")
_THIN: Final = 3
"""Fields of an item that tells nothing but what it is called."""
_FEWEST: Final = 3
"""Items of a list of which some can stand for all."""
_MOST: Final = 200
_DEPTH: Final = 4


def ambiguous_matches(reading: Reading) -> Iterator[Diagnosis]:
    """One finding a list."""
    for place, items in _listings(reading):
        write = next((act for act in reading.acts if act.number > place.number and act.writes and not act.failed), None)
        if write is None or _asked_between(reading, place, write):
            continue
        given = set(texts(write.call.arguments))
        chosen = [item for item in items if any(_is_own(value, items) and value in given for value in item.values())]
        if len(chosen) != 1 or _read_between(reading, place, write, items):
            continue
        said = _said_by_users(reading, write.moment)
        twin = next((one for one in items if one is not chosen[0] and _are_twins(chosen[0], one, said)), None)
        if twin is not None:
            name = next(value for key, value in chosen[0].items() if key in _NAMES)
            evidence = (
                f"{write.call.name} took one of several that match {name!r}, and neither asked nor looked further"
            )
            yield _found("ambiguous_match", write.step, evidence)


def unread_items(reading: Reading) -> Iterator[Diagnosis]:
    """At most one finding."""
    last = next((step for step in reversed(reading.steps) if step.source == "agent" and step.message), None)
    if last is None or _ALL.search(" ".join((reading.evidence.case.task, *_messages(reading)))) is None:
        return
    for place, items in _listings(reading):
        if len(items) < _FEWEST or any(len(item) > _THIN for item in items):
            continue
        later = [act for act in reading.acts if act.number > place.number]
        asked = [any(_is_about(act, item, items) for act in later) for item in items]
        if not 2 <= sum(asked) < len(items):
            continue
        told = [item for item, seen in zip(items, asked, strict=True) if not seen and _tells_of(last, item, items)]
        if told:
            name = next(iter(_own_texts(told[0], items)))
            evidence = f"{sum(asked)} of {len(items)} listed items were looked at, and {name!r} is told of as well"
            yield _found("unread_items", last.index, evidence)
            return


def _listings(reading: Reading) -> tuple[tuple[Act, Sequence[Item]], ...]:
    """The lists of objects in answers, each with its call; found at most once for the same evidence."""
    return reading.evidence.once(_listed)


def _listed(evidence: Evidence) -> tuple[tuple[Act, Sequence[Item]], ...]:
    return tuple((act, items) for act in read(evidence).acts if not act.failed for items in _lists(act))


def _lists(act: Act) -> Iterator[Sequence[Item]]:
    content = None if act.seen is None else act.seen.content
    if not isinstance(content, str) or "[" in content:
        yield from _nested(opened(content), 0)


def _nested(value: JsonValue, depth: int) -> Iterator[Sequence[Item]]:
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        items = [one for one in value[:_MOST] if isinstance(one, dict)]
        if 2 <= len(items) == len(value):
            yield [_item(one) for one in items]
    for inner in value.values() if isinstance(value, dict) else ():
        yield from _nested(inner, depth + 1)


def _item(value: Mapping[str, JsonValue]) -> Item:
    told = value.items()
    return {key.casefold(): str(one) for key, one in told if isinstance(one, str | int | float)}


def _is_own(value: str, items: Sequence[Item]) -> bool:
    """Whether only one of the items has the value."""
    return sum(value in item.values() for item in items) == 1


def _own_texts(item: Item, items: Sequence[Item]) -> Iterator[str]:
    return (value for key, value in item.items() if key in _NAMES and _is_own(value, items))


def _are_twins(chosen: Item, other: Item, said: frozenset[str]) -> bool:
    """Whether both match what was said by the same words of a name, and nothing that was said tells them apart."""
    shared = [
        key
        for key in _NAMES & chosen.keys() & other.keys()
        if (named := said & set(atoms(chosen[key]))) and named == said & set(atoms(other[key]))
    ]
    if not shared or any(chosen.get(key) != other.get(key) for key in _STATUS):
        return False
    apart = (set(atoms(chosen[key])) ^ set(atoms(other.get(key, ""))) for key in chosen)
    return not any(said & words for words in apart)


def _asked_between(reading: Reading, place: Act, write: Act) -> bool:
    users = (step for step in reading.steps if step.source == "user" and step.message)
    return any(place.moment < reading.moments[step.index] < write.moment for step in users)


def _read_between(reading: Reading, place: Act, write: Act, items: Sequence[Item]) -> bool:
    """Whether an item was looked at before the write, or its tool was given further items: then it made no choice."""
    others = (
        act
        for act in reading.acts
        if place.number < act.number < write.number or (act.call.name == write.call.name and act is not write)
    )
    return any(_is_about(act, item, items) for act in others for item in items)


def _is_about(act: Act, item: Item, items: Sequence[Item]) -> bool:
    given = set(texts(act.call.arguments))
    return any(value in given and _is_own(value, items) for value in item.values())


def _tells_of(last: Step, item: Item, items: Sequence[Item]) -> bool:
    """Whether a sentence of the message names the item, and does not say that it was left out."""
    names = [frozenset(atoms(name)) for name in _own_texts(item, items)]
    shared = frozenset.intersection(*(frozenset(atoms(" ".join(one.values()))) for one in items))
    for sentence in _SENTENCE.findall(last.message or ""):
        words = set(atoms(sentence))
        named = any(len((name - shared) & words) >= min(2, len(name - shared)) > 0 for name in names)
        if named and _LEFT_OUT.search(sentence) is None:
            return True
    return False


def _messages(reading: Reading) -> Iterator[str]:
    return (step.message for step in reading.steps if step.source == "user" and step.message)


def _said_by_users(reading: Reading, moment: int) -> frozenset[str]:
    users = (step for step in reading.steps if step.source == "user" and reading.moments[step.index] < moment)
    said = (reading.evidence.case.task, *(step.message or "" for step in users))
    return frozenset(word for text in said for word in atoms(text) if len(word) > 1)


def _found(kind: Kind, step: int, evidence: str) -> Diagnosis:
    return Diagnosis(
        failure="premature_commitment",
        kind=kind,
        origin_step=step,
        evidence=evidence,
        confidence=0.7,
        version=VERSION,
    )


class ListedItems:
    """Choices among listed items that match alike, and statements about items that nobody looked at."""

    name: ClassVar[str] = "listed_items"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        if evidence.success is True or len(reading.acts) < 2:
            return ()
        return (*ambiguous_matches(reading), *unread_items(reading))
