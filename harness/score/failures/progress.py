"""What a call brought that is new: words in its answer that neither the task, nor an earlier answer, nor the agent had.

An agent that prints its own question learns nothing, however long the answer is.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from harness.score.failures.grounding import atoms, texts
from harness.score.failures.reading import Act, Reading

INFORMATIVE: Final = 8
"""New atoms from which on an answer is information; below, it is a frame around what was known."""


def new_atoms(reading: Reading, acts: Sequence[Act]) -> dict[int, int]:
    """Number of new atoms in the answer of each of the calls, by the call's number; 0 where none is recorded."""
    own = _OwnWords(reading)
    found = {}
    for act in acts:
        if act.seen is None or act.failed:
            found[act.number] = 0
            continue
        known = own.until(act)
        told = set(atoms("\n".join(texts(act.seen.content))))
        since = reading.sources.since
        found[act.number] = sum(atom not in known and since(atom) >= act.moment + 1 for atom in told)
    return found


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
            call = acts[self._act].call
            self._take([call.unparsed or ""] if call.arguments is None else texts(call.arguments))
            self._act += 1
        return self._words

    def _take(self, told: Iterable[str]) -> None:
        for text in told:
            self._words.update(atoms(text))
