"""Answers of a tool in the form that is compared, the known answers of an operation, and the values that two have."""

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pydantic import JsonValue

from harness.cassettes.profiles import ANY, ITEM, OperationProfile, lies_below, member
from harness.cassettes.recordings import Recording
from harness.cassettes.transience import is_transient
from harness.cassettes.volatility import unfolded
from harness.drift.forms import UNKNOWN, Forms, PathRules, forms_seen, kind_of, masked
from harness.drift.structure import PathShape, Shape, shape_of
from harness.suite.expressions import fits
from harness.suite.suites import AnswerRule
from harness.values import JsonObject

OK = "ok"
"""The group of successful answers."""
_WORDS = {"timeout": "gave no answer in time", "reset": "closed the connection"}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer of a tool."""

    status: int
    media: str | None
    """The media type without parameters; None if the answer has none."""
    value: JsonValue
    """Texts with a JSON object or list are parsed: MCP tools answer in this form."""
    body: bytes
    """The unchanged body."""
    unavailable: str | None
    """The reason why the answer contains no information: overload, failure, timeout."""
    is_silent: bool
    """Whether there was no answer at all."""

    @property
    def is_error(self) -> bool:
        return self.status >= 400

    @property
    def group(self) -> str:
        """Answers of one group share a shape: all successful ones, and those of each error."""
        return str(self.status) if self.is_error else OK


def answer_of(recording: Recording) -> Answer:
    """The answer in a recording."""
    status, outcome = recording.status, recording.mark.outcome
    reason = _WORDS.get(outcome)
    silent = reason is not None
    if reason is None and (status >= 500 or is_transient(status)):
        reason = f"answered {status}"
    media = recording.headers.get("content-type", "").partition(";")[0].strip().lower() or None
    return Answer(
        status=status,
        media=media,
        value=None if silent else _parsed_body(recording.body),
        body=recording.body,
        unavailable=reason,
        is_silent=silent,
    )


def why_not_comparable(live: Answer, recorded: Answer) -> str | None:
    """The reason why the live answer cannot be compared; None if it can.

    A failure is unavailability, except if the recording holds the same one: then it is the service's answer.
    """
    if live.unavailable is None or (live.status == recorded.status and not live.is_silent and not recorded.is_silent):
        return None
    return live.unavailable


def _parsed_body(body: bytes) -> JsonValue:
    if not body:
        return None
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return f"{len(body)} bytes, sha256 {hashlib.sha256(body).hexdigest()}"
    try:
        value = unfolded(json.loads(text))
        if "\\u" in text:
            # Lone surrogates are legal in JSON, also in JSON within a text, but not in the encoding of a
            # report.
            whole = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
            value = json.loads(whole)
        return value
    except (ValueError, RecursionError):
        return text


# Values in only one answer, or of another kind, are differences of shape and not examined here.

_IDENTITIES = ("id", "uuid", "_id", "key", "name", "code", "slug", "sku", "path", "url", "title")
_SMALLEST = 1e-9

What = Literal["value", "order", "empty"]
_Row = tuple[JsonValue, JsonValue, JsonValue, JsonValue]
"""Old value, new value, and the objects that hold them."""


@dataclass(frozen=True, kw_only=True)
class ValueDifference:
    """One path at which two answers differ, with one example."""

    path: str
    what: What
    old: JsonValue
    new: JsonValue
    old_holder: JsonValue = None
    new_holder: JsonValue = None


def unlike(old: JsonValue, new: JsonValue, rules: PathRules, forms: Forms = UNKNOWN) -> tuple[ValueDifference, ...]:
    """Each path and manner once, in the order of paths."""
    found: dict[tuple[str, What], ValueDifference] = {}
    for one in _column("", [(old, new, None, None)], rules, forms):
        found.setdefault((one.path, one.what), one)
    return tuple(found[at] for at in sorted(found))


def _column(path: str, rows: list[_Row], rules: PathRules, forms: Forms) -> Iterator[ValueDifference]:
    """All pairs at one path."""
    rule = rules.at(path)
    if rule is not None and rule.compare in {"ignore", "type"}:
        return
    objects: list[tuple[JsonObject, JsonObject]] = []
    items: list[_Row] = []
    shown = False  # one example for each path is enough
    for row in rows:
        old, new = row[0], row[1]
        if isinstance(old, dict) and isinstance(new, dict):
            objects.append((old, new))
        elif isinstance(old, list) and isinstance(new, list):
            yield from _lists(path, row, rule, items)
        elif not shown and not _same(old, new, rule):
            shown = True
            yield ValueDifference(path=path, what="value", old=old, new=new, old_holder=row[2], new_holder=row[3])
    if objects:
        yield from _members(path, objects, rules, forms)
    if items:
        yield from _column(f"{path}{ITEM}", items, rules, forms)


def _members(
    path: str, pairs: list[tuple[JsonObject, JsonObject]], rules: PathRules, forms: Forms
) -> Iterator[ValueDifference]:
    if forms.are_maps(path, [old for old, _ in pairs]):
        rows: list[_Row] = []
        for old, new in pairs:
            if old.keys() != new.keys():
                yield ValueDifference(path=path, what="value", old=list(old), new=list(new))
            rows += [(old[name], new[name], old, new) for name in old if name in new and old[name] != new[name]]
        if rows:
            yield from _column(member(path, ANY), rows, rules, forms)
        return
    names = {name for old, _ in pairs for name in old}
    for name in sorted(names):
        column: list[_Row] = [
            (old[name], new[name], old, new)
            for old, new in pairs
            if name in old and name in new and old[name] != new[name]
        ]
        if column:
            yield from _column(member(path, name), column, rules, forms)


def _lists(path: str, row: _Row, rule: AnswerRule | None, items: list[_Row]) -> Iterator[ValueDifference]:
    """Finds the differences of the list itself; appends the pairs of its items to `items`."""
    old, new = row[0], row[1]
    assert isinstance(old, list)  # the caller has checked it
    assert isinstance(new, list)
    if not old or not new:
        if old or new:
            yield ValueDifference(path=path, what="empty", old=old, new=new, old_holder=row[2], new_holder=row[3])
        return
    identity = _identity(old, new, rule)
    pairs, reordered, regrouped = _by_identity(old, new, identity) if identity else _by_place(old, new, rule)
    items += [(one, other, one, other) for one, other in pairs if one != other]
    if regrouped:
        yield ValueDifference(path=path, what="value", old=old, new=new, old_holder=row[2], new_holder=row[3])
    elif reordered and (rule is None or rule.compare != "set"):
        yield ValueDifference(path=path, what="order", old=old, new=new, old_holder=row[2], new_holder=row[3])


_Pairs = tuple[list[tuple[JsonValue, JsonValue]], bool, bool]
"""The pairs of items; whether their order differs; whether there are more, fewer or other items."""


def _by_identity(old: list[JsonValue], new: list[JsonValue], name: Callable[[JsonValue], object]) -> _Pairs:
    before, after = {name(one): one for one in old}, {name(one): one for one in new}
    kept = [one for one in before if one in after]
    pairs = [(before[one], after[one]) for one in kept]
    return pairs, kept != [one for one in after if one in before], before.keys() != after.keys()


def _by_place(old: list[JsonValue], new: list[JsonValue], rule: AnswerRule | None) -> _Pairs:
    regrouped = len(old) != len(new)
    if not regrouped and old != new:
        if _item_counts(old) == _item_counts(new):
            return [], True, False
        scalars = not any(isinstance(one, dict | list) for one in (*old, *new))
        if scalars and rule is not None and rule.compare == "set":
            return [], False, True
    return list(zip(old, new, strict=False)), False, regrouped


def _item_counts(items: list[JsonValue]) -> Counter[str]:
    return Counter(json.dumps(item, sort_keys=True) for item in items)


def _identity(
    old: list[JsonValue], new: list[JsonValue], rule: AnswerRule | None
) -> Callable[[JsonValue], object] | None:
    """A function that returns the identity of an item of both lists; None if only positions identify items."""
    names = (rule.key,) if rule is not None and rule.key is not None else _IDENTITIES
    for name in names:
        before, after = _names(old, name), _names(new, name)
        if before and after and (len(before & after) * 2 >= min(len(before), len(after)) or len(names) == 1):
            return lambda item, name=name: item.get(name) if isinstance(item, dict) else None  # type: ignore[misc]  # of a default
    return None


def _names(items: list[JsonValue], name: str) -> set[object]:
    """The items' names; empty if they are not unique."""
    named = [one.get(name) if isinstance(one, dict) else None for one in items]
    if not all(isinstance(one, str | int) for one in named):
        return set()
    found: set[object] = set(named)
    return found if len(found) == len(items) else set()


def _same(old: JsonValue, new: JsonValue, rule: AnswerRule | None) -> bool:
    if rule is not None and rule.regex is not None:
        return isinstance(new, str) and fits(rule.regex, new, field=f"drift: the rule at {rule.at!r}: regex")
    if kind_of(old) != kind_of(new):
        return False
    if isinstance(old, str) and isinstance(new, str):
        return old == new or masked(old) == masked(new)
    if isinstance(old, int | float) and isinstance(new, int | float):
        return _same_number(old, new, None if rule is None else rule.tolerance)
    return old == new


def _same_number(old: float, new: float, tolerance: float | None) -> bool:
    if tolerance is not None:
        return abs(old - new) <= tolerance
    if isinstance(old, int) and isinstance(new, int):
        return old == new  # a large number may be an id, and its neighbour another id
    return math.isclose(old, new, rel_tol=_SMALLEST, abs_tol=_SMALLEST)


class AnswerBaseline:
    """The baseline of one operation. Recordings of all cases count."""

    def __init__(
        self,
        recordings: Iterable[Recording],
        profile: OperationProfile,
        rules: PathRules,
        declared: Forms = UNKNOWN,
    ) -> None:
        """`declared` holds the forms that a schema declares for successful answers."""
        self._profile = profile
        self._ruled = Forms(rules=rules)
        values: defaultdict[str, list[JsonValue]] = defaultdict(list)
        same: defaultdict[tuple[str, str], list[Answer]] = defaultdict(list)
        for recording in recordings:
            answer = answer_of(recording)
            if answer.is_silent:
                continue
            values[answer.group].append(answer.value)
            if recording.mark.effect == "read":
                same[recording.mark.key, recording.mark.state].append(answer)
        forms = self._ruled.over(declared.confirmed_by(values[OK]))
        if profile.knows_shape:
            forms = forms.over(forms_seen(path for path, one in profile.paths.items() if one.kinds))
        self._success_forms, self._values = forms, values
        self._forms: dict[str, Forms] = {}
        self._known: dict[str, Shape] = {}
        for group, found in values.items():
            group_forms = forms if group == OK else self._ruled
            self._known[group] = shape_of(found, group_forms)
            self._forms[group] = group_forms.over(forms_seen(self._known[group]))
        if profile.knows_shape and OK in self._known:
            self._known[OK] = _with_noise(self._known[OK], profile)
        self.fleeting = frozenset(profile.fleeting_paths())
        """Members that are sometimes present without a change of the tool."""
        self._volatile = {*profile.volatile_paths(), *self._unsteady(list(same.values()), rules)}

    def known(self, answer: Answer) -> Shape:
        """The known shape of the answers in this answer's group."""
        return self._known.get(answer.group) or shape_of([answer.value])

    def forms(self, answer: Answer) -> Forms:
        """Which objects in answers of this answer's group are maps, and which are records."""
        return self._forms.get(answer.group) or self._ruled.over(forms_seen(self.known(answer)))

    def declared_forms(self, answer: Answer) -> Forms:
        """The forms of objects in such answers according to rules, schemas or learned samples, but not the
        recordings.
        """
        return self._success_forms if answer.group == OK else self._ruled

    def values(self, answer: Answer) -> Sequence[JsonValue]:
        """All recorded answers of this answer's group."""
        return self._values.get(answer.group) or [answer.value]

    def is_volatile(self, path: str) -> bool:
        """Whether the value at the path, or the list that contains it, varies without a change of the tool."""
        return any(path == known or (known and lies_below(path, known)) for known in self._volatile)

    def is_settled(self, path: str) -> bool:
        """Whether a value that never changed there can be considered stable."""
        del path  # part of the interface; an operation is sampled as a whole
        return self._profile.is_settled

    def _unsteady(self, groups: Sequence[Sequence[Answer]], rules: PathRules) -> set[str]:
        """Paths at which the cassettes themselves contain different answers to one read in one state."""
        return {
            one.path
            for answers in groups
            for old, new in pairwise(answers)
            if old.status == new.status
            for one in unlike(old.value, new.value, rules, self.forms(old))
        }


def _with_noise(known: Shape, profile: OperationProfile) -> Shape:
    """Variation that was observed while learning is not drift: some answers matched the recording, and others
    did not.
    """
    widened = dict(known)
    for path, learned in profile.paths.items():
        place = known.get(path)
        optional = learned.present < learned.holders
        if place is not None:
            both = set(learned.kinds) & set(place.kinds)
            widened[path] = PathShape(
                kinds=place.kinds + Counter(learned.kinds) if both else place.kinds,
                present=place.present,
                holders=place.holders + (1 if optional else 0),
                texts=_word_counts(place, learned.words),
            )
        elif optional:
            widened[path] = PathShape(
                kinds=Counter(learned.kinds), present=learned.present, holders=learned.holders, texts=None
            )
    return widened


def _word_counts(place: PathShape, words: tuple[str, ...] | None) -> Counter[str] | None:
    return None if place.texts is None or words is None else place.texts + Counter(words)
