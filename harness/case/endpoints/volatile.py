"""JSON pointers with a star, and arguments without what is volatile by a tool's rule."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from harness.case.endpoints.tool import ToolSpec, VolatilePart
from harness.validation import cut
from harness.values import JsonObject, JsonValue


class OmittedValue:
    """What a change gives for a value that is to be left out."""


Change = Callable[[JsonValue], JsonValue | OmittedValue]


def without_volatile(tool: ToolSpec, arguments: JsonObject) -> JsonObject:
    """The arguments that matter; `arguments` itself stays as it is.

    Raises OutOfTime for a pattern that takes too long.
    """
    kept: JsonValue = arguments
    assert isinstance(kept, dict)
    for rule in tool.ignore_arguments:
        match rule:
            case VolatilePart():
                kept = changed_at(kept, rule.at, partial(_cut, tool.name, rule))
            case str() if rule.startswith("/"):
                kept = changed_at(kept, rule, _leave_out)
            case str():
                kept = {name: item for name, item in kept.items() if name != rule}
        assert isinstance(kept, dict)  # a pointer never names the whole
    return kept


def changed_at(value: JsonValue, pointer: str, change: Change) -> JsonValue:
    """`value` with `change` applied to the values at the pointer (`*`: every item); unchanged where there are none."""
    changed = _changed(value, _parts(pointer), change)
    assert not isinstance(changed, OmittedValue)  # a pointer has at least one part
    return changed


def without(value: JsonValue, pointer: str) -> JsonValue:
    """`value` without the values at the pointer."""
    return changed_at(value, pointer, _leave_out)


def renamed_at(value: JsonValue, pointer: str, name: str) -> JsonValue:
    """`value` with the members that the pointer names under another name, in their place."""
    *parents, last = _parts(pointer)

    def rename(holder: JsonValue) -> JsonValue:
        if not isinstance(holder, dict):
            return holder
        return {name if key == last else key: item for key, item in holder.items()}

    changed = _changed(value, parents, rename)
    assert not isinstance(changed, OmittedValue)  # renaming takes nothing out
    return changed


def values_at(value: JsonValue, pointer: str) -> tuple[JsonValue, ...]:
    """The values at the pointer: none, one, or with a star as many as there are."""
    return tuple(_found(value, _parts(pointer)))


def _parts(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _changed(value: JsonValue, parts: Sequence[str], change: Change) -> JsonValue | OmittedValue:
    if not parts:
        return change(value)
    first, rest = parts[0], parts[1:]
    match value:
        case dict():
            members = {name: _changed(item, rest, change) if name == first else item for name, item in value.items()}
            return {name: item for name, item in members.items() if not isinstance(item, OmittedValue)}
        case list():
            items = [
                _changed(item, rest, change) if first in {"*", str(index)} else item for index, item in enumerate(value)
            ]
            return [item for item in items if not isinstance(item, OmittedValue)]
        case _:
            return value


def _found(value: JsonValue, parts: Sequence[str]) -> Iterator[JsonValue]:
    if not parts:
        yield value
        return
    match value:
        case dict() if parts[0] in value:
            yield from _found(value[parts[0]], parts[1:])
        case list():
            for index, item in enumerate(value):
                if parts[0] in {"*", str(index)}:
                    yield from _found(item, parts[1:])
        case _:
            pass


def _leave_out(value: JsonValue) -> OmittedValue:
    del value
    return OmittedValue()


def _cut(tool: str, rule: VolatilePart, value: JsonValue) -> JsonValue:
    if not isinstance(value, str):
        return value
    return cut(rule.pattern, value, field=f"tool {tool!r}: ignore_arguments: the pattern at {rule.at}")
