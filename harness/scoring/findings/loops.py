"""Facts of the mode loop trap: calls made again though nothing had changed, and errors met again without a change."""

import re
from bisect import bisect
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple

from harness.scoring.evidence import Evidence, once
from harness.scoring.findings.reading import Act, Reading, atoms, hands_in, opened, read, settled, texts
from harness.scoring.reference_calls import reference_keys
from harness.scoring.scorecard import Diagnosis, Kind, fact
from harness.traces.trajectory import ToolErrorType

REPEATS: Final = 3
PERIODS: Final = (1, 2, 3, 4)
_PAGE: Final = 2000
"""Characters from which on an answer is a page, parts of which change by themselves."""
_SAME_PAGE: Final = 0.95
"""Jaccard index of the words of two pages."""


@once
def loops(evidence: Evidence) -> tuple[Diagnosis, ...]:
    """All of them, which need no verdict."""
    reading = read(evidence)
    if len(reading.acts) < 2:
        return ()
    found: list[Diagnosis] = []
    known: set[int] = set()
    for way in (_cycles, _retries, _without_news, _asked_again):
        for one in way(reading):
            steps = {one.origin_step, *one.dependent_steps}
            if known.isdisjoint(steps):
                found.append(one)
        known.update(step for one in found for step in (one.origin_step, *one.dependent_steps) if step is not None)
    return tuple(found)


def _found(kind: Kind, repeats: Sequence[Act], evidence: str) -> Diagnosis:
    steps = list(dict.fromkeys(act.step for act in repeats))
    return fact("loop_trap", kind, steps[0], evidence, later=steps[1:])


# A call, or a cycle of up to four calls, made three times running with the same answers.


class _Event(NamedTuple):
    """A call with its answer, or what the user said."""

    step: int
    token: tuple[str, ...]
    act: Act | None


def _cycles(reading: Reading) -> Iterator[Diagnosis]:
    """Every maximal cycle, the shortest period first if several fit."""
    events = _events(reading)
    asked = Counter(reference_keys(reading.evidence))
    for start, period, length in _runs([event.token for event in events]):
        acts = [event.act for event in events[start : start + period] if event.act is not None]
        later = [event.act for event in events[start + period : start + length] if event.act is not None]
        times = length // period
        if not acts or later[-1].step == acts[0].step or all(asked[act.key] >= times for act in acts):
            continue
        known = all(act.seen is not None for act in acts)
        answered = "with the same answer each time" if known else "its answers are not recorded"
        names = ", ".join(act.call.name for act in acts)
        yield _found("repeated_call", later, f"{names}: {times} times running, {answered}")


def _events(reading: Reading) -> list[_Event]:
    """What the user says between calls is part of a cycle: if the user says something new, it is none."""
    asked = reading.asked
    by_step: dict[int, list[Act]] = {}
    for act in reading.acts:
        by_step.setdefault(act.step, []).append(act)
    events: list[_Event] = []
    last: dict[str, tuple[str, frozenset[str]]] = {}
    said = ""
    for step in reading.steps:
        if step.source == "user":
            events.append(_Event(step.index, ("user", said, step.message or ""), None))
            said = ""
        elif step.source == "agent":
            said = step.message or said
            for act in by_step.get(step.index, ()):
                answer = _answer(act, last) if asked[act.gist_key] > 1 else ""
                events.append(_Event(step.index, (act.gist_key, answer), act))
    return events


def _answer(act: Act, last: dict[str, tuple[str, frozenset[str]]]) -> str:
    """What a call was answered; of a long page that is nearly the last one of the same call, that one's answer."""
    answer = act.answer_key or "?"
    if len(answer) < _PAGE:
        return answer
    words = frozenset(atoms(answer))
    before, known = last.get(act.gist_key, ("", frozenset[str]()))
    if len(known & words) >= _SAME_PAGE * len(known | words):
        answer = before
    last[act.gist_key] = (answer, words)
    return answer


def _runs(tokens: Sequence[tuple[str, ...]]) -> Iterator[tuple[int, int, int]]:
    """(start, period, length) of each stretch that repeats itself three times and more."""
    covered = [False] * len(tokens)
    for period in PERIODS:
        run = 0
        for place in range(period, len(tokens) + 1):
            if place < len(tokens) and tokens[place] == tokens[place - period] and not covered[place]:
                run += 1
                continue
            start, length = place - run - period, run + period
            if length >= REPEATS * period:
                covered[start:place] = [True] * length
                yield start, period, length
            run = 0


# An error met again: by the same call, which changed nothing; or by five calls of one tool running.

_PASSING: Final[frozenset[ToolErrorType]] = frozenset({"tool_unavailable", "timeout", "reset", "malformed_result"})
"""What the same call can get over: a second try is right."""
_RUNNING: Final = 5
_VARYING: Final = re.compile(r"<[^<>\n]{1,60}>|\d+|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"")
_LETTERS: Final = re.compile(r"[a-z]{3,}")
_HEAD: Final = 300


def _retries(reading: Reading) -> Iterator[Diagnosis]:
    if len(reading.errors) < 2:
        return
    running: dict[str, list[Act]] = {}
    for acts in _by_era(reading):
        runs: dict[str, list[Act]] = {}
        for act in acts:
            error = _error(act)
            if act.told_error is not None:
                runs.setdefault(act.gist_key, []).append(act)
            row = running.setdefault(act.call.name, [])
            if not error or (row and _error(row[-1]) != error):
                yield from _same_error(row)
                row.clear()
            if error:
                row.append(act)
        yield from _unchanged(runs)
    for row in running.values():
        yield from _same_error(row)


def _unchanged(runs: dict[str, list[Act]]) -> Iterator[Diagnosis]:
    for acts in runs.values():
        passing = any(act.seen is not None and act.seen.error and act.seen.error.type in _PASSING for act in acts)
        if len(acts) > 1 + passing and acts[0].step != acts[-1].step:
            evidence = f"{acts[0].call.name} failed {len(acts)} times with equal arguments, and nothing had changed"
            yield _found("unchanged_retry", acts[1:], evidence)


def _same_error(acts: Sequence[Act]) -> Iterator[Diagnosis]:
    if len(acts) >= _RUNNING and acts[0].step != acts[-1].step:
        yield _found(
            "unchanged_retry", acts[1:], f"{acts[0].call.name} failed {len(acts)} times running with the same error"
        )


def _error(act: Act) -> str:
    """The kind of an error, without the numbers and quotations that name the arguments; empty: it says nothing."""
    told = act.told_error
    if told is None:
        return ""
    told = told if act.failed else " ".join(texts(opened(told)))
    kind = settled(_VARYING.sub("~", told[-_HEAD:].casefold()))
    return kind if len(_LETTERS.findall(kind)) >= REPEATS else ""


# Queries that ask in other words what was asked before, and tell nothing new.

_PIECE: Final = re.compile(r"[^\s\"'?!,;:()\[\]]+")
"""A word of a query, with the marks that choose something, as in `../`."""
_REWORDED: Final = 0.4
"""Jaccard index of the words of two queries; what the answers bring decides."""
_FEWEST: Final = 3
_REMEMBERED: Final = 16
"""Earlier calls of a tool that a call is compared with; so many keep the time linear."""


@dataclass(slots=True)
class _Query:
    """What a call asks: its words in order, and all else that must be equal."""

    words: list[str]
    bag: frozenset[str] = field(init=False)
    rest: str

    def __post_init__(self) -> None:
        self.bag = frozenset(self.words)

    def asks_again(self, earlier: "_Query") -> bool:
        """Whether the earlier one asked nearly the same.

        A query with another number asks for something else, and so does one that has other words in one place only:
        a sweep over days, over names, or a search in one folder after the other.
        """
        if self.rest != earlier.rest or len(self.bag & earlier.bag) < _REWORDED * len(self.bag | earlier.bag):
            return False
        if any(word.isdecimal() for word in self.bag - earlier.bag):
            return False
        return self.bag == earlier.bag or not _differ_in_one_place(self.words, earlier.words)


def _differ_in_one_place(left: Sequence[str], right: Sequence[str]) -> bool:
    shorter = min(len(left), len(right))
    front = next((n for n in range(shorter) if left[n] != right[n]), shorter)
    back = next((n for n in range(shorter - front) if left[-1 - n] != right[-1 - n]), shorter - front)
    return front > 0 and max(len(left), len(right)) - front - back <= max(1, shorter // 3)


def _query(act: Act) -> _Query | None:
    """None: it asks in no words, or in a command, in which marks and order matter."""
    arguments = act.call.arguments
    if act.is_code or act.writes or not arguments or hands_in(act.call.name):
        return None
    words: list[str] = []
    rest: list[str] = []
    for name, value in arguments.items():
        parts = value if isinstance(value, list) else [value]
        worded = all(isinstance(one, str) for one in parts) and any(" " in str(one).strip() for one in parts)
        if worded:
            words.extend(word for one in parts for word in _PIECE.findall(str(one).casefold()))
            rest.append(name)
        else:
            rest.append(f"{name}={value!r}")
    return _Query(words=words, rest=" ".join(rest)) if len(set(words)) > 1 else None


def _without_news(reading: Reading) -> Iterator[Diagnosis]:
    queries = {act.number: query for act in reading.acts if (query := _query(act)) is not None}
    again = _asking_again(reading, queries)
    if len(again) < _FEWEST:
        return  # mostly so, and what follows costs more
    known: set[str] = set()
    tells: set[str] = set()
    """Tools that told something new at all: one that takes notes never does."""
    for acts in _by_era(reading):
        runs: dict[str, list[Act]] = {}
        for act in acts:
            name, answered = act.call.name, act.seen is not None and not act.failed
            told = set(atoms("\n".join(texts(act.seen.content)))) if act.seen is not None and answered else set[str]()
            if act.number in queries:
                known |= {word for text in act.argument_texts for word in atoms(text)}
                if answered and told <= known and act.number in again and name in tells:
                    runs.setdefault(name, []).append(act)
                else:
                    yield from _barren({name: runs.pop(name, [])})
            if not told <= known:
                tells.add(name)
            known |= told
        yield from _barren(runs)


def _asking_again(reading: Reading, queries: Mapping[int, _Query]) -> set[int]:
    """The numbers of the calls that ask nearly what an earlier call of their tool asked in the same era."""
    found: set[int] = set()
    eras = _eras(reading)
    before: dict[tuple[str, int], deque[_Query]] = {}
    for number, query in queries.items():
        act = reading.acts[number]
        earlier = before.setdefault((act.call.name, eras[number]), deque(maxlen=_REMEMBERED))
        if any(map(query.asks_again, earlier)):
            found.add(number)
        earlier.append(query)
    return found


def _barren(runs: dict[str, list[Act]]) -> Iterator[Diagnosis]:
    for name, acts in runs.items():
        if len(acts) >= _FEWEST and acts[0].step != acts[-1].step:
            evidence = f"{name}: {len(acts)} times asked again in other words, and told nothing new"
            yield _found("repeated_call", acts, evidence)


# A read made four times and answered the same, whatever other reads stand between.

_AGAIN: Final = 4


def _asked_again(reading: Reading) -> Iterator[Diagnosis]:
    if len(reading.acts) < _AGAIN:
        return
    asked: dict[tuple[int, str, str | None], list[Act]] = {}
    often = {gist for gist, times in reading.asked.items() if times >= _AGAIN}
    eras = _eras(reading) if often else []
    for act in reading.acts if often else ():
        reads = act.gist_key in often and act.tool is not None and not act.writes and not hands_in(act.call.name)
        if reads and act.seen is not None and not act.failed:
            asked.setdefault((eras[act.number], act.gist_key, act.answer_key), []).append(act)
    for acts in asked.values():
        if len({act.step for act in acts}) >= _AGAIN:
            evidence = f"{acts[0].call.name}: {len(acts)} times with the same answer, and nothing had changed"
            yield _found("repeated_call", acts[1:], evidence)


def _eras(reading: Reading) -> list[int]:
    """For each call, how many messages of the user and successful writes stand before it: an era in which nothing
    changed. Of a tool that nobody declared it is not known what it changes.
    """
    found, wrote = [], 0
    for act in reading.acts:
        found.append(bisect(reading.turns, act.moment) + wrote)
        wrote += (act.tool is None or act.writes) and act.told_error is None
    return found


def _by_era(reading: Reading) -> Iterator[Iterator[Act]]:
    """The calls of each era, in order."""
    eras = _eras(reading)
    return (acts for _, acts in groupby(reading.acts, key=lambda act: eras[act.number]))
