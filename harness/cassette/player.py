"""Plays a cassette to one trial: a right answer or an honest miss, never a wrong answer.

An answer is given only for the same call after the same writes. Reads may be repeated, left out, added and reordered
between writes; a write that was dropped or changed leads to a state of its own, in which only what was recorded in it
is answered. A *lenient* player falls back to the same call at the nearest earlier state: an answer that may be
wrong, and is counted as such.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Literal

from harness.cassette.cassette import Cassette
from harness.cassette.keys import CallKey
from harness.cassette.nearest import Nearest, nearest
from harness.cassette.recording import Recording
from harness.cassette.state import StateChain
from harness.cassette.volatility import is_declared
from harness.values import canonical_json


@dataclass(frozen=True, kw_only=True)
class Played:
    """A recorded answer.

    `exact_reused`: all answers of this read have been given, and the last one is given again, since nothing tells that
    the tool's answers change by themselves. `volatile_reused`: they do, but only in what the suite declares volatile.
    """

    recording: Recording
    tier: Literal["exact", "exact_reused", "volatile_reused", "earlier_state"]
    once_recorded: bool = False
    """Given again, of a tool that was never asked the same twice while it was recorded: whether its answers change by
    themselves is not known."""


@dataclass(frozen=True, kw_only=True)
class Missed:
    """No recording answers the call."""

    call: CallKey
    nearest: tuple[Nearest, ...]
    note: str | None = None
    """What kept an answer from being given, and what to declare; None: there is nothing more to say."""

    @property
    def message(self) -> str:
        """Says what was asked and what there is, for the agent's developer."""
        said = [f"no recording answers {self.call.tool}({self.call.arguments}) after the writes made so far"]
        said += [f"nearest: {item.tool}({canonical_json(item.arguments)}): {item.difference}" for item in self.nearest]
        if not self.nearest:
            said.append(f"nothing was recorded of {self.call.tool}")
        said += [] if self.note is None else [self.note]
        return "; ".join(said)


class Player:
    """One trial's place on a cassette; may be used from several threads."""

    def __init__(
        self,
        cassette: Cassette,
        *,
        lenient: bool = False,
        chain: StateChain | None = None,
        volatile: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """`chain`: shared with other players of the trial; None: of its own.

        `volatile`: tool -> JSON pointers to what its answers are declared to change by themselves.
        """
        self._volatile = {} if volatile is None else volatile
        self._cassette = cassette
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
            doubtful = self._is_doubtful(call, state)
            answers = [] if doubtful else self._cassette.answers(call.key, state)
            number = self._given[call.key, state]
            self._given[call.key, state] += 1
            writes, passed = self._chain.writes(call.server), tuple(self._passed[call.server])
            if call.effect == "write":
                self._passed[call.server].append(state)
                self._chain.advance(call)
            if number < len(answers):
                self._used.add(answers[number].place)
                return Played(recording=answers[number], tier="exact")
        restless = self._restless(call) if answers and call.effect == "read" else False
        if answers and call.effect == "read" and not restless:
            tier: Literal["exact_reused", "volatile_reused"] = "volatile_reused" if restless is None else "exact_reused"
            once = tier == "exact_reused" and not self._cassette.was_repeated(call.tool)
            return Played(recording=answers[-1], tier=tier, once_recorded=once)
        earlier = self._earlier(call, state, writes, passed) if self._lenient else None
        if earlier is not None:
            with self._lock:
                self._used.add(earlier.place)
            return Played(recording=earlier, tier="earlier_state")
        note = self._note(call, len(answers), restless=bool(restless))
        return Missed(call=call, nearest=nearest(self._cassette, call), note=note)

    def _is_doubtful(self, call: CallKey, state: str) -> bool:
        """Whether the answers may be those after a write to another server that was not made, or the other way round.

        Only recordings that do not tell what was written elsewhere: newer ones have a state of their own for it.
        """
        names = self._chain.names
        if call.server not in names.undeclared or not self._cassette.written - {names.of(call.server)}:
            return False
        return any(one.mark.elsewhere is None for one in self._cassette.answers(call.key, state))

    def _restless(self, call: CallKey) -> bool | None:
        """Whether the tool's answers change by themselves; None: only in what is declared volatile."""
        if self._cassette.recordings and self._cassette.recordings[0].mark.kind == "model":
            return False  # a model is asked again for another sample of the same
        changing = self._cassette.changing(call.tool)
        declared = self._volatile.get(call.tool, ())
        if not changing:
            return None if declared else False
        return None if all(is_declared(path, declared) for path in changing) else True

    def _note(self, call: CallKey, recorded: int, *, restless: bool) -> str | None:
        if restless:
            paths = ", ".join(sorted("/" + "/".join(path) for path in self._cassette.changing(call.tool)))
            return (
                f"the {recorded} recorded answers to this call are used up, and they differ at {paths}: record the "
                f"path, or declare that as volatile: `volatile` of {call.tool} in suite.yaml"
            )
        if call.server in self._chain.names.undeclared and self._cassette.holds_key(call.key):
            return (
                f"suite.yaml does not say whether {call.server!r} shares a backend with the other servers that are "
                f"written to. If it does: `state: NAME` on each of them; if it does not: `state: {call.server}` on it"
            )
        return None

    def _earlier(self, call: CallKey, state: str, writes: int, passed: tuple[str, ...]) -> Recording | None:
        """The last recording of the call at a state this trial has passed, else after the most writes up to now."""
        for known in (state, *reversed(passed)):
            answers = self._cassette.answers(call.key, known)
            if answers:
                return answers[-1]
        elsewhere = [
            item
            for item in self._cassette.of_tool(call.tool)
            if item.mark.key == call.key and item.mark.writes <= writes
        ]
        return max(elsewhere, key=lambda item: item.mark.writes, default=None)

    def unused(self) -> int:
        """How many recordings this trial has not asked for."""
        with self._lock:
            return len(self._cassette) - len(self._used)
