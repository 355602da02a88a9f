"""Premises that an agent recalled where it should have looked: a name that it queried, a year that it stated.

`carried_premise` counts here too, in a trial that is known to have failed and calls tools. A full name that no answer
had given is queried after other queries, and the final answer has a word that this query's answer was the first to
give: whatever the name was meant to be, the end rests on it. A year that nothing given contains is stated, and stands
again in a later step or in the final answer before any answer confirms it. Does not count: a name of one word, a name
that is partly known, the first query of all, numbers that do not stand as a year does, sentences that compute.

Origin: the query with the name, the statement of the year. Dependent steps: those that use it again, and the last.
"""

import re
from collections.abc import Iterator
from typing import Final

from harness.score.diagnosis import Diagnosis
from harness.score.failures.modes.lookups import is_answer
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.grounding import atoms, texts
from harness.score.failures.signals.prevention import check_of
from harness.score.failures.signals.reading import Reading
from harness.trace import Step

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
_LONGEST: Final = 300
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
            return _found(act.step, (last,), evidence, check_of(name, act, reading), version)
    return None


def _final(reading: Reading) -> str:
    """What the run answered in the end, else the last words of its agent."""
    output = reading.evidence.trial.trajectory.final_output
    said = (step.message for step in reversed(reading.steps) if step.source == "agent" and step.message)
    return output if isinstance(output, str) else next(said, "")


def _unknown_names(act: Act, reading: Reading) -> Iterator[str]:
    if act.writes or act.failed or act.seen is None or is_answer(act.call):
        return
    for text in texts(act.call.arguments):
        for name in _FULL_NAME.findall(text) if len(text) <= _LONGEST else ():
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
                return _found(step.index, later, evidence, f"a query about {year} before it was used", version)
    return None


def _years(step: Step) -> Iterator[str]:
    for said in (step.thought, step.message):
        for sentence in _SENTENCE.findall((said or "")[:_LONGEST_PROSE]):
            if _COMPUTES.search(sentence) is None:
                yield from _YEAR.findall(sentence)


def _says(step: Step, word: str) -> bool:
    asked = (text for call in step.calls for text in texts(call.arguments or {}))
    return any(word in text for text in (step.thought or "", step.message or "", *asked))


def _found(step: int, later: tuple[int, ...], evidence: str, prevention: str, version: str) -> Diagnosis:
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
