"""Normalises generated values while an existing cassette is recorded again: every agent receives the same ids and
times.

A service generates new ids and times for every trial. The agent receives the cassette's values while it is recorded,
because a replay returns them: its model's replies then match a replay. Requests to the service contain the current
values in their place; an answer that is new to the cassette is stored with the values that it would have had.
"""

import json
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final

from harness.cassette.cassette import Cassette
from harness.cassette.recorder.merging import is_failure
from harness.cassette.recorder.trial_recording import CallPosition
from harness.cassette.recording import Recording
from harness.cassette.volatility import (
    ValueChange,
    changes,
    decoded,
    is_declared,
    is_identity,
    is_time_or_trace,
    json_in,
)
from harness.values import JsonValue

_SHORTEST = 4
"""A shorter text is distinguished by its field only."""
_IN_TEXTS = 8
"""A text or number of at least this many characters is also replaced inside longer texts, where it does not occur by
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
    levelled: int = 0
    _today: dict[str, str] = field(default_factory=dict)
    """Value of the cassette -> current value, as texts; numbers are texts of their digits."""
    _recorded: dict[str, str] = field(default_factory=dict)
    _fields: set[str] = field(default_factory=set)
    """Names of the members in which such values were found."""

    def holds(self, position: CallPosition) -> Recording | None:
        """The cassette's answer to the call."""
        answers = self.cassette.answers(position.call.key, position.state)
        if position.occurrence >= len(answers) or is_failure(answers[position.occurrence]):
            return None
        return answers[position.occurrence]

    def may_change(self, position: CallPosition) -> bool:
        """Whether the agent may receive a changed answer to the call."""
        return bool(self._recorded) or self.holds(position) is not None

    def sent(self, value: JsonValue) -> JsonValue:
        """Arguments of the agent, with current values."""
        return _mapped(value, self._today, self._fields)

    def sent_text(self, text: str) -> str:
        """The same for an address, or for a body that is not JSON."""
        return _replaced(text, self._today, named=False)

    def sent_body(self, body: bytes) -> bytes:
        """The body of a request, likewise; byte for byte the same where it contains no value of the cassette."""
        if not self._today or not body:
            return body
        plain = decoded(body)
        sent = _mapped(plain, self._today, self._fields)
        if sent == plain:
            return body
        return sent.encode() if isinstance(sent, str) else json.dumps(sent, ensure_ascii=False).encode()

    def given(self, position: CallPosition, status: int, body: bytes, redacted: bytes) -> NormalisedAnswer:
        """The form of a current answer that the agent receives; `redacted` is the form that would be stored."""
        held = self.holds(position)
        if held is None or (held.status, held.body) == (status, redacted):
            normalised = body if held is not None else self.normalised(body)
            return NormalisedAnswer(status=status, headers=None, body=normalised, today=normalised)
        known = held.status == status and self.learn(position.call.tool, decoded(body), decoded(held.body))
        self.levelled += known
        today = self.normalised(body)
        if not known and self.refresh:
            return NormalisedAnswer(status=status, headers=None, body=today, today=today)
        kept = held if known else None
        return NormalisedAnswer(status=held.status, headers=held.headers, body=held.body, today=today, held=kept)

    def learn(self, tool: str, today: JsonValue, recorded: JsonValue) -> bool:
        """Stores which values correspond; returns whether nothing else differs. `tool` gave `today` where it had given
        `recorded`.
        """
        differences = list(changes(today, recorded))
        unlike = [one for one in differences if not self._is_volatile(tool, one)]
        for one in differences:
            if one not in unlike or _is_opaque(one):
                self._bind(one)
        self._fields |= {_name(one) for one in differences if self._is_bound(one)}
        return bool(differences) and all(self._is_bound(one) for one in unlike)

    def knows(self, text: str) -> bool:
        """Whether the current value that corresponds to this value of the cassette is known."""
        return text in self._today

    def normalised(self, body: bytes) -> bytes:
        """A current answer, with the values of the cassette."""
        if not self._recorded:
            return body
        plain = decoded(body)
        mapped = _mapped(plain, self._recorded, self._fields)
        if mapped == plain:
            return body
        if isinstance(mapped, str):
            return mapped.encode("utf-8", "replace")
        return json.dumps(mapped, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

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
        return self._recorded.get(_text(change.before)) == _text(change.after)

    def _bind(self, change: ValueChange) -> None:
        today, recorded = _text(change.before), _text(change.after)
        if not today or not recorded or (not today.isdigit() and len(today) < _SHORTEST):
            return
        self._recorded.setdefault(today, recorded)
        self._today.setdefault(recorded, today)


def _is_opaque(change: ValueChange) -> bool:
    """A generated name under a field of any name: it is translated, and still counts as a difference."""
    return all(isinstance(one, str) and _OPAQUE.match(one) for one in (change.before, change.after))


def _text(value: JsonValue) -> str:
    if isinstance(value, bool):
        return ""
    return str(value) if isinstance(value, str | int | float) else ""


def _name(change: ValueChange) -> str:
    """The nearest member's name."""
    return next((step for step in reversed(change.path) if not step.isdigit()), "")


def _mapped(value: JsonValue, values: Mapping[str, str], fields: Set[str], name: str = "") -> JsonValue:
    named = name in fields or is_identity(name)
    match value:
        case int() | float() if not isinstance(value, bool):
            return _number(value, values, named=named)
        case str():
            inner = json_in(value)
            if inner is None:
                return _replaced(value, values, named=named)
            mapped = _mapped(inner, values, fields, name)
            return value if mapped == inner else _laid_out_like(value, inner, mapped)
        case list():
            return [_mapped(item, values, fields, name) for item in value]
        case dict():
            return {key: _mapped(item, values, fields, key) for key, item in value.items()}
        case _:
            return value


def _laid_out_like(text: str, plain: JsonValue, mapped: JsonValue) -> str:
    """`mapped` as JSON in the layout that the text has, which is `plain`; compact where the layout is another."""
    for indent, separators in _LAYOUTS:
        for ascii_only in (False, True):
            if json.dumps(plain, ensure_ascii=ascii_only, indent=indent, separators=separators) == text:
                return json.dumps(mapped, ensure_ascii=ascii_only, indent=indent, separators=separators)
    return json.dumps(mapped, ensure_ascii=False, separators=_LAYOUTS[0][1])


def _number(value: float, values: Mapping[str, str], *, named: bool) -> JsonValue:
    found = values.get(str(value))
    if found is None or not (named or len(found) >= _IN_TEXTS):
        return value
    try:
        return int(found) if isinstance(value, int) else float(found)
    except ValueError:
        return value


def _replaced(text: str, values: Mapping[str, str], *, named: bool) -> str:
    """`named`: the text is the value of a member whose values are identities or times."""
    whole = values.get(text)
    if whole is not None and (named or len(text) >= _SHORTEST):
        return whole
    for one, other in values.items():
        if len(one) >= _IN_TEXTS and one in text:
            text = text.replace(one, other)
    if "/" in text:  # a path: each segment is a separate value
        steps = text.split("/")
        text = "/".join(values.get(step, step) if step.isdigit() or len(step) >= _SHORTEST else step for step in steps)
    return text
