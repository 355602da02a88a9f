"""What a driver and its nodes send each other: plain values, and one archive of the project's files."""

import hashlib
import io
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.cassettes.cassette import cassette_path
from harness.errors import ExitCode, HarnessError, SandboxError, UsageError
from harness.runs.execution.executor import ScoredAttempt
from harness.runs.plan.plan import RunPlan
from harness.sandbox.images.recipe import ContextFile, context_of, read_files
from harness.sandbox.snapshot import Snapshot
from harness.scoring.evidence import ReferenceState
from harness.scoring.scorecard import Scorecard
from harness.suite.suites import Suite
from harness.traces.spans import Span
from harness.traces.trial import Trial


@dataclass(frozen=True, kw_only=True)
class ProjectArchive:
    """A project's files, packed."""

    content: bytes
    digest: str
    """Sha-256 of the content."""


def packed(plan: RunPlan, snapshots: Sequence[Snapshot]) -> ProjectArchive:
    """The project's suites (one may use another's files), images' recipes, snapshots, and the planned cases'
    cassettes.

    Raises UsageError for a suite or an agent outside these folders, because it would not be delivered.
    """
    _refuse_outsiders(plan)
    files = tuple(sorted(_files(plan, snapshots), key=lambda file: file.path))
    content = context_of(files)
    return ProjectArchive(content=content, digest=hashlib.sha256(content).hexdigest())


def unpacked(packed_project: ProjectArchive, project: Path) -> None:
    """Writes the files into `project`. Raises SandboxError if they differ from those that were sent."""
    if hashlib.sha256(packed_project.content).hexdigest() != packed_project.digest:
        raise SandboxError("the delivered project files differ from those that were sent")
    with tarfile.open(fileobj=io.BytesIO(packed_project.content)) as archive:
        archive.extractall(project, filter="tar")


def suite_in(project: Path, suite: Suite) -> Suite:
    """The suite with the delivered folder as its own."""
    return suite.model_copy(update={"folder": project / "suites" / suite.folder.name})


def _files(plan: RunPlan, snapshots: Sequence[Snapshot]) -> Iterator[ContextFile]:
    suite = plan.suite
    for needed in _needed_folders(plan.project / "suites", suite.folder):
        yield from _files_below(needed, f"suites/{needed.name}")
    yield from _files_below(plan.project / "images", "images")
    for folder, inside in sorted({one.folder: f"{one.environment}/{one.name}" for one in snapshots}.items(), key=str):
        if folder is not None:
            yield from _files_below(folder, f"snapshots/{inside}")
    cassettes = plan.cassettes or plan.project / "cassettes"
    for case_id in sorted({planned.case_id for planned in plan.own}):
        path = cassette_path(cassettes, suite.name, case_id)
        if path.is_file():
            inside = f"cassettes/{suite.name}/{path.name}"
            yield ContextFile(path=inside, executable=False, content=path.read_bytes())


def _needed_folders(suites: Path, own: Path) -> Iterator[Path]:
    """The suite's own folder, those that are no suites, and those that a YAML file of it names: `../<folder>`."""
    words = "".join(path.read_text(encoding="utf-8", errors="replace") for path in own.rglob("*.yaml"))
    for folder in sorted(path for path in suites.iterdir() if path.is_dir()):
        is_other_suite = folder.name != own.name and (folder / "suite.yaml").exists()
        if not is_other_suite or f"../{folder.name}" in words:
            yield folder


def _files_below(folder: Path, inside: str) -> Iterator[ContextFile]:
    for file in read_files(folder):
        yield replace(file, path=f"{inside}/{file.path}")


def _refuse_outsiders(plan: RunPlan) -> None:
    suites, suite = (plan.project / "suites").resolve(), plan.suite
    if suite.folder.resolve().parent != suites:
        raise UsageError(
            f"suite {suite.name!r} is in {suite.folder}, outside of the project, and is not sent to other machines",
            remedy="move it into the project's suites/ for --executor ray",
        )
    name = plan.agent or suite.default_agent
    version = suite.agents.get(name)
    if version is None or version.files is None:
        return
    if not (suite.folder / version.files).resolve().is_relative_to(suites):
        raise UsageError(
            f"the files of agent {name!r} lie in {version.files!r}, outside of the project's suites/, and are not sent"
            " to other machines",
            remedy="put them into the suite's folder for --executor ray",
        )


# Messages between driver and nodes: plain values, so that no live object crosses the network.


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
    """The handle of the actor that holds the budget and the rate limits; None if no upstream is called live."""


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
