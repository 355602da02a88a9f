"""Detectors of loop traps: equal calls, one failure again and again, and reworded calls that bring nothing new."""

import re
from bisect import bisect
from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from harness.scoring.evidence import Evidence
from harness.scoring.failures.grounding import atoms, texts
from harness.scoring.failures.reading import Act, Reading, are_alike, found_nothing, opened, overlap, read, settled
from harness.scoring.failures.signals import INFORMATIVE, hands_in, new_atoms
from harness.scoring.reference_calls import reference_keys
from harness.scoring.scorecard import Diagnosis, Kind

LOOP_TRAP_VERSION: Final = "4"
REPEATS: Final = 3
PERIODS: Final = (1, 2, 3, 4)
_PAGE: Final = 2000
"""Characters from which on an answer is a page, parts of which change by themselves."""
_SAME_PAGE: Final = 0.95


class _Event(NamedTuple):
    """A call with its answer, or what the user said."""

    step: int
    token: str
    act: Act | None


@dataclass(frozen=True, kw_only=True)
class _Cycle:
    start: int
    period: int
    length: int

    @property
    def times(self) -> int:
        return self.length // self.period


def loop_traps(reading: Reading) -> tuple[Diagnosis, ...]:
    """Every maximal cycle, the shortest period first where several fit."""
    events = _events(reading)
    asked = Counter(reference_keys(reading.evidence))
    found = []
    for cycle in _cycles([event.token for event in events]):
        turn = events[cycle.start : cycle.start + cycle.period]
        acts = [event.act for event in turn if event.act is not None]
        steps = {event.step for event in events[cycle.start : cycle.start + cycle.length]}
        if acts and len(steps) > 1 and not all(asked[act.key] >= cycle.times for act in acts):
            found.append(_diagnosis(events, cycle, acts))
    return tuple(found)


class _Answers:
    """Gives answers of one call the same label while they tell the same."""

    def __init__(self, acts: Sequence[Act]) -> None:
        self.keys = {act.number: act.gist_key for act in acts}
        self._asked = Counter(self.keys.values())
        self._last: dict[str, tuple[str, frozenset[str], int]] = {}

    def label(self, act: Act) -> str:
        """Compared with the last answer to the same call only, so that a page that moves on slowly moves on."""
        if act.seen is None:
            return "?"
        asked = self.keys[act.number]
        if self._asked[asked] == 1:
            return "0"  # there is nothing to compare with
        answer = act.answer_key or ""
        before = self._last.get(asked)
        if before is not None and before[0] == answer:
            return str(before[2])
        said = frozenset(atoms(answer)) if len(answer) >= _PAGE else frozenset()
        alike = before is not None and len(said) > 0 and overlap(before[1], said) >= _SAME_PAGE
        number = before[2] if before is not None and alike else (0 if before is None else before[2] + 1)
        self._last[asked] = (answer, said, number)
        return str(number)


def _events(reading: Reading) -> list[_Event]:
    answers = _Answers(reading.acts)
    by_step: dict[int, list[Act]] = {}
    for act in reading.acts:
        by_step.setdefault(act.step, []).append(act)
    events: list[_Event] = []
    said = ""
    for step in reading.steps:
        if step.source == "user":
            events.append(_Event(step=step.index, token=f"user {said} {step.message or ''}", act=None))
            said = ""
        elif step.source == "agent":
            said = step.message or said
            for act in by_step.get(step.index, ()):
                events.append(
                    _Event(step=step.index, token=f"{answers.keys[act.number]} -> {answers.label(act)}", act=act)
                )
    return events


def _cycles(tokens: Sequence[str]) -> Iterator[_Cycle]:
    covered = [False] * len(tokens)
    for period in PERIODS:
        run = 0
        for place in range(period, len(tokens) + 1):
            if place < len(tokens) and tokens[place] == tokens[place - period] and not covered[place]:
                run += 1
                continue
            length = run + period
            start = place - length
            if length >= REPEATS * period:
                for inside in range(start, place):
                    covered[inside] = True
                yield _Cycle(start=start, period=period, length=length)
            run = 0


def _diagnosis(events: Sequence[_Event], cycle: _Cycle, acts: Sequence[Act]) -> Diagnosis:
    repeats = events[cycle.start + cycle.period : cycle.start + cycle.length]
    steps = list(dict.fromkeys(event.step for event in repeats))
    names = ", ".join(act.call.name for act in acts)
    known = all(act.seen is not None for act in acts)
    answered = "with the same answer each time" if known else "its answers are not recorded"
    return Diagnosis(
        failure="loop_trap",
        kind="repeated_call" if cycle.period == 1 else "repeated_cycle",
        origin_step=steps[0],
        dependent_steps=tuple(steps[1:]),
        evidence=f"{names}: {cycle.times} times running, {answered}",
        confidence=_confidence(acts, known),
        version=LOOP_TRAP_VERSION,
    )


def _confidence(acts: Sequence[Act], known: bool) -> float:
    if not known:
        return 0.6
    # a write that answers the same each time may still have changed something
    return 0.75 if any(act.writes and not act.failed for act in acts) else 0.95


def loops(evidence: Evidence) -> tuple[Diagnosis, ...]:
    """The loop traps, which need no verdict; found at most once for the same evidence."""
    return evidence.once(_loops)


def _loops(evidence: Evidence) -> tuple[Diagnosis, ...]:
    return loop_traps(read(evidence))


class LoopTrap:
    """Loop trap: a call, or a cycle of up to four calls, made three times running while nothing changed.

    Counts: a cycle of period 1 (`repeated_call`) or of 2 to 4 (`repeated_cycle`) whose calls ask for the same and were
    answered the same, at least three times in direct succession; a text that is repeated with other comments, waits or
    layout asks for the same; an answer that differs only in clock times, durations or addresses, of a read also in
    numbers and times of the request, or in under a twentieth of a long page's words, is the same. What a user says
    between the calls is part of the cycle: when he says something new, it is none. Where answers are not recorded,
    equal calls count alone, at less confidence.

    Does not count: equal calls of one reply, which were decided at once; the same call with another answer (the state
    changed: a test run again after an edit, a poll that moves on); a repeat that the reference itself asks for; the
    number of calls, however large.

    Origin: the first repeat. Dependent steps: the later ones.
    """

    name: ClassVar[str] = "loop_trap"
    version: ClassVar[str] = LOOP_TRAP_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return loops(evidence)


def useless_repeats(kind: Kind, steps: Sequence[int], evidence: str, confidence: float, version: str) -> Diagnosis:
    """A loop trap whose first useless repeat is in the first of the steps."""
    return Diagnosis(
        failure="loop_trap",
        kind=kind,
        origin_step=steps[0],
        dependent_steps=tuple(steps[1:]),
        evidence=evidence,
        confidence=confidence,
        version=version,
    )


STUCK_VERSION: Final = "6"
_RUNNING: Final = 5
"""Failures in direct succession; runs that reached their goal had three at most."""
_NEARLY_THE_SAME: Final = 0.5
"""Jaccard index of two calls' atoms from which on they ask for nearly the same."""
_VARYING: Final = re.compile(r"\d+|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|0x[0-9a-f]+")
_HEAD: Final = 300
_LETTERS: Final = re.compile(r"[a-z]{3,}")
_SAID: Final = 3
"""Words that an error needs to say something."""
_CODE: Final = "code"
COMMANDS: Final = frozenset({"command", "cmd", "code", "script", "commands", "action"})
_FEWEST_WORDS_ASKED_AGAIN: Final = 4
"""Of a query; fewer are asked again by chance."""
_SHORTEST: Final = 20
_LONGEST: Final = 20_000
_ECHOED_ALIKE: Final = 0.25


def stuck_calls(reading: Reading, looped: Collection[int]) -> tuple[Diagnosis, ...]:
    """One finding a run of failures or of empty repeats. `looped`: steps that are known to be in an equal loop."""
    found = [*_on_errors(reading), *_for_nothing(reading), *_reworded(reading)]
    if not any(one.kind == "stuck_on_error" for one in found):
        found += _on_any_error(reading)
    return tuple(one for one in found if one.origin_step not in looped and not set(one.dependent_steps) & set(looped))


def _on_errors(reading: Reading) -> Iterator[Diagnosis]:
    by_tool: dict[str, list[Act]] = {}
    for act in reading.acts:
        by_tool.setdefault(act.call.name, []).append(act)
    last_good = max((act.number for act in reading.acts if act.told_error is None), default=-1)
    for name, acts in by_tool.items():
        own_last_good = max((act.number for act in acts if act.told_error is None), default=-1)
        for run in _failing(acts):
            again = len(run) == REPEATS - 1 and run[0].asked == run[1].asked and own_last_good < run[0].number
            if again and run[1].number < last_good and _at_once(reading, run):
                continue  # one more try, and then the agent went on
            if (len(run) >= REPEATS or again) and run[0].step != run[-1].step:
                evidence = f"{name} failed {len(run)} times with the same error on nearly the same arguments"
                yield _found("stuck_on_error", run[1:], evidence, 0.6 if again else 0.8)


def _at_once(reading: Reading, run: Sequence[Act]) -> bool:
    """Whether no step with calls stands between the first and the last of them."""
    return all(act.step == run[0].step for act in reading.acts[run[0].number : run[-1].number])


def _on_any_error(reading: Reading) -> Iterator[Diagnosis]:
    found = list(_in_succession(reading))
    yield from found
    if found:
        return
    by_tool: dict[str, list[Act]] = {}
    for act in reading.acts:
        run = by_tool.setdefault(act.call.name, [])
        same = _fails(act) and _says_something(act) and (not run or _error(act) == _error(run[-1]))
        if not same:
            yield from _same_errors(run)
            run.clear()
        if _fails(act) and _says_something(act):
            run.append(act)
    for run in by_tool.values():
        yield from _same_errors(run)


def _same_errors(run: Sequence[Act]) -> Iterator[Diagnosis]:
    if len(run) >= _RUNNING and run[0].step != run[-1].step:
        yield _found("stuck_on_error", run[1:], f"{run[0].call.name} failed {len(run)} times with the same error", 0.7)


def _in_succession(reading: Reading) -> Iterator[Diagnosis]:
    run: list[Act] = []
    for act in (*reading.acts, None):
        if act is not None and _fails(act) and (not run or run[-1].call.name == act.call.name):
            run.append(act)
            continue
        if len(run) >= _RUNNING and run[0].step != run[-1].step:
            yield _found("stuck_on_error", run[1:], f"{run[0].call.name} failed {len(run)} times running", 0.7)
        run = [act] if act is not None and _fails(act) else []


def _failing(acts: Sequence[Act]) -> Iterator[list[Act]]:
    run: list[Act] = []
    for act in acts:
        if run and not (_fails(act) and _error(act) == _error(run[-1]) and _nearly_equal(run[-1], act)):
            yield run
            run = []
        if _fails(act) and _says_something(act):
            run.append(act)
    yield run


def _fails(act: Act) -> bool:
    return act.told_error is not None


def _says_something(act: Act) -> bool:
    return len(_LETTERS.findall(_error(act))) >= _SAID


def _error(act: Act) -> str:
    """The kind of an error, without the numbers and quotations that name the arguments."""
    told = act.told_error
    if told is None:
        return ""
    told = told if act.failed else " ".join(texts(opened(told)))
    return settled(_VARYING.sub("~", told[-_HEAD:].casefold()))


def _nearly_equal(first: Act, second: Act) -> bool:
    return overlap(first.asked, second.asked) >= _NEARLY_THE_SAME


def _for_nothing(reading: Reading) -> Iterator[Diagnosis]:
    frames = _frames(reading.acts)
    run: list[Act] = []
    for act in (*reading.acts, None):
        echo = act is not None and _is_echo(act, frames.get(act.call.name, frozenset()))
        if act is not None and echo and (not run or _follows(run[-1], act)):
            run.append(act)
            continue
        if len(run) >= REPEATS:
            evidence = (
                f"{run[0].call.name}: {len(run)} calls nearly alike, and the answers repeat the agent's own words"
            )
            yield _found("echoed_call", run[1:], evidence, 0.7)
        run = [act] if act is not None and echo else []


def _reworded(reading: Reading) -> Iterator[Diagnosis]:
    """Queries that ask with just the words of an earlier one, in another order or with other marks."""
    said = [reading.moments[step.index] for step in reading.steps if step.source == "user"]
    asked: dict[tuple[str, frozenset[str], int], list[Act]] = {}
    for act in reading.acts:
        words = query(act)
        if words is not None and not act.failed:
            asked.setdefault((act.call.name, words, bisect(said, act.moment)), []).append(act)
    for (name, _, _), acts in asked.items():
        if len({act.key for act in acts}) > 1 and acts[0].step != acts[-1].step:
            yield _found("repeated_call", acts[1:], f"{name} is asked again with the words of an earlier query", 0.6)


def query(act: Act, fewest: int = _FEWEST_WORDS_ASKED_AGAIN) -> frozenset[str] | None:
    """The words of a call that has one text of several words and nothing else to ask with."""
    values = list((act.call.arguments or {}).values())
    if len(values) != 1 or not isinstance(values[0], str) or not COMMANDS.isdisjoint(act.call.arguments or ()):
        return None  # in a command the marks and the order matter
    words = frozenset(atoms(values[0]))
    return words if len(words) >= fewest and " " in values[0] else None


def _follows(earlier: Act, later: Act) -> bool:
    alike = earlier.call.name == later.call.name and later.number == earlier.number + 1
    return alike and earlier.step != later.step and overlap(earlier.asked, later.asked) >= _ECHOED_ALIKE


def _frames(acts: Sequence[Act]) -> dict[str, frozenset[str]]:
    """By tool: the words that all its answers have, of three and more."""
    answers: dict[str, list[frozenset[str]]] = {}
    for act in acts:
        if act.seen is not None and not act.failed and _CODE in (act.call.arguments or {}):
            answers.setdefault(act.call.name, []).append(_message_atoms(act))
    return {name: frozenset.intersection(*some) for name, some in answers.items() if len(some) >= REPEATS}


def _message_atoms(act: Act) -> frozenset[str]:
    return frozenset(() if act.seen is None else atoms("\n".join(texts(act.seen.content))[:_LONGEST]))


def _is_echo(act: Act, frame: frozenset[str]) -> bool:
    """Whether an answer is, but for a frame around it, what the call itself says."""
    if act.seen is None or act.failed or _CODE not in (act.call.arguments or {}):
        return False
    message = _message_atoms(act)
    return len(message) >= _SHORTEST and len(message - frame - act.asked) < INFORMATIVE


def _found(kind: Kind, repeats: Sequence[Act], evidence: str, confidence: float) -> Diagnosis:
    steps = list(dict.fromkeys(act.step for act in repeats))
    return useless_repeats(kind, steps, evidence, confidence, STUCK_VERSION)


class Stuck:
    """Loop trap beyond equal calls: stuck on one error, or repeating nearly the same question to nobody.

    `stuck_on_error` counts: a tool that failed three times with the same error on nearly the same arguments, without a
    success between; or twice on equal arguments, and it never succeeded afterwards, unless the second was one more try
    at once, after which another call succeeded. Other tools may be called meanwhile. So does one tool that failed five
    times in direct succession, whatever the errors were: each try changed something, and none brought the agent on; or
    five times with the same error on any arguments, without a success of it between. `echoed_call` counts: three calls
    of one tool in direct succession that are nearly the same, and whose answers only repeat what the agent itself had
    written (code that prints a question to a colleague, who is never called); the words that all answers of the tool
    have in common are its frame, and tell nothing. `repeated_call` counts: a query of several words that has just the
    words of an earlier one, in another order or with other marks, while the user said nothing: it can bring nothing
    new. An answer that says that it is an error without being flagged as one (`{"error": ...}`) is a failure here.

    Does not count: fewer than five other errors (something was learnt), a success between, a test run again after an
    edit, an error without words (a search that finds nothing), and what is found as an equal repeat (see `loop_trap`).

    Origin: the first useless repeat. Dependent steps: the later ones.
    """

    name: ClassVar[str] = "stuck"
    version: ClassVar[str] = STUCK_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        looping = loops(evidence)
        looped = {step for one in looping for step in (one.origin_step, *one.dependent_steps) if step is not None}
        return stuck_calls(read(evidence), looped)


BARREN_VERSION: Final = "4"
_FEWEST: Final = 5
_FEWEST_EQUAL: Final = 4
"""Of queries whose answers have just the same words."""
_STEPS: Final = 3
_ALIKE_ANSWERS: Final = 0.8
_REWORDED: Final = 0.4
"""Of a query, whose words have synonyms; what the answers bring decides."""
_ASKED: Final = 2 / 3
_FEWEST_WORDS_REWORDED: Final = 2
"""Of a query that may be a reworded one."""
_AGAIN: Final = 4
_REMEMBERED: Final = 16
"""Earlier calls of a tool that a call is compared with; so many keep the time linear."""


def barren_stretches(reading: Reading, looped: Collection[int]) -> Iterator[Diagnosis]:
    """One finding a stretch. `looped`: steps that are known to be in an equal loop."""
    if len(reading.acts) < _FEWEST_EQUAL:
        return
    for stretch in _stretches(reading):
        steps = list(dict.fromkeys(act.step for act in stretch))
        fewest = _FEWEST_EQUAL if _are_answered_alike(stretch) else _FEWEST
        if len(stretch) >= fewest and len(steps) >= _STEPS and not set(looped) & set(steps):
            names = ", ".join(dict.fromkeys(act.call.name for act in stretch))
            evidence = f"{len(stretch)} calls running ({names}) ask nearly the same as before and tell nothing new"
            yield useless_repeats("barren_calls", steps, evidence, 0.7, BARREN_VERSION)


def asked_again(reading: Reading, looped: Collection[int]) -> Iterator[Diagnosis]:
    """One finding a call. `looped`: steps that are known to be in a loop."""
    if len(reading.acts) < _AGAIN:
        return
    said = [reading.moments[step.index] for step in reading.steps if step.source == "user" and step.message]
    asked: dict[tuple[int, int, str], list[Act]] = {}
    wrote = 0
    for act in reading.acts:
        if act.tool is None or act.writes:
            wrote += not act.failed  # of a tool that nobody declared it is not known what it changes
        elif act.seen is not None and not act.failed and not hands_in(act.call.name):
            asked.setdefault((bisect(said, act.moment), wrote, act.call.name), []).append(act)
    for some in asked.values():
        for acts in _equal(some) if len(some) >= _AGAIN else ():
            steps = list(dict.fromkeys(act.step for act in acts))
            if len(steps) >= _AGAIN and set(looped).isdisjoint(steps):
                evidence = f"{acts[0].call.name}: {len(acts)} times with the same answer, and nothing had changed"
                yield useless_repeats("repeated_call", steps[1:], evidence, 0.6, BARREN_VERSION)


def _equal(acts: Sequence[Act]) -> Iterator[list[Act]]:
    """Those that ask for the same, in groups that were answered the same."""
    asked: dict[str, list[Act]] = {}
    for act in acts:
        asked.setdefault(act.gist_key, []).append(act)
    for some in asked.values():
        answered: dict[str | None, list[Act]] = {}
        for act in some if len(some) >= _AGAIN else ():
            answered.setdefault(act.answer_key, []).append(act)
        yield from answered.values()


def _stretches(reading: Reading) -> Iterator[list[Act]]:
    candidates = [
        run for run in _repeating(reading) if len(run) >= _FEWEST_EQUAL and len({act.step for act in run}) >= _STEPS
    ]
    if not candidates:
        return  # mostly so, and what follows costs more
    tools = {act.call.name for run in candidates for act in run}
    first = _first_answers([act for act in reading.acts if act.call.name in tools])
    fresh = [act for run in candidates for act in run if act.number in first]
    news = new_atoms(reading, [act for act in fresh if not act.failed])
    informative = {act.number for act in fresh if news.get(act.number, 1)}
    for candidate in candidates:
        run: list[Act] = []
        for act in candidate:
            if act.number not in informative and _tells(act):
                run.append(act)
                continue
            yield run
            run = []
        yield run


def _are_answered_alike(stretch: Sequence[Act]) -> bool:
    """Whether all are queries of several words that got the same words as answer."""
    return all(map(_is_worded, stretch)) and len({frozenset(atoms(act.answer or "")) for act in stretch}) == 1


def _repeating(reading: Reading) -> Iterator[list[Act]]:
    """Calls in direct succession that each ask nearly the same as an earlier call of their tool."""
    said = [reading.moments[step.index] for step in reading.steps if step.source == "user" and step.message]
    earlier: dict[str, deque[frozenset[str]]] = {}
    run: list[Act] = []
    turn = 0
    for act in reading.acts:
        now = bisect(said, act.moment)
        before = earlier.setdefault(act.call.name, deque(maxlen=_REMEMBERED))
        least = _REWORDED if _is_worded(act) else _ALIKE_ANSWERS
        repeats = not hands_in(act.call.name) and (
            any(are_alike(act.asked, one, least) for one in before)
            or (found_nothing(act.seen) and _known(act, before) >= _ASKED)
        )
        if not repeats or now != turn:
            yield run
            run = []
        if repeats:
            run.append(act)
        turn = now
        before.appendleft(act.asked)  # the latest is the likeliest to be asked again
    yield run


def _known(act: Act, before: Collection[frozenset[str]]) -> float:
    """The share of a call's words that earlier ones had asked for."""
    return len(act.asked & frozenset[str]().union(*before)) / len(act.asked) if act.asked else 0.0


def _is_worded(act: Act) -> bool:
    """Whether the call asks with words, of which few can be a whole question, and is answered by some."""
    words = query(act, _FEWEST_WORDS_REWORDED) or ()
    return len([word for word in words if not word.isdecimal()]) >= _FEWEST_WORDS_REWORDED and bool(
        atoms(act.answer or "")
    )


def _first_answers(acts: Sequence[Act]) -> frozenset[int]:
    """The number of the first call of each tool and answer."""
    found: dict[tuple[str, str | None], int] = {}
    for act in acts:
        found.setdefault((act.call.name, act.answer_key), act.number)
    return frozenset(found.values())


def _tells(act: Act) -> bool:
    """Whether an answer is recorded and says something: of a command, that it printed nothing does not."""
    if act.answer is None:
        return False
    return act.failed or COMMANDS.isdisjoint(act.call.arguments or ()) or len(atoms(act.answer)) >= INFORMATIVE


class UninformativeRepeats:
    """Loop trap by what calls bring: a stretch of calls that ask nearly what was asked before, and bring nothing new.

    `barren_calls` counts: at least five calls in direct succession (four queries, where all answers have the same
    words), in three steps or more, each of which asks nearly the same as an earlier call of its tool (its words overlap
    by four fifths, those of a query by two fifths), and was answered by what an earlier call of the tool had been
    answered, or by words that were all known. Other arguments, a reworded query or an edit that only repeats an earlier
    one do not hide it, and neither do two such threads that take turns. Where nothing was found each time, it is enough
    that two thirds of the words had been asked for before, in whichever calls of the tool: the same thing is asked for
    under other names.

    `repeated_call` counts here: a read that is made four times and answered the same each time, while the user said
    nothing and nothing was written, whatever other reads stand between.

    Does not count: a command that printed next to nothing, handing in, a stretch that the user's words end or that an
    equal repeat explains already (see `loop_trap` and `stuck`).

    Origin: the first useless repeat. Dependent steps: the later ones.
    """

    name: ClassVar[str] = "barren"
    version: ClassVar[str] = BARREN_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        looped = _steps(loops(evidence))
        stretches = tuple(barren_stretches(reading, looped))
        return (*stretches, *asked_again(reading, looped | _steps(stretches)))


def _steps(found: Sequence[Diagnosis]) -> set[int]:
    return {step for one in found for step in (one.origin_step, *one.dependent_steps) if step is not None}
