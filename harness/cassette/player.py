"""Plays a tape to one trial: a right answer or an honest miss, never a wrong answer.

An answer is given only for the same call after the same writes. Reads may be repeated, left out, added and reordered
between writes; a write that was dropped or changed leads to a state of its own, in which only what was recorded in it
is answered. A *lenient* player falls back to the same call at the nearest earlier state: an answer that may be
wrong, and is counted as such.
"""

from collections import defaultdict
from dataclasses import dataclass
from threading import Lock
from typing import Literal

from harness.cassette.keys import CallKey, StateChain
from harness.cassette.nearest import Nearest, nearest
from harness.cassette.recording import Recording
from harness.cassette.tape import Tape
from harness.frozen import canonical_json


@dataclass(frozen=True, kw_only=True)
class Played:
    """A recorded answer; `exact_reused`: all answers of this read have been given, the last one is given again."""

    recording: Recording
    tier: Literal["exact", "exact_reused", "earlier_state"]


@dataclass(frozen=True, kw_only=True)
class Missed:
    """No recording answers the call."""

    call: CallKey
    nearest: tuple[Nearest, ...]

    @property
    def message(self) -> str:
        """Says what was asked and what there is, for the agent's developer."""
        said = [f"no recording answers {self.call.tool}({self.call.arguments}) after the writes made so far"]
        said += [f"nearest: {item.tool}({canonical_json(item.arguments)}): {item.difference}" for item in self.nearest]
        if not self.nearest:
            said.append(f"nothing was recorded of {self.call.tool}")
        return "; ".join(said)


class Player:
    """One trial's place on a tape; may be used from several threads."""

    def __init__(self, tape: Tape, *, lenient: bool = False, chain: StateChain | None = None) -> None:
        """`chain`: shared with other players of the trial; None: of its own."""
        self._tape = tape
        self._lenient = lenient
        self._passed: defaultdict[str, list[str]] = defaultdict(list)
        self._chain = StateChain() if chain is None else chain
        self._given: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._used: set[tuple[str, str, int]] = set()
        self._lock = Lock()

    def play(self, call: CallKey) -> Played | Missed:
        """The answer to the call where the trial stands. A write moves the state on, also where none answers it."""
        with self._lock:
            state = self._chain.state(call.server)
            answers = self._tape.answers(call.key, state)
            number = self._given[call.key, state]
            self._given[call.key, state] += 1
            writes, passed = self._chain.writes(call.server), tuple(self._passed[call.server])
            if call.effect == "write":
                self._passed[call.server].append(state)
                self._chain.advance(call)
            if number < len(answers):
                self._used.add(answers[number].place)
                return Played(recording=answers[number], tier="exact")
        if answers and call.effect == "read":
            return Played(recording=answers[-1], tier="exact_reused")
        earlier = self._earlier(call, state, writes, passed) if self._lenient else None
        if earlier is not None:
            with self._lock:
                self._used.add(earlier.place)
            return Played(recording=earlier, tier="earlier_state")
        return Missed(call=call, nearest=nearest(self._tape, call))

    def _earlier(self, call: CallKey, state: str, writes: int, passed: tuple[str, ...]) -> Recording | None:
        """The last recording of the call at a state this trial has passed, else after the most writes up to now."""
        for known in (state, *reversed(passed)):
            answers = self._tape.answers(call.key, known)
            if answers:
                return answers[-1]
        elsewhere = [
            item for item in self._tape.of_tool(call.tool) if item.mark.key == call.key and item.mark.writes <= writes
        ]
        return max(elsewhere, key=lambda item: item.mark.writes, default=None)

    def unused(self) -> int:
        """How many recordings this trial has not asked for."""
        with self._lock:
            return len(self._tape) - len(self._used)
