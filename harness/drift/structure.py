"""Compares the shape of a live answer with the shape of all recorded ones: removed, added, another kind, null."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from pydantic import JsonValue

from harness.cassettes.profiles import ANY, ITEM, found_at, lies_below, member, parts_of
from harness.drift.change import Change, excerpt
from harness.drift.forms import UNKNOWN, Forms, distinct_objects, kind_of, kind_of_type
from harness.runs.store.drift_report import ChangeClass, holder_of
from harness.values import JsonObject, plain_name

# Values are read by column and not one by one, which makes large answers fast.

_MOST_TEXTS = 8
_LONGEST_TEXT = 40


@dataclass(kw_only=True)
class PathShape:
    """The observations at one path."""

    kinds: Counter[str] = field(default_factory=Counter)
    present: int = 0
    holders: int = 0
    """The number of objects that could have had it; for items and the whole answer, their own number."""
    texts: Counter[str] | None = field(default_factory=Counter)
    """The texts, as long as they are few and short enough for an enum; None: they are not."""

    @property
    def is_required(self) -> bool:
        return self.present == self.holders


Shape = dict[str, PathShape]


def shape_of(values: Sequence[JsonValue], forms: Forms = UNKNOWN) -> Shape:
    """The common shape of all these values; `forms`: the known forms of their objects."""
    shape: Shape = {}
    _fill(shape, "", list(values), len(values), forms)
    return shape


def _fill(shape: Shape, path: str, column: list[JsonValue], holders: int, forms: Forms) -> None:
    types = Counter(map(type, column))
    place = shape[path] = PathShape(present=len(column), holders=holders)
    for kind, count in types.items():
        place.kinds[kind_of_type(kind)] += count
    if str in types:
        place.texts = _counts_of_texts(column)
    if dict in types:
        _fill_members(shape, path, [one for one in column if isinstance(one, dict)], forms)
    if list in types:
        items = list(chain.from_iterable(one for one in column if isinstance(one, list)))
        if items:
            _fill(shape, f"{path}{ITEM}", items, len(items), forms)


def _fill_members(shape: Shape, path: str, objects: list[JsonObject], forms: Forms) -> None:
    if forms.are_maps(path, objects):
        values = [value for one in objects for value in one.values()]
        if values:
            _fill(shape, member(path, ANY), values, len(values), forms)
        return
    for name in sorted(set(chain.from_iterable(objects))):
        column = [one[name] for one in objects if name in one]
        _fill(shape, member(path, name), column, len(objects), forms)


def _counts_of_texts(column: list[JsonValue]) -> Counter[str] | None:
    found = Counter(one for one in column if isinstance(one, str))
    few = len(found) <= _MOST_TEXTS and all(len(text) <= _LONGEST_TEXT for text in found)
    return found if few else None


ABSENT = "absent"
_ENUM_SEEN = 20


@dataclass(frozen=True, kw_only=True)
class Structures:
    """A recorded and a live answer, and the shape of all recorded answers of the operation."""

    old: JsonValue
    new: JsonValue
    known: Mapping[str, PathShape]
    """The shape of all recordings, including `old`, and of the learned noise."""
    fleeting: Collection[str] = ()
    """Members that are sometimes present."""
    forms: Forms = UNKNOWN


def structural_changes(structures: Structures, after: Shape) -> Iterator[Change]:
    """The changes in the order of paths; `after` is the live answer's shape. The parts of a removed object are not
    reported.
    """
    before = shape_of([structures.old], structures.forms)
    lines: list[str] = []
    for path in sorted({*before, *after}):
        if any(lies_below(path, above) for above in lines):
            continue
        if path in structures.fleeting and path not in after:
            lines.append(path)
            continue
        for change in _changes_at(path, before.get(path), after, structures):
            if change.change in {"schema.removed", "schema.optional_removed", "schema.type_changed", "schema.added"}:
                lines.append(path)
            yield change


def _changes_at(path: str, old: PathShape | None, after: Shape, structures: Structures) -> Iterator[Change]:
    new, known = after.get(path), structures.known.get(path)
    if new is None:
        if known is not None and _could_be_there(path, after):
            yield _change("schema.removed" if known.is_required else "schema.optional_removed", path, structures)
        return
    if known is None:
        if _was_open(path, structures.known):
            yield _change("schema.added", path, structures)
        return
    if (
        old is not None
        and known.is_required
        and not new.is_required
        and _is_member(path)
        and path not in structures.fleeting
    ):
        yield _change("schema.optional_removed", path, structures, new_kind=f"{ABSENT} in some")
    yield from _kinds(path, known, new, structures)
    yield from _changes_of_listed_texts(path, known, new, structures)


def _kinds(path: str, known: PathShape, new: PathShape, structures: Structures) -> Iterator[Change]:
    fresh = set(new.kinds) - set(known.kinds)
    if not fresh:
        return
    usual = set(known.kinds) - {"null"}
    if not usual:
        yield _change("schema.added", path, structures, old_kind="null", new_kind=_kinds_text(fresh))
        return
    if "null" in fresh:
        yield _change("schema.became_nullable", path, structures, old_kind=_kinds_text(usual), new_kind="null")
    if fresh - {"null"}:
        yield _change(
            "schema.type_changed", path, structures, old_kind=_kinds_text(usual), new_kind=_kinds_text(fresh - {"null"})
        )


def _changes_of_listed_texts(path: str, known: PathShape, new: PathShape, structures: Structures) -> Iterator[Change]:
    """A text that is none of the few that ever occurred there."""
    if known.texts is None or known.texts.total() < _ENUM_SEEN or not _looks_listed(known):
        return
    live = {text for text, _ in _texts(structures.new, path)} if new.texts is None else set(new.texts)
    fresh = live - set(known.texts)
    if fresh:
        word = min(fresh)
        yield Change(
            change="schema.enum_added",
            path=path,
            old_kind="known word",
            new_kind="another word",
            before=[*sorted(known.texts)],
            after=word,
        )


def _looks_listed(known: PathShape) -> bool:
    """Whether the texts look like an enum and not like names: each occurs several times, and none has spaces."""
    words: Mapping[str, int] = known.texts or {}
    return all(" " not in word and count > 1 for word, count in words.items())


def _texts(value: JsonValue, path: str) -> Iterator[tuple[str, JsonValue]]:
    return ((text, holder) for text, holder in found_at(value, path) if isinstance(text, str))


def _could_be_there(path: str, after: Shape) -> bool:
    """Whether the live answer contains the object whose member this is; an empty list gives no information."""
    holder = after.get(holder_of(path))
    return _is_member(path) and holder is not None and holder.kinds["object"] > 0


def _was_open(path: str, known: Mapping[str, PathShape]) -> bool:
    holder = known.get(holder_of(path))
    return _is_member(path) and holder is not None and holder.kinds["object"] > 0


def _is_member(path: str) -> bool:
    return bool(path) and not path.endswith(ITEM) and not path.endswith(ANY)


def _kinds_text(kinds: set[str]) -> str:
    return " or ".join(sorted(kinds))


def _change(
    change: ChangeClass, path: str, structures: Structures, *, old_kind: str | None = None, new_kind: str | None = None
) -> Change:
    """A change with an example of the old value, and the new value at the same place."""
    wanted = new_kind if new_kind in {"null", "string", "number", "boolean", "object", "array"} else None
    old, old_holder = _example(structures.old, path, None)
    new, new_holder = _example(structures.new, path, wanted)
    name = parts_of(path)[-1] if path else ""
    return Change(
        change=change,
        path=path,
        old_kind=old_kind or (ABSENT if change == "schema.added" else _kind_of(old, structures.known.get(path))),
        new_kind=new_kind or (ABSENT if change in {"schema.removed", "schema.optional_removed"} else kind_of(new)),
        before=excerpt(old, old_holder, name),
        after=excerpt(new, new_holder, name),
    )


def _kind_of(value: JsonValue, known: PathShape | None) -> str:
    """The kinds in all recordings, so that the same change is described equally for every recording."""
    kinds = set() if known is None else set(known.kinds) - {"null"}
    return _kinds_text(kinds) if kinds else kind_of(value)


def _example(value: JsonValue, path: str, kind: str | None) -> tuple[JsonValue, JsonValue]:
    """A value at the path with its holder; if there is none, only the object that would hold it."""
    for found, holder in found_at(value, path):
        if kind is None or kind_of(found) == kind:
            return found, holder
    held = next(found_at(value, holder_of(path)), (None, None))
    return None, held[0] if path else None


# Objects with one known sample whose keys were nearly all replaced: whether they are maps or records cannot be decided.
#
# A record keeps most of its fields, or renames some; an object with values of one kind under almost entirely different
# keys may as well be a map with other data. Such a change is reported, and does not count as a finding.

UNDECIDED = (
    "one sample does not tell whether the keys of this object are names or data: record a second one, "
    "declare the schema (`output:`), or say `compare: map`"
)
_LEAST_KEYS = 3
"""With fewer keys, a change of all is as likely a renamed field."""
_SHARED = 0.25
_MEMBERS = {"schema.removed", "schema.optional_removed", "schema.added"}


def with_doubts(
    changes: Iterable[Change], known: Sequence[JsonValue], new: JsonValue, declared: Forms
) -> Iterator[Change]:
    """The changes, with a doubt at the keys of objects that may be maps.

    `known` holds all recorded answers; `told` holds the forms of objects according to rules, schemas or learned
    samples.
    """
    undecided: dict[str, bool] = {}
    for change in changes:
        holder = holder_of(change.path)
        if change.change not in _MEMBERS or not change.path or holder in declared.records:
            yield change
            continue
        if holder not in undecided:
            undecided[holder] = _is_undecided(distinct_objects(known, holder), distinct_objects([new], holder))
        yield replace(change, doubt=UNDECIDED) if undecided[holder] else change


def _is_undecided(before: Sequence[JsonObject], after: Sequence[JsonObject]) -> bool:
    if len(before) != 1 or len(after) != 1:
        return False
    [old], [new] = before, after
    if len(old) < _LEAST_KEYS or not new:
        return False
    # `first_name` that became `firstName` is a renamed field.
    shared = {plain_name(name) for name in old} & {plain_name(name) for name in new}
    forms = {_form(value) for one in (old, new) for value in one.values() if value is not None}
    return len(shared) <= _SHARED * min(len(old), len(new)) and len(forms) == 1


def _form(value: JsonValue) -> object:
    return frozenset(value) if isinstance(value, dict) else kind_of(value)
