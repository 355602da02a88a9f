"""What a call brought that is new: words in its answer that neither the task, nor an earlier answer, nor the agent had.

An agent that prints its own question learns nothing, however long the answer is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.grounding import atoms, texts
from harness.score.failures.signals.reading import Reading

_LETTERS: Final = 4
INFORMATIVE: Final = 8
"""New atoms from which on an answer is information; below, it is a frame around what was known."""


def new_atoms(reading: Reading, acts: Sequence[Act]) -> dict[int, int]:
    """Number of new atoms in the answer of each of the calls, by the call's number; INFORMATIVE stands for as many and
    more, 0 for an answer that is not recorded.
    """
    return dict(_new_atoms(reading, acts))


def is_informed(reading: Reading, acts: Sequence[Act]) -> bool:
    """Whether the answer of one of the calls is information; reads no further than to the first."""
    return any(count >= INFORMATIVE for _, count in _new_atoms(reading, acts))


def gives(act: Act, answer: str) -> bool:
    """Whether a call's result tells the answer, which the call itself did not contain: as a whole, or all of its words
    of four letters and more and its numbers.
    """
    if act.seen is None or act.failed:
        return False
    told = "\n".join(texts(act.seen.content)).casefold()
    words = {word for word in atoms(answer) if len(word) >= _LETTERS or word.isdecimal()}
    if words and words <= set(atoms(told)):
        return not words <= act.asked
    whole = re.compile(rf"(?<![\w.]){re.escape(answer.strip().casefold())}(?![\w.]?\w)")
    asked = act.call.unparsed or "" if act.call.arguments is None else "\n".join(texts(act.call.arguments))
    return bool(answer.strip()) and whole.search(told) is not None and whole.search(asked.casefold()) is None


def _new_atoms(reading: Reading, acts: Sequence[Act]) -> Iterator[tuple[int, int]]:
    own, since = _OwnWords(reading), reading.sources.since
    for act in acts:
        if act.seen is None or act.failed:
            yield act.number, 0
            continue
        known = own.until(act)
        fresh = set(atoms("\n".join(texts(act.seen.content)))) - known
        new = (atom for atom in fresh if since(atom) > act.moment)
        yield act.number, sum(1 for _ in islice(new, INFORMATIVE))


class _OwnWords:
    """What the agent itself had said or asked, growing step by step."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._words: set[str] = set()
        self._step = 0
        self._act = 0

    def until(self, act: Act) -> set[str]:
        """Everything up to and including the call."""
        steps, acts = self._reading.steps, self._reading.acts
        while self._step < len(steps) and self._reading.moments[steps[self._step].index] <= act.moment:
            step = steps[self._step]
            if step.source == "agent":
                self._take((step.message or "", step.thought or ""))
            self._step += 1
        while self._act < len(acts) and acts[self._act].moment <= act.moment:
            self._words |= acts[self._act].asked
            self._act += 1
        return self._words

    def _take(self, said: Iterable[str]) -> None:
        for text in said:
            self._words.update(atoms(text))
