"""Objects with one known sample whose keys were nearly all replaced: whether they are maps or records cannot be
decided.

A record keeps most of its fields, or renames some; an object with values of one kind under almost entirely different
keys may as well be a map with other data. Such a change is reported, and does not count as a finding.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from harness.drift.change import Change
from harness.drift.comparing.forms import Forms
from harness.drift.comparing.kinds import kind_of
from harness.drift.comparing.paths import found_at
from harness.results import holder_of
from harness.values import JsonObject, JsonValue, canonical_json

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
            undecided[holder] = _is_undecided(_objects(known, holder), _objects([new], holder))
        yield replace(change, doubt=UNDECIDED) if undecided[holder] else change


def _objects(values: Iterable[JsonValue], path: str) -> list[JsonObject]:
    """The different objects at the path."""
    found = (one for value in values for one, _ in found_at(value, path))
    return list({canonical_json(one): one for one in found if isinstance(one, dict)}.values())


def _is_undecided(before: Sequence[JsonObject], after: Sequence[JsonObject]) -> bool:
    if len(before) != 1 or len(after) != 1:
        return False
    [old], [new] = before, after
    if len(old) < _LEAST_KEYS or not new:
        return False
    # `first_name` that became `firstName` is a renamed field.
    shared = {_plain(name) for name in old} & {_plain(name) for name in new}
    forms = {_form(value) for one in (old, new) for value in one.values() if value is not None}
    return len(shared) <= _SHARED * min(len(old), len(new)) and len(forms) == 1


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _form(value: JsonValue) -> object:
    return frozenset(value) if isinstance(value, dict) else kind_of(value)
