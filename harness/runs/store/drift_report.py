"""Differences between a tool's answers and its recordings, as drift checks, reports and trackers use them."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue, computed_field, model_validator

from harness.disk import write_atomically
from harness.errors import HarnessError, UsageError
from harness.runs.store.storage import json_bytes, read_as
from harness.values import Frozen

DRIFT = "drift.json"
"""The report's file in the folder of a run or probe."""

Severity = Literal["breaking", "warning", "info"]

ChangeClass = Literal[
    "surface.tool_removed",
    "surface.input_required_added",
    "surface.input_type_changed",
    "surface.tool_added",
    "surface.input_added",
    "surface.output_added",
    "surface.output_changed",
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
]


class DriftFinding(Frozen):
    """One change of one operation at one path, seen in any number of calls."""

    tool: str
    operation: str
    """The operation without values: the tool's name, or method and route of a host."""
    change: ChangeClass
    severity: Severity
    path: str
    """JSON path in the answer (or in the tool's listing), `[]` for any index; empty for the whole answer."""
    old_kind: str
    """The kind of the old content, never its value: `string`, `status 200`, `absent`."""
    new_kind: str
    before: JsonValue = None
    """An excerpt of the recorded answer, redacted."""
    after: JsonValue = None
    cases: tuple[str, ...] = ()
    """Cases with affected recordings, sorted."""
    flips: tuple[str, ...] = ()
    """Affected cases whose verdict changes, sorted."""
    samples: int = 1
    """Number of live answers with the change, repeats included."""
    doubt: str | None = None
    """Why it is unconfirmed; None: it is confirmed."""

    @model_validator(mode="before")
    @classmethod
    def _without_computed_fields(cls, data: Any) -> Any:
        """The fingerprint is written for readers, and computed when it is read."""
        return {name: data[name] for name in data if name != "fingerprint"} if isinstance(data, dict) else data

    @computed_field  # type: ignore[prop-decorator]  # python/mypy#14461
    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits of what the change is: no values, dates, runs or cases are in it."""
        text = "|".join(("v1", self.tool, self.operation, self.change, self.path, f"{self.old_kind}>{self.new_kind}"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class DriftLink(Frozen):
    """A finding of `harness drift`, as incidents and themes of production name it."""

    run: str
    day: str
    tool: str
    operation: str
    change: str
    severity: Severity


class DriftReport(Frozen):
    """The result of one drift check of a suite's tools; stored as `drift.json` in the run or probe folder."""

    suite: str
    run: str
    """The run or probe that found it."""
    seen: datetime
    command: str
    """The command that reproduces the result."""
    pages: str | None = Field(default=None, pattern=r"^https?://[^\s<>()\[\]\\`]{1,2000}$")
    """Where the continuous integration that made it keeps the run's pages."""
    findings: tuple[DriftFinding, ...]
    """Confirmed ones, sorted by tool, severity, operation and path."""
    exercised: dict[str, tuple[str, ...]]
    """By tool, the operations and paths (`operation path`) that live answers covered: only these can be clean (see
    `covers`)."""
    compared: int = 0
    """Number of recorded calls that live answers were compared with."""
    unanswered: int = 0
    """Number of recorded calls that were made again without an answer that can be compared."""
    provenance: dict[str, int] = {}
    """Provenance of the compared recordings -> number: `service`, `double`, `trajectory`, `hand` or `unknown`."""
    doubles: tuple[str, ...] = ()
    """Checked servers and hosts that the suite declares as doubles, sorted."""
    after_writes: int = 0
    """Number of compared calls that followed writes."""
    restores: int = 0
    """Number of times that a probe reset servers before writes."""
    not_asked: dict[str, int] = {}
    """Reason why recorded reads could not be sent again -> number."""
    unconfirmed: tuple[DriftFinding, ...] = ()
    """Findings that were not confirmed (`doubt` gives the reason): shown and never filed."""
    divergences: tuple[str, ...] = ()
    """Descriptions of requests of the agent that differ from the recorded ones; they are not drift of a tool."""
    unavailable: tuple[str, ...] = ()
    """Tools that could not be reached, in words."""

    @property
    def not_probed(self) -> int:
        """Number of recorded calls of which nothing is known: they were not made, or not answered."""
        return sum(self.not_asked.values()) + self.unanswered

    @property
    def day(self) -> str:
        """The day of the check (UTC)."""
        return self.seen.astimezone(UTC).strftime("%Y-%m-%d")

    def link(self, one: DriftFinding) -> DriftLink:
        """A finding of this check."""
        known = one.model_dump(include={"tool", "operation", "change", "severity"})
        return DriftLink(run=self.run, day=self.day, **known)

    def covers(self, finding: DriftFinding) -> bool:
        """Whether this check would have shown the finding again: its path, or the object that contained it, was
        answered.
        """
        seen = self.exercised.get(finding.tool, ())
        return any(f"{finding.operation} {path}" in seen for path in (finding.path, holder_of(finding.path)))


def holder_of(path: str) -> str:
    """The path of the object that contains the member at `path`; an item of a list (`[]`) is its own holder."""
    if path.endswith("[]"):
        return path
    return path[: path.rindex("['")] if path.endswith("']") else path.rpartition(".")[0]


def write_drift(folder: Path, report: DriftReport) -> Path:
    """Writes the report into the folder of a run or probe, and replaces the report of an earlier check."""
    path = folder / DRIFT
    write_atomically(path, json_bytes(report.model_dump(mode="json")))
    return path


def read_drift(path: Path) -> DriftReport:
    """The report in a file, or in a run's folder. Raises UsageError if there is none, ResultsError for damage."""
    file = path / DRIFT if path.is_dir() else path
    if not file.is_file() and not file.is_symlink():
        raise UsageError(f"{path} holds no {DRIFT}", remedy="compare its answers first: harness drift compare RUN")
    return read_as(file, DriftReport)


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


def drift_reports(project: Path) -> list[DriftReport]:
    """Every report of the project's runs and probes that can be read, the newest first."""
    found: list[DriftReport] = []
    for path in (project / "runs").glob(f"*/{DRIFT}"):
        try:
            found.append(read_drift(path))
        except HarnessError:
            continue
    return sorted(found, key=lambda report: report.seen.astimezone(UTC), reverse=True)
