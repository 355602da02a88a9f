"""Replays a cassette to one trial: it returns the correct answer or a replay miss, never a wrong answer.

An answer is returned only for the same call after the same writes. Reads may be repeated, left out, added and reordered
between writes; a write that was dropped or changed leads to a state of its own, in which only calls recorded in that
state are answered.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Literal

from pydantic import JsonValue

from harness.cassettes.cassette import Cassette
from harness.cassettes.keys import CallKey, StateChain
from harness.cassettes.recordings import Recording
from harness.cassettes.volatility import is_declared, json_in
from harness.jsondiff import differences as json_differences
from harness.jsondiff import path_text
from harness.text import shortened
from harness.values import Frozen, canonical_json

_SHOWN = 3
_LONGEST = 1000
"""Characters of a value that are shown."""
_CONTEXT = 40
"""Characters before the first difference of two long texts."""
_LOOKED_AT = 500
"""The number of different arguments that are compared at most: a miss on a large cassette must not delay the other
trials.
"""


class Nearest(Frozen):
    """A recording similar to the call, and how it differs."""

    tool: str
    arguments: JsonValue
    difference: str
    """The first differing JSON path with both values, or that only the writes before differ."""


def nearest(cassette: Cassette, call: CallKey) -> tuple[Nearest, ...]:
    """At most three recordings of the same tool, the most similar first."""
    candidates: dict[str, Recording] = {}
    for recording in cassette.of_tool(call.tool):
        candidates.setdefault(recording.mark.key, recording)
        if len(candidates) == _LOOKED_AT:
            break
    if cassette.holds_key(call.key):
        same = next(item for item in cassette.of_tool(call.tool) if item.mark.key == call.key)
        candidates[call.key] = same
    wanted = json.loads(call.arguments)
    ranked = sorted((_similarity(wanted, recording) for recording in candidates.values()), key=lambda ranks: ranks[:2])
    return tuple(
        Nearest(tool=call.tool, arguments=arguments, difference=difference)
        for _, _, arguments, difference in ranked[:_SHOWN]
    )


def _similarity(wanted: JsonValue, recording: Recording) -> tuple[int, str, JsonValue, str]:
    arguments = json.loads(recording.arguments)
    found = list(differences(wanted, arguments))
    first = found[0] if found else "the same arguments, but after other writes"
    return len(found), recording.arguments, arguments, first


def differences(here: JsonValue, recorded: JsonValue, path: str = "$") -> Iterator[str]:
    """Every differing JSON path with both values, in a fixed order. True is not 1."""
    for one in json_differences(here, recorded):
        place, old, new = f"{path}{path_text(one.path)}", one.before, one.after
        match one.kind:
            case "removed":
                yield f"{place}: {_short_json(old)} here, absent in the recording"
            case "added":
                yield f"{place}: absent here, {_short_json(new)} in the recording"
            case "length":
                yield f"{place}: {old} items here, {new} in the recording"
            case "value" if isinstance(old, str) and isinstance(new, str):
                yield from _in_texts(old, new, place)
            case "value":
                yield f"{place}: {_short_json(old)} here, {_short_json(new)} in the recording"


def _in_texts(here: str, recorded: str, path: str) -> Iterator[str]:
    """The differences of two texts that contain JSON, such as a tool's answer in a message; of others, from the first
    different character on.
    """
    plain, other = json_in(here), json_in(recorded)
    if plain is not None and other is not None and plain != other:
        yield from (f"{path}, as JSON: {difference}" for difference in differences(plain, other))
        return
    pairs = enumerate(zip(here, recorded, strict=False))
    begins = next((at for at, (one, other) in pairs if one != other), min(len(here), len(recorded)))
    if begins <= _CONTEXT or max(len(here), len(recorded)) <= _LONGEST:
        yield f"{path}: {_short_json(here)} here, {_short_json(recorded)} in the recording"
        return
    cut = begins - _CONTEXT
    both = f"{_short_json(here[cut:])} here, {_short_json(recorded[cut:])} in the recording"
    yield f"{path}, from character {cut}: {both}"


def _short_json(value: JsonValue) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), _LONGEST)


@dataclass(frozen=True, kw_only=True)
class Played:
    """A recorded answer.

    `exact_reused`: all answers of this read have been returned, and the last one is returned again, because there is no
    sign that the tool's answers vary. `volatile_reused`: they vary, but only in values that the suite declares
    volatile.
    """

    recording: Recording
    tier: Literal["exact", "exact_reused", "volatile_reused"]


@dataclass(frozen=True, kw_only=True)
class Missed:
    """No recording answers the call."""

    call: CallKey
    nearest: tuple[Nearest, ...]
    note: str | None = None
    """Why an answer was not returned, and which declaration would allow it; None if there is no such hint."""

    @property
    def message(self) -> str:
        """Describes the call and the available recordings, for the agent's developer."""
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
        chain: StateChain | None = None,
        volatile: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """`chain`: shared with other players of the trial; None: the player has its own.

        `volatile`: tool -> JSON pointers to what its answers are declared to change by themselves.
        """
        self._volatile = {} if volatile is None else volatile
        self._cassette = cassette
        self._chain = StateChain() if chain is None else chain
        self._given: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._lock = Lock()

    def play(self, call: CallKey) -> Played | Missed:
        """Returns the answer to the call in the trial's current state. A write advances the state, even if no answer
        exists.
        """
        with self._lock:
            state = self._chain.state(call.server)
            call = self._cassette.resolved(call, state)
            answers = self._cassette.answers(call.key, state)
            if call.server in self._chain.names.undeclared and self._are_doubtful(call, answers):
                answers = []
            number = self._given[call.key, state]
            self._given[call.key, state] += 1
            if call.effect == "write":
                self._chain.advance(call)
            if number < len(answers):
                return Played(recording=answers[number], tier="exact")
        restless = self._changes_by_itself(call) if answers and call.effect == "read" else False
        if answers and call.effect == "read" and not restless:
            tier: Literal["exact_reused", "volatile_reused"] = "volatile_reused" if restless is None else "exact_reused"
            return Played(recording=answers[-1], tier=tier)
        note = self._answer_note(call, len(answers), restless=bool(restless))
        return Missed(call=call, nearest=nearest(self._cassette, call), note=note)

    def _are_doubtful(self, call: CallKey, answers: Sequence[Recording]) -> bool:
        """Whether recorded answers of a server that does not declare its state may depend on a write to another server
        that this trial has not made, or the reverse.

        This concerns only recordings that do not store the writes to other servers: newer ones have a separate state
        for them.
        """
        others = self._cassette.written - {self._chain.name_of(call.server)}
        return bool(others) and any(one.mark.elsewhere is None for one in answers)

    def _changes_by_itself(self, call: CallKey) -> bool | None:
        """Whether the tool's answers change by themselves; None: only in values declared volatile."""
        if self._cassette.recordings and self._cassette.recordings[0].mark.kind == "model":
            return False  # the same model request may be repeated for another sample
        changing = self._cassette.changing(call.tool)
        declared = self._volatile.get(call.tool, ())
        if not changing:
            return None if declared else False
        return None if all(is_declared(path, declared) for path in changing) else True

    def _answer_note(self, call: CallKey, recorded: int, *, restless: bool) -> str | None:
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
