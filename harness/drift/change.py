"""One difference between two answers, and its severity."""

import json
from dataclasses import dataclass

from pydantic import JsonValue

from harness.runs.store.drift_report import ChangeClass, DriftFinding, Severity
from harness.text import shortened
from harness.values import JsonObject

SEVERITY: dict[ChangeClass, Severity] = {
    "surface.tool_removed": "breaking",
    "surface.input_required_added": "breaking",
    "surface.input_type_changed": "breaking",
    "surface.tool_added": "info",
    "surface.input_added": "info",
    "surface.output_added": "info",
    "surface.output_changed": "warning",
    "surface.description_changed": "info",
    "status.success_to_error": "breaking",
    "status.code_changed": "breaking",
    "schema.removed": "breaking",
    "schema.type_changed": "breaking",
    "schema.became_nullable": "breaking",
    "schema.media_type": "breaking",
    "schema.optional_removed": "warning",
    "schema.enum_added": "warning",
    "schema.added": "info",
    "value.changed": "warning",
    "shape.array_empty": "warning",
    "shape.order": "warning",
}
"""The severity for a client of the answers: losing a guarantee is breaking (the response rules of oasdiff)."""

_MOST_MEMBERS = 8
_LONGEST = 200


@dataclass(frozen=True, kw_only=True)
class Change:
    """What differs at one path; see DriftFinding for the fields."""

    change: ChangeClass
    path: str
    old_kind: str
    new_kind: str
    before: JsonValue = None
    after: JsonValue = None
    doubt: str | None = None
    """Why the change does not count, however often it is observed; None: it counts once it is confirmed."""

    @property
    def place(self) -> tuple[str, str, str]:
        """The key that distinguishes it from other changes of the same operation."""
        return self.change, self.path, f"{self.old_kind}>{self.new_kind}"

    def finding(
        self,
        tool: str,
        operation: str,
        cases: tuple[str, ...],
        samples: int = 1,
        doubt: str | None = None,
    ) -> DriftFinding:
        """The change as a finding about an operation."""
        return DriftFinding(
            tool=tool,
            operation=operation,
            change=self.change,
            severity=SEVERITY[self.change],
            path=self.path,
            old_kind=self.old_kind,
            new_kind=self.new_kind,
            before=self.before,
            after=self.after,
            cases=cases,
            samples=samples,
            doubt=doubt,
        )


def excerpt(value: JsonValue, holder: JsonValue, name: str) -> JsonValue:
    """A value, followed by its plain sibling members, shortened for display."""
    if not isinstance(holder, dict):
        return shortened_value(value)
    shown: JsonObject = {name: shortened_value(holder[name])} if name in holder else {}
    for key, item in holder.items():
        if key not in shown and not isinstance(item, dict | list) and len(shown) < _MOST_MEMBERS:
            shown[key] = shortened_value(item)
    return shown


def shortened_value(value: JsonValue) -> JsonValue:
    """The value itself if it is short, or the beginning of it."""
    match value:
        case str():
            return shortened(value, _LONGEST)
        case dict() | list() if len(json.dumps(value)) <= _LONGEST:
            return value
        case dict():
            return {name: _hint(item) for name, item in list(value.items())[:_MOST_MEMBERS]}
        case list():
            return [_hint(item) for item in value[:3]] + ([f"... {len(value)} in all"] if len(value) > 3 else [])
        case _:
            return value


def _hint(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return shortened(value, 40)
        case dict():
            return "{...}" if value else {}
        case list():
            return "[...]" if value else []
        case _:
            return value


def texts_apart(old: str, new: str) -> tuple[str, str]:
    """Two long texts, from shortly before their first difference."""
    pairs = enumerate(zip(old, new, strict=False))
    at = next((index for index, (one, other) in pairs if one != other), min(len(old), len(new)))
    start = max(0, at - 60)
    lead = "..." if start else ""
    return f"{lead}{old[start : start + _LONGEST]}", f"{lead}{new[start : start + _LONGEST]}"
