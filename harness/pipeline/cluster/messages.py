"""Messages between driver and nodes: plain values, so that no live object crosses the network."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import ExitCode, HarnessError, SandboxError, UsageError
from harness.pipeline.cluster.delivery import ProjectArchive
from harness.pipeline.execution.attempt import ScoredAttempt
from harness.pipeline.plan.plan import RunPlan
from harness.score import ReferenceState, Scorecard
from harness.trace import Span, Trial


@dataclass(frozen=True, kw_only=True)
class NodeRunSpec:
    """A run, as a node opens it."""

    run: str
    plan: RunPlan
    archive: ProjectArchive
    agent_digest: str
    snapshot_digest: str
    reference_states: Mapping[str, ReferenceState] = field(default_factory=dict)
    """Those that the driver has obtained: a node plays no reference."""
    meter: Any = None
    """The handle of the actor that holds the budget and the rate limits; None where no upstream is called live."""


@dataclass(frozen=True, kw_only=True)
class NodeProblem:
    """An error of a node as text; an exception would need the same classes on both sides."""

    message: str
    is_usage: bool

    @classmethod
    def of(cls, error: HarnessError, clean: Callable[[str], str] = str) -> "NodeProblem":
        return cls(message=clean(str(error)), is_usage=error.exit_code == ExitCode.USAGE)

    def error(self, node: object) -> HarnessError:
        """As the driver raises it."""
        return (UsageError if self.is_usage else SandboxError)(f"node {node}: {self.message}")


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """A trial that a node has run and scored, with the content of its files."""

    trial: Trial
    spans: tuple[Span, ...]
    card: Scorecard
    archive: bytes | None = None
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    live_cassette: bytes | None = None
    """The live answers, as the cassette that is stored with the run."""

    @classmethod
    def of(cls, scored: ScoredAttempt, live_cassette: Path) -> "Delivered":
        return cls(
            trial=scored.trial,
            spans=scored.spans,
            card=scored.card,
            archive=None if scored.archive is None else scored.archive.read_bytes(),
            pictures={path.name: path.read_bytes() for path in scored.pictures},
            live_cassette=live_cassette.read_bytes() if live_cassette.is_file() else None,
        )
