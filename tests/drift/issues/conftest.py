"""Looks at tools as values, and a real HTTP server that answers as GitHub does."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from harness.runs.store.drift_report import DriftFinding, DriftReport
from tests.drift.issues.github_server import GithubServer

NOW = datetime.now(UTC).replace(microsecond=0)


def finding(tool: str = "get_order", path: str = "$.total_cents", **fields: object) -> DriftFinding:
    said: dict[str, object] = {
        "tool": tool,
        "operation": tool,
        "change": "schema.removed",
        "severity": "breaking",
        "path": path,
        "old_kind": "integer",
        "new_kind": "absent",
        "before": {"status": "open", "total_cents": 299},
        "after": {"status": "open"},
        "cases": ("order-000", "order-001"),
        "flips": ("order-001",),
        **fields,
    }
    return DriftFinding.model_validate(said)


def look(
    *findings: DriftFinding, nights: float = 0, tools: tuple[str, ...] = ("get_order",), **fields: object
) -> DriftReport:
    """A look `nights` after now; everything about `tools` and about the findings was exercised."""
    exercised = {
        tool: (f"{tool} $", f"{tool} $.total_cents", f"{tool} $.status", f"{tool} $.items[]") for tool in tools
    }
    for one in findings:
        exercised.setdefault(one.tool, ())
        exercised[one.tool] = (*exercised[one.tool], f"{one.operation} {one.path}")
    seen = NOW + timedelta(days=nights)
    said: dict[str, object] = {
        "suite": "drive_thru",
        "run": f"night-{nights:g}",
        "seen": seen,
        "command": "harness drift probe drive_thru",
        "findings": findings,
        "exercised": exercised,
        **fields,
    }
    return DriftReport.model_validate(said)


@pytest.fixture
def github() -> Iterator[GithubServer]:
    with GithubServer() as server:
        yield server
