"""Compares a live answer with its recording: every change except volatile values."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from harness.cassettes.profiles import parts_of
from harness.drift.answers import Answer, AnswerBaseline, ValueDifference, unlike
from harness.drift.change import Change, excerpt, shortened_value, texts_apart
from harness.drift.forms import PathRules, format_of, is_volatile_name, kind_of
from harness.drift.structure import Structures, shape_of, structural_changes, with_doubts
from harness.runs.store.drift_report import ChangeClass

YOUNG = "the value changed; whether it is steady is not known yet (see harness drift learn)"
"""The doubt about a value with too few known samples."""
_STRICT = frozenset({"date-time", "date", "http-date", "uuid", "jwt"})
_RULES_THAT_SETTLE = frozenset({"exact", "approx", "regex"})


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The result of comparing one pair."""

    changes: tuple[Change, ...]
    paths: tuple[str, ...]
    """The paths of the live answer, whether changed or not."""
    volatile: tuple[str, ...] = ()
    """Paths whose values differ because they are volatile."""


def compare(old: Answer, new: Answer, baseline: AnswerBaseline, rules: PathRules) -> Compared:
    """Compares two answers; unavailable answers cannot be compared."""
    if old.status != new.status:
        change = _status(old, new)
        return Compared(changes=(change,), paths=("",))
    known = baseline.known(old)
    forms = baseline.forms(old)
    shape = shape_of([new.value], forms)
    paths = tuple(sorted(shape))
    changes = list(_media(old, new))
    if old.body == new.body:
        return Compared(changes=tuple(changes), paths=paths)
    structures = Structures(old=old.value, new=new.value, known=known, fleeting=baseline.fleeting, forms=forms)
    structural = [change for change in structural_changes(structures, shape) if not _ruled_out(change, rules)]
    changes += with_doubts(structural, baseline.values(old), new.value, baseline.declared_forms(old))
    changed_paths = {change.path for change in changes}
    volatile: list[str] = []
    for one in unlike(old.value, new.value, rules, forms):
        if one.path in changed_paths:
            continue
        if _is_volatile(one, baseline):
            volatile.append(one.path)
        else:
            changes.append(_value_change(one, baseline.is_settled(one.path) or _settled_by_rule(one.path, rules)))
    return Compared(changes=tuple(_unmirrored(changes)), paths=paths, volatile=tuple(volatile))


def _status(old: Answer, new: Answer) -> Change:
    change: ChangeClass = "status.success_to_error" if new.is_error and not old.is_error else "status.code_changed"
    return Change(
        change=change,
        path="",
        old_kind=f"status {old.status}",
        new_kind=f"status {new.status}",
        before={"status": old.status, "answer": shortened_value(old.value)},
        after={"status": new.status, "answer": shortened_value(new.value)},
    )


def _media(old: Answer, new: Answer) -> Iterator[Change]:
    if old.media and new.media and old.media != new.media:
        yield Change(
            change="schema.media_type",
            path="",
            old_kind=old.media,
            new_kind=new.media,
            before={"content-type": old.media},
            after={"content-type": new.media},
        )


def _ruled_out(change: Change, rules: PathRules) -> bool:
    """Whether the rule `ignore` removes the change; the other rules keep changes of the shape."""
    rule = rules.at(change.path)
    return rule is not None and rule.compare == "ignore"


def _is_volatile(one: ValueDifference, baseline: AnswerBaseline) -> bool:
    if baseline.is_volatile(one.path):
        return True
    if one.what != "value" or isinstance(one.old, dict | list):
        return False
    if _is_rewritten(one):
        return False
    before, after = format_of(one.old), format_of(one.new)
    return before == after is not None or any(is_volatile_name(part) for part in parts_of(one.path)[-2:])


def _is_rewritten(one: ValueDifference) -> bool:
    """Whether the value has another kind, or the text another format, which no time or chance explains."""
    if isinstance(one.old, str) and isinstance(one.new, str):
        return _strict(one.old) != _strict(one.new)
    return kind_of(one.old) != kind_of(one.new)


def _strict(text: str) -> str | None:
    found = format_of(text)
    return found if found in _STRICT else None


def _settled_by_rule(path: str, rules: PathRules) -> bool:
    rule = rules.at(path)
    return rule is not None and rule.compare in _RULES_THAT_SETTLE


def _value_change(one: ValueDifference, settled: bool) -> Change:
    if one.what == "empty":
        return _list_change(one, "shape.array_empty", _fullness(one.old), _fullness(one.new), None)
    if one.what == "order":
        return _list_change(one, "shape.order", "array", "array", None if settled else YOUNG)
    before, after = _kind_with_format(one.old, one.new), _kind_with_format(one.new, one.old)
    # Another format is more than another value: a client that parses the old format cannot parse the new one, whatever
    # the value.
    settled = settled or (isinstance(one.old, str) and isinstance(one.new, str) and _is_rewritten(one))
    old, new = one.old, one.new
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > 150:
        old, new = texts_apart(old, new)
    name = parts_of(one.path)[-1] if one.path else ""
    return Change(
        change="value.changed",
        path=one.path,
        old_kind=before,
        new_kind=after,
        before=excerpt(old, _with_member(one.old_holder, name, old), name),
        after=excerpt(new, _with_member(one.new_holder, name, new), name),
        doubt=None if settled else YOUNG,
    )


def _with_member(holder: JsonValue, name: str, value: JsonValue) -> JsonValue:
    return holder | {name: value} if isinstance(holder, dict) and name in holder else holder


def _list_change(one: ValueDifference, change: ChangeClass, old_kind: str, new_kind: str, doubt: str | None) -> Change:
    return Change(
        change=change,
        path=one.path,
        old_kind=old_kind,
        new_kind=new_kind,
        before=shortened_value(one.old),
        after=shortened_value(one.new),
        doubt=doubt,
    )


def _fullness(value: JsonValue) -> str:
    return "array" if value else "empty array"


def _kind_with_format(value: JsonValue, other: JsonValue) -> str:
    """The kind, with its format if the other value's format differs."""
    if not isinstance(value, str) or not isinstance(other, str):
        return kind_of(value)
    mine = _strict(value)
    return "string" if mine is None or mine == _strict(other) else f"string {mine}"


def _unmirrored(changes: list[Change]) -> Iterator[Change]:
    """MCP tools answer twice, as text and structured: changes of the structured answer are not repeated for
    the text.
    """
    structured = {
        (one.change, one.old_kind, one.new_kind, _relative_path(one.path)) for one in changes if _is_main(one.path)
    }
    for one in changes:
        mirrored = one.path.startswith("content[].text") and (
            (one.change, one.old_kind, one.new_kind, _relative_path(one.path)) in structured
        )
        if not mirrored:
            yield one


def _is_main(path: str) -> bool:
    return path == "structuredContent" or path.startswith(("structuredContent.", "structuredContent["))


def _relative_path(path: str) -> str:
    for start in ("structuredContent.result[]", "structuredContent.result", "structuredContent", "content[].text"):
        if path.startswith(start):
            return path.removeprefix(start).removeprefix("[]").removeprefix(".")
    return path
