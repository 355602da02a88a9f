"""The manifest of a run, its name, and the checks of a run folder that is opened."""

import itertools
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from harness.disk import UnusableEntry, check_entries, flush_folder
from harness.errors import UsageError
from harness.runs.store.storage import read_as, refused_entry
from harness.suite.agents import VariableName, VariableValue
from harness.suite.interventions import TrialVariant
from harness.suite.suites import Gates
from harness.values import Frozen

SUITE_NAME = r"^[^/\\\x00-\x1f\x7f.][^/\\\x00-\x1f\x7f]{0,254}$"
"""A name of files and folders; never a path."""
RUN_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$"


@dataclass(frozen=True, kw_only=True, slots=True, config=ConfigDict(extra="forbid", defer_build=True))
class PlannedTrial:
    """One planned trial of a run: a case and the number of the attempt. A run may have 100,000 of them."""

    case_id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    """As in the suite; it becomes a folder's name."""
    attempt: int = Field(ge=1, le=1_000_000)


class VariedTrial(Frozen):
    """A trial with an intervention."""

    case_id: str
    attempt: int
    variant: TrialVariant


class RunUsers(Frozen):
    """The simulated users of a run, if not all are scripts."""

    kind: str | None = None
    """The kind given for every case; None: as suite and cases declare."""
    mode: str | None = None
    """The mode of the users' model: `replay`, `record` or `live`; None: there is no model."""
    model: str | None = None
    log_run: str | None = None
    """The run whose conversations were played back; None: those that the cases name, or none."""
    entailment: str | None = None
    """The digest of the prompt with which turns are compared; None: no model compares them."""
    judged: bool = False
    """Whether the suite or the project declares a judge, which can see what code does not see of a user."""


class RunManifest(Frozen):
    """Digests are SHA-256; None means that the run has no such part. The number of parallel jobs is not stored."""

    run: str = Field(pattern=RUN_NAME)
    created: str
    """ISO 8601, UTC."""
    harness_version: str
    release: str | None = None
    """The release of the agent under test."""
    suite: str = Field(pattern=SUITE_NAME)
    suite_digest: str
    case_digests: dict[str, str] = {}
    """Of an imported run: what each case asks. Its suite is only what one file told; runs are compared by these."""
    agent: str
    """Name of the agent's version in the suite, or of a built-in agent."""
    agent_digest: str
    variables: dict[VariableName, VariableValue] = {}
    """Values of the agent's variables."""
    prompts: dict[str, str] = {}
    """File of the agent -> `name@version` of the prompt that took its place."""
    prompt_digest: str | None = None
    code_digest: str | None = None
    """Of the agent without its declared prompts; None: not known."""
    snapshot: str | None = None
    snapshot_digest: str
    packages_digest: str | None = None
    """Of the package list of the image that the sandboxes ran in."""
    tools_digest: str
    tool_mode: str
    model_mode: str = "none"
    users: RunUsers | None = None
    """None: every user is a script, or a task."""
    provider: str
    isolates: bool
    """Whether the sandbox isolated; if not, scores may owe something to the machine."""
    gates: Gates = Gates()
    """What the run is judged by, also if it is resumed or merged."""
    pins: dict[str, str] = {}
    """Values that were fixed for the agent: clock, seeds, locale, time zone."""
    scorer_versions: dict[str, str] = {}
    """`verifier:<name>`, `metric:<name>`, `detector:<name>` -> version."""
    run_suite_digest: str | None = None
    """The suite that was *run*, if the run was scored again with another one."""
    planned: tuple[PlannedTrial, ...]
    """In the order of the suite's cases, then by attempt; all results have this order."""
    selected: bool = False
    """Whether only some of the suite's cases were planned, such as those that failed in another run."""
    shard: str | None = Field(default=None, pattern=r"^[1-9][0-9]*/[1-9][0-9]*$")
    """`2/4`: the second of four parts, which `harness merge` puts together; None: a whole run."""

    variants: tuple[VariedTrial, ...] = ()
    """Trials with interventions: of which trial each is a variant, at which step, and what was changed."""

    def variant(self, case_id: str, attempt: int) -> TrialVariant | None:
        """How a trial differs from its case; None: it does not."""
        return next((one.variant for one in self.variants if (one.case_id, one.attempt) == (case_id, attempt)), None)

    @property
    def created_ns(self) -> int:
        """`created` in nanoseconds since the epoch; 0 in a manifest of others whose time cannot be read."""
        try:
            at = datetime.fromisoformat(self.created)
            return max(0, int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000) * 1_000_000)
        except (ValueError, OverflowError, OSError):
            return 0


class Scoring(Frozen):
    """The suite and the scorers of a later scoring."""

    harness_version: str
    suite_digest: str
    case_digests: dict[str, str] = {}
    scorer_versions: dict[str, str]


class ManifestDifference(Frozen):
    """A difference between two runs."""

    field: str
    before: str
    after: str
    note: str | None = None
    """The reason, if the difference makes the comparison doubtful."""


_SUBJECTS = {
    "agent": None,
    "agent_digest": None,
    "variables": None,
    "prompts": None,
    "prompt_digest": None,
    "release": None,
    "harness_version": None,
    "tools_digest": None,
    "snapshot_digest": "the agents started in different states",
    "packages_digest": "the sandboxes' images hold different packages",
    "tool_mode": "the tools' answers came from different sources",
    "model_mode": "the model's answers came from different sources",
    "users": "the simulated users are of different kinds",
    "provider": "the sandboxes are of different kinds",
    "isolates": "one of the runs was not isolated",
    "pins": "the pinned values differ",
    "run_suite_digest": "one of the runs was run with another suite, and scored again with this one",
}


def differences(before: RunManifest, after: RunManifest) -> tuple[ManifestDifference, ...]:
    """What differs between two runs apart from name, time and planned trials."""
    return tuple(
        ManifestDifference(field=field, before=_field_text(before, field), after=_field_text(after, field), note=note)
        for field, note in _SUBJECTS.items()
        if getattr(before, field) != getattr(after, field)
    )


def _field_text(manifest: RunManifest, field: str) -> str:
    value = getattr(manifest, field)
    if value is None:
        return "none"
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in sorted(value.items())) or "none"
    return str(value)[:12] if field.endswith("_digest") else str(value)


# Names of runs: validation, defaults, and conflicts.

T = TypeVar("T")


class RunNameTaken(UsageError):
    """A run of that name exists already."""


def begin_run(runs: Path, given: str | None, default: str, begin: Callable[[str], T]) -> T:
    """Returns the result of `begin` for the run's name: `given`, else `default`, `default-2` and so on.

    Several processes may start a run in the same second, so that another process can take a free name first. `begin`
    raises RunNameTaken then, before it has any other effect, and is called with the next name.
    """
    if given is not None:
        return begin(given)
    for name in itertools.chain([default], (f"{default}-{number}" for number in itertools.count(2))):
        if not (runs / name).exists():
            with suppress(RunNameTaken):
                return begin(name)
    raise AssertionError("the numbers do not end")


def default_run_name(now: datetime, suite: str, agent: str) -> str:
    """`20260131-235959-drive_thru-v2`: sorts by time; characters that are not safe in a path become `-`."""
    stamp = now.strftime("%Y%m%d-%H%M%S")
    return "-".join([stamp, *(re.sub(r"[^A-Za-z0-9._]+", "-", part).strip("-.")[:40] for part in (suite, agent))])


def check_run_name(name: str) -> str:
    """The name itself; raises UsageError if it could not be a folder's."""
    if not re.fullmatch(RUN_NAME, name):
        raise UsageError(
            f"invalid run name {name!r}",
            remedy="use at most 120 letters, digits, '.', '_' and '-', beginning with a letter or digit",
        )
    return name


MANIFEST = "manifest.json"


def take_name(unfinished: Path, path: Path) -> None:
    try:
        if path.exists():
            raise FileExistsError
        unfinished.rename(path)  # fails if another harness took the name in between
        flush_folder(path.parent)
    except OSError:
        raise RunNameTaken(
            f"run {path.name!r} already exists in {path.parent}",
            remedy="choose another --run-name, or continue that run: --resume",
        ) from None


def check_below(path: Path, *, besides: frozenset[str] = frozenset()) -> None:
    try:
        check_entries(path, besides=besides)
    except UnusableEntry as error:
        raise refused_entry(error) from None


def check_trial(trials: Path, place: Path) -> None:
    """As `check_below`, for one trial of a folder that may hold many. Raises ResultsError."""
    for folder in (trials, place.parent, place):
        if folder.is_symlink():
            raise refused_entry(UnusableEntry(folder, "is a link, which is not followed"))
    check_below(place)


def read_manifest(path: Path) -> RunManifest:
    if not (path / MANIFEST).is_file():
        raise UsageError(f"{str(path)!r} is not a run folder: it has no {MANIFEST}")
    return read_as(path / MANIFEST, RunManifest)
