"""The manifest of a run: everything that a score can depend on."""

from pydantic import Field

from harness.case import TrialVariant, VariableName, VariableValue
from harness.values import Frozen

SUITE_NAME = r"^[^/\\\x00-\x1f\x7f.][^/\\\x00-\x1f\x7f]{0,254}$"
"""A name of files and folders; never a path."""
RUN_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$"


class PlannedTrial(Frozen):
    """One planned trial of a run: a case and the number of the attempt."""

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
    replay: str = "strict"
    """`lenient`: calls that were not recorded in their state may have been answered as at an earlier one."""
    provider: str
    isolates: bool
    """Whether the sandbox isolated; where not, scores may owe something to the machine."""
    pins: dict[str, str] = {}
    """Values that were fixed for the agent: clock, seeds, locale, time zone."""
    scorer_versions: dict[str, str] = {}
    """`verifier:<name>`, `metric:<name>`, `run_metric:<name>`, `detector:<name>` -> version."""
    run_suite_digest: str | None = None
    """The suite that was *run*, where the run was scored again with another one."""
    planned: tuple[PlannedTrial, ...]
    """In the order of the suite's cases, then by attempt; all results have this order."""
    shard: str | None = Field(default=None, pattern=r"^[1-9][0-9]*/[1-9][0-9]*$")
    """`2/4`: the second of four parts, which `harness merge` puts together; None: a whole run."""

    variants: tuple[VariedTrial, ...] = ()
    """Trials with interventions: of which trial each is a variant, at which step, and what was changed."""

    def variant(self, case_id: str, attempt: int) -> TrialVariant | None:
        """How a trial differs from its case; None: it does not."""
        return next((one.variant for one in self.variants if (one.case_id, one.attempt) == (case_id, attempt)), None)


class Scoring(Frozen):
    """The suite and the scorers of a later scoring."""

    harness_version: str
    suite_digest: str
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
    "replay": "one of the runs used answers from earlier states",
    "provider": "the sandboxes are of different kinds",
    "isolates": "one of the runs was not isolated",
    "pins": "the pinned values differ",
    "run_suite_digest": "one of the runs was run with another suite, and scored again with this one",
}


def differences(before: RunManifest, after: RunManifest) -> tuple[ManifestDifference, ...]:
    """What differs between two runs apart from name, time and planned trials."""
    return tuple(
        ManifestDifference(field=field, before=_shown(before, field), after=_shown(after, field), note=note)
        for field, note in _SUBJECTS.items()
        if getattr(before, field) != getattr(after, field)
    )


def _shown(manifest: RunManifest, field: str) -> str:
    value = getattr(manifest, field)
    if value is None:
        return "none"
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in sorted(value.items())) or "none"
    return str(value)[:12] if field.endswith("_digest") else str(value)
