"""Normalises generated values while an existing cassette is recorded again: every agent receives the same ids and
times.

A service generates new ids and times for every trial. The agent receives the cassette's values while it is recorded,
because a replay returns them: its model's replies then match a replay. Requests to the service contain the current
values in their place; an answer that is new to the cassette is stored with the values that it would have had.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue

from harness.cassettes.bindings import Bindings, IdentityKinds, Place, place_of
from harness.cassettes.cassette import Cassette
from harness.cassettes.recordings import Recording
from harness.cassettes.transience import is_failure
from harness.cassettes.trial_recording import CallPosition
from harness.cassettes.volatility import (
    ValueChange,
    changes,
    decoded,
    is_declared,
    is_identity,
    is_time_or_trace,
    json_in,
)

_SHORTEST = 4
"""A shorter text is distinguished by its field only."""
_IN_TEXTS = 8
"""A text or number of at least this many characters is also replaced inside longer texts, if it does not occur by
chance.
"""
_TIME = re.compile(r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?$|^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \w+$")
_LAYOUTS: Final[tuple[tuple[int | None, tuple[str, str]], ...]] = (
    (None, (",", ":")),
    (None, (", ", ": ")),
    (2, (",", ": ")),
    (4, (",", ": ")),
)
"""Indentation and separators of JSON inside of texts."""
_OPAQUE = re.compile(r"^(?=.*\d)[^\s]{6,200}$")


@dataclass(frozen=True, kw_only=True)
class NormalisedAnswer:
    """The answer that the agent receives in place of the current one, and the part of it that is stored."""

    status: int
    headers: Mapping[str, str] | None
    """None: the current ones."""
    body: bytes
    today: bytes
    """The current body, with the values of the cassette."""
    held: Recording | None = None
    """The recording that is kept unchanged; None: the current answer is recorded."""


@dataclass(kw_only=True)
class Normalisation:
    """The mapping of one trial between current values and values of the cassette."""

    cassette: Cassette
    declared: Mapping[str, Sequence[str]]
    """Tool -> JSON pointers to what its answers are declared to change by themselves."""
    refresh: bool
    """Whether an answer that differs in other values too is returned unchanged."""
    kinds: IdentityKinds = field(default_factory=IdentityKinds)
    """Of the parameters of the suite's tools."""
    levelled: int = 0
    _today: Bindings = field(init=False)
    """Value of the cassette -> current value, as texts; numbers are texts of their digits."""
    _recorded: Bindings = field(init=False)

    def __post_init__(self) -> None:
        self._today = Bindings(kinds=self.kinds)
        self._recorded = Bindings(kinds=self.kinds)

    def holds(self, position: CallPosition) -> Recording | None:
        """The cassette's answer to the call."""
        answers = self.cassette.answers(position.call.key, position.state)
        if position.occurrence >= len(answers) or is_failure(answers[position.occurrence]):
            return None
        return answers[position.occurrence]

    def may_change(self, position: CallPosition) -> bool:
        """Whether the agent may receive a changed answer to the call."""
        return bool(self._recorded.values) or self.holds(position) is not None

    def sent(self, value: JsonValue, tool: str = "") -> JsonValue:
        """Arguments of the agent for `tool`, with current values."""
        self._note_identities(value, tool)
        return _translated(value, self._today, Place(tool=tool))

    def sent_text(self, text: str) -> str:
        """The same for an address, or for a body that is not JSON."""
        return _translated_text(text, self._today, None)

    def sent_body(self, body: bytes) -> bytes:
        """The body of a request, likewise; byte for byte the same if it contains no value of the cassette."""
        if not self._today.values or not body:
            return body
        plain = decoded(body)
        sent = _translated(plain, self._today, Place())
        if sent == plain:
            return body
        return sent.encode() if isinstance(sent, str) else json.dumps(sent, ensure_ascii=False).encode()

    def given(self, position: CallPosition, status: int, body: bytes, redacted: bytes) -> NormalisedAnswer:
        """The form of a current answer that the agent receives; `redacted` is the form that would be stored."""
        held = self.holds(position)
        if held is None or (held.status, held.body) == (status, redacted):
            normalised = body if held is not None else self.normalised(body, position.call.tool)
            return NormalisedAnswer(status=status, headers=None, body=normalised, today=normalised)
        known = held.status == status and self.learn(position.call.tool, decoded(body), decoded(held.body))
        self.levelled += known
        today = self.normalised(body, position.call.tool)
        if not known and self.refresh:
            return NormalisedAnswer(status=status, headers=None, body=today, today=today)
        kept = held if known else None
        return NormalisedAnswer(status=held.status, headers=held.headers, body=held.body, today=today, held=kept)

    def learn(self, tool: str, today: JsonValue, recorded: JsonValue) -> bool:
        """Stores which values correspond; returns whether nothing else differs. `tool` gave `today` where it had given
        `recorded`.
        """
        self._note_identities(_in_both(today, recorded), tool)
        differences = list(changes(today, recorded))
        unlike = [one for one in differences if not self._is_volatile(tool, one)]
        for one in differences:
            if one not in unlike or _is_opaque(one):
                self._bind(one, place_of(tool, one.path))
        for one in filter(self._is_bound, unlike):  # the same pair under a name that does not tell
            self._bind(one, place_of(tool, one.path))
        return bool(differences) and all(self._is_bound(one) for one in unlike)

    def recorded_value(self, value: JsonValue, tool: str) -> JsonValue:
        """A current value with the values of the cassette; `tool` names what it is of, such as a table."""
        return _translated(value, self._recorded, Place(tool=tool))

    def knows(self, text: str) -> bool:
        """Whether the current value that corresponds to this value of the cassette is known."""
        return text in self._today.values

    def normalised(self, body: bytes, tool: str = "") -> bytes:
        """A current answer of `tool`, with the values of the cassette."""
        if not self._recorded.values:
            return body
        plain = decoded(body)
        mapped = _translated(plain, self._recorded, Place(tool=tool))
        if mapped == plain:
            return body
        if isinstance(mapped, str):
            return mapped.encode("utf-8", "replace")
        return json.dumps(mapped, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    def _note_identities(self, value: JsonValue, tool: str) -> None:
        for values in (self._today, self._recorded):
            _note_identities(value, values, Place(tool=tool))

    def _is_volatile(self, tool: str, change: ValueChange) -> bool:
        if not change.same_shape:
            return False
        name = _name(change)
        texts = [value for value in (change.before, change.after) if isinstance(value, str)]
        return (
            is_time_or_trace(name)
            or is_identity(name)
            or is_declared(change.path, self.declared.get(tool, ()))
            or change.path in self.cassette.changing(tool)
            or (len(texts) == 2 and (all(map(_TIME.match, texts)) or texts[1].startswith("<secret:")))
        )

    def _is_bound(self, change: ValueChange) -> bool:
        """Whether the difference concerns a value that occurs elsewhere as an identity or a time."""
        return self._recorded.is_pair(_scalar_text(change.before), _scalar_text(change.after))

    def _bind(self, change: ValueChange, place: Place) -> None:
        today, recorded = _scalar_text(change.before), _scalar_text(change.after)
        if not today or not recorded or (not today.isdigit() and len(today) < _SHORTEST):
            return
        self._recorded.bind(today, recorded, place)
        self._today.bind(recorded, today, place)


def _is_opaque(change: ValueChange) -> bool:
    """A generated name under a field of any name: it is translated, and still counts as a difference."""
    return all(isinstance(one, str) and _OPAQUE.match(one) for one in (change.before, change.after))


def _scalar_text(value: JsonValue) -> str:
    if isinstance(value, bool):
        return ""
    return str(value) if isinstance(value, str | int | float) else ""


def _name(change: ValueChange) -> str:
    """The nearest member's name."""
    return next((step for step in reversed(change.path) if not step.isdigit()), "")


def _in_both(today: JsonValue, recorded: JsonValue) -> JsonValue:
    """What is equal in both, without the rest."""
    match today, recorded:
        case dict(), dict():
            return {name: _in_both(value, recorded[name]) for name, value in today.items() if name in recorded}
        case list(), list():
            return [_in_both(one, other) for one, other in zip(today, recorded, strict=False)]
        case _:
            return today if _scalar_text(today) == _scalar_text(recorded) else None


def _note_identities(value: JsonValue, values: Bindings, place: Place) -> None:
    """Notes the identities that are known before a value of the same form is learnt for another kind."""
    match value:
        case list():
            for item in value:
                _note_identities(item, values, place)
        case dict():
            for key, item in value.items():
                _note_identities(item, values, place.below(key))
        case _:
            values.keep(_scalar_text(value), place)


def _translated(value: JsonValue, values: Bindings, place: Place) -> JsonValue:
    match value:
        case int() | float() if not isinstance(value, bool):
            return _translated_number(value, values, place)
        case str():
            inner = json_in(value)
            if inner is None:
                return _translated_text(value, values, place)
            mapped = _translated(inner, values, place)
            return value if mapped == inner else _laid_out_like(value, inner, mapped)
        case list():
            return [_translated(item, values, place) for item in value]
        case dict():
            return {key: _translated(item, values, place.below(key)) for key, item in value.items()}
        case _:
            return value


def _laid_out_like(text: str, plain: JsonValue, mapped: JsonValue) -> str:
    """`mapped` as JSON in the layout that the text has, which is `plain`; compact if the layout is another."""
    for indent, separators in _LAYOUTS:
        for ascii_only in (False, True):
            if json.dumps(plain, ensure_ascii=ascii_only, indent=indent, separators=separators) == text:
                return json.dumps(mapped, ensure_ascii=ascii_only, indent=indent, separators=separators)
    return json.dumps(mapped, ensure_ascii=False, separators=_LAYOUTS[0][1])


def _translated_number(value: float, values: Bindings, place: Place) -> JsonValue:
    found = values.values.get(str(value))
    if found is not None and len(found) < _IN_TEXTS:
        found = values.named(str(value), place)
    if found is None:
        return value
    try:
        return int(found) if isinstance(value, int) else float(found)
    except ValueError:
        return value


def _translated_text(text: str, values: Bindings, place: Place | None) -> str:
    """`place` None: the text is the value of no member."""
    whole = values.values.get(text)
    if whole is not None and len(text) < _SHORTEST:
        whole = None if place is None else values.named(text, place)
    if whole is not None:
        return whole
    for one, other in values.values.items():
        if len(one) >= _IN_TEXTS and one in text:
            text = text.replace(one, other)
    return _steps(text, values) if "/" in text else text


def _steps(text: str, values: Bindings) -> str:
    """A path: each segment is a separate value, and the one before a short one tells its kind."""
    steps = text.split("/")
    for index, step in enumerate(steps):
        if len(step) >= _SHORTEST:
            steps[index] = values.values.get(step, step)
        elif step.isdigit():
            steps[index] = values.in_path(step, steps[index - 1] if index else "") or step
    return "/".join(steps)
