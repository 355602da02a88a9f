"""What a tool answers otherwise than its recording: the values that drift finds, reports show and trackers file."""

import hashlib
from datetime import datetime
from typing import Literal

from pydantic import computed_field

from harness.frozen import Frozen, JsonValue

Severity = Literal["breaking", "warning", "info"]

ChangeClass = Literal[
    "surface.tool_removed",
    "surface.input_required_added",
    "surface.input_type_changed",
    "surface.tool_added",
    "surface.description_changed",
    "status.success_to_error",
    "status.code_changed",
    "schema.removed",
    "schema.type_changed",
    "schema.became_nullable",
    "schema.media_type",
    "schema.optional_removed",
    "schema.enum_added",
    "schema.added",
    "value.changed",
    "shape.array_empty",
    "shape.order",
    "latency",
]


class DriftFinding(Frozen):
    """One change of one operation at one path, seen in any number of calls."""

    tool: str
    operation: str
    """What was asked, without values: the tool's name, or method and route of a host."""
    change: ChangeClass
    severity: Severity
    path: str
    """JSON path in the answer (or in the tool's listing), `[]` for any index; empty for the whole answer."""
    old_kind: str
    """What was there, as a kind and never as a value: `string`, `status 200`, `absent`."""
    new_kind: str
    before: JsonValue = None
    """An excerpt of the recorded answer, redacted."""
    after: JsonValue = None
    cases: tuple[str, ...] = ()
    """Cases whose recordings it touches, sorted."""
    flips: tuple[str, ...] = ()
    """Of those, the cases whose verdict changes with it, sorted."""
    samples: int = 1
    """How many live answers showed it, repeats included."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits of what the change is: no values, dates, runs or cases are in it."""
        text = "|".join(("v1", self.tool, self.operation, self.change, self.path, f"{self.old_kind}>{self.new_kind}"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class DriftReport(Frozen):
    """What one live look at a suite's tools found; stored as `drift.json` in the run or probe folder."""

    suite: str
    run: str
    """The run or probe that looked."""
    seen: datetime
    command: str
    """What a person types to see it again."""
    findings: tuple[DriftFinding, ...]
    """Confirmed ones, sorted by tool, severity, operation and path."""
    exercised: dict[str, tuple[str, ...]]
    """By tool, the operations and paths (`operation path`) that live answers covered: only these can be clean."""
    unconfirmed: tuple[DriftFinding, ...] = ()
    """Seen, but not again when asked again: noise, shown and never filed."""
    divergences: tuple[str, ...] = ()
    """Where the agent asked something else than was recorded, in words: no drift of a tool."""
    unavailable: tuple[str, ...] = ()
    """Tools that could not be reached, in words."""


class IssueDraft(Frozen):
    """An issue as it is to be filed: one a tool and severity."""

    tool: str
    severity: Severity
    title: str
    body: str
    """Markdown, the hidden marker in it."""
    labels: tuple[str, ...]
    fingerprints: tuple[str, ...]
    """Of the findings it lists, sorted."""
