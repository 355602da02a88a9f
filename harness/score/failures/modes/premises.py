"""Cascading error beyond codes: a premise of the agent's own that later queries and the answer rest on.

`carried_premise` counts: in a trial that is known to have failed, a name or a number that the agent itself brought into
a call's arguments, that nothing given to it had contained before and that no answer confirmed until the next use, and
that at least two of the later calls, or one of them and the answer, contain again. Asking about it before going on
would have stopped it. Does not count: words in lower case, abbreviations of up to four letters, code, texts of a
paragraph's length, identifiers (see `cascading_error`), a name that was used once.

What an agent recalled in place of a look-up, a full name or a year, counts too: see `recalled`.

Origin: the first call that contains it. Dependent steps: the later ones, and the step that gives the answer.
"""

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis
from harness.score.evidence import Evidence
from harness.score.failures.modes.lookups import is_answer
from harness.score.failures.modes.recalled import recalled_name, recalled_year
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.grounding import atoms, texts
from harness.score.failures.signals.prevention import check_of
from harness.score.failures.signals.reading import Reading, has_failed, read

VERSION: Final = "5"
_NAME: Final = re.compile(r"\b(?:[A-Z][\w'-]{2,30}|\d{3,6})\b")
_LONGEST: Final = 300
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
            version=VERSION,
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
    for text in texts(act.call.arguments):
        if len(text) <= _LONGEST:
            for match in _NAME.findall(text):
                if not (match.isupper() and len(match) <= _ABBREVIATION):
                    yield from atoms(match)


class Premises:
    """Premises of a trial that is known to have failed, on which later steps rest."""

    name: ClassVar[str] = "premises"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        if not has_failed(evidence) or evidence.success is not False or reading.runs_code:
            return ()
        found = carried_premises(reading)
        recalled = recalled_name(reading, VERSION) or recalled_year(reading, VERSION)
        return found or (() if recalled is None else (recalled,))
