"""Loop trap by what calls bring: a stretch of calls that ask nearly what was asked before, and bring nothing new.

`barren_calls` counts: at least five calls in direct succession (four queries, where all answers have the same words),
in three steps or more, each of which asks nearly the same as an earlier call of its tool (its words overlap by four
fifths, those of a query by two fifths), and was answered by what an earlier call of the tool had been answered, or by
words that were all known. Other arguments, a reworded query or an edit that only repeats an earlier one do not hide it,
and neither do two such threads that take turns. Where nothing was found each time, it is enough that two thirds of the
words had been asked for before, in whichever calls of the tool: the same thing is asked for under other names.

`repeated_call` counts here: a read that is made four times and answered the same each time, while the user said nothing
and nothing was written, whatever other reads stand between.

Does not count: a command that printed next to nothing, handing in, a stretch that the user's words end or that an equal
repeat explains already (see `loop_trap` and `stuck`).

Origin: the first useless repeat. Dependent steps: the later ones.
"""

from bisect import bisect
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis
from harness.score.evidence import Evidence
from harness.score.failures.modes.loop_trap import loops, useless_repeats
from harness.score.failures.modes.stuck import COMMANDS, query
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.emptiness import found_nothing
from harness.score.failures.signals.grounding import atoms
from harness.score.failures.signals.handing_over import hands_in
from harness.score.failures.signals.progress import INFORMATIVE, new_atoms
from harness.score.failures.signals.reading import Reading, read
from harness.score.failures.signals.repetition import are_alike

VERSION: Final = "4"
_FEWEST: Final = 5
_FEWEST_EQUAL: Final = 4
"""Of queries whose answers have just the same words."""
_STEPS: Final = 3
_ALIKE: Final = 0.8
_REWORDED: Final = 0.4
"""Of a query, whose words have synonyms; what the answers bring decides."""
_ASKED: Final = 2 / 3
_WORDS: Final = 2
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
            yield useless_repeats("barren_calls", steps, evidence, 0.7, VERSION)


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
                yield useless_repeats("repeated_call", steps[1:], evidence, 0.6, VERSION)


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
        least = _REWORDED if _is_worded(act) else _ALIKE
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
    words = query(act, _WORDS) or ()
    return len([word for word in words if not word.isdecimal()]) >= _WORDS and bool(atoms(act.answer or ""))


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
    """Calls that ask again and bring nothing new."""

    name: ClassVar[str] = "barren"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        looped = _steps(loops(evidence))
        stretches = tuple(barren_stretches(reading, looped))
        return (*stretches, *asked_again(reading, looped | _steps(stretches)))


def _steps(found: Sequence[Diagnosis]) -> set[int]:
    return {step for one in found for step in (one.origin_step, *one.dependent_steps) if step is not None}
