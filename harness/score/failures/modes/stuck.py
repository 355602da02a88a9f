"""Loop trap beyond equal calls: stuck on one error, or repeating nearly the same question to nobody.

`stuck_on_error` counts: a tool that failed three times with the same error on nearly the same arguments, without a
success between; or twice on equal arguments, and it never succeeded afterwards, unless the second was one more try at
once, after which another call succeeded. Other tools may be called meanwhile.
So does one tool that failed five times in direct succession, whatever the errors were: each try changed something, and
none brought the agent on; or five times with the same error on any arguments, without a success of it between.
`echoed_call` counts: three calls of one tool in direct succession that are nearly the same, and whose answers only
repeat what the agent itself had written (code that prints a question to a colleague, who is never called); the words
that all answers of the tool have in common are its frame, and tell nothing. `repeated_call` counts: a query of several
words that has just the words of an earlier one, in another order or with other marks, while the user said nothing: it
can bring nothing new. An answer that says that it is an error without being flagged as one (`{"error": ...}`) is a
failure here.

Does not count: fewer than five other errors (something was learnt), a success between, a test run again after an edit,
an error without words (a search that finds nothing), and what is found as an equal repeat (see `loop_trap`).

Origin: the first useless repeat. Dependent steps: the later ones.
"""

import re
from bisect import bisect
from collections.abc import Collection, Iterator, Sequence
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis, Kind
from harness.score.evidence import Evidence
from harness.score.failures.modes.loop_trap import loops, useless_repeats
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.grounding import atoms, texts
from harness.score.failures.signals.progress import INFORMATIVE
from harness.score.failures.signals.reading import Reading, read
from harness.score.failures.signals.repetition import overlap, settled
from harness.score.failures.signals.told_errors import opened

VERSION: Final = "6"
REPEATS: Final = 3
_RUNNING: Final = 5
"""Failures in direct succession; runs that reached their goal had three at most."""
_ALIKE: Final = 0.5
"""Jaccard index of two calls' atoms from which on they ask for nearly the same."""
_VARYING: Final = re.compile(r"\d+|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|0x[0-9a-f]+")
_HEAD: Final = 300
_LETTERS: Final = re.compile(r"[a-z]{3,}")
_SAID: Final = 3
"""Words that an error needs to say something."""
_CODE: Final = "code"
COMMANDS: Final = frozenset({"command", "cmd", "code", "script", "commands", "action"})
_WORDS: Final = 4
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
    return overlap(first.asked, second.asked) >= _ALIKE


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


def query(act: Act, fewest: int = _WORDS) -> frozenset[str] | None:
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
    return useless_repeats(kind, steps, evidence, confidence, VERSION)


class Stuck:
    """The same failure, or empty repeats, outside of what is a loop already."""

    name: ClassVar[str] = "stuck"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        looping = loops(evidence)
        looped = {step for one in looping for step in (one.origin_step, *one.dependent_steps) if step is not None}
        return stuck_calls(read(evidence), looped)
