"""The stored trial that is run again, and whether it can be."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

from pydantic import JsonValue

from harness.cassettes.cassette import cassette_path
from harness.errors import SnapshotError, UsageError
from harness.runs.determinism import changed_by_agent
from harness.runs.execution.variants import variant_tool_mode
from harness.runs.measured_trials import suite_of
from harness.runs.plan.plan import RunOptions, RunPlan
from harness.runs.plan.planning import plan_of
from harness.runs.plan.variables import varied, with_prompts
from harness.runs.store.folder import RunFolder, StoredTrial, run_path
from harness.runs.store.manifest import RunManifest
from harness.runs.trial.agents import open_agent
from harness.sandbox.snapshots import SnapshotStore
from harness.scoring.findings.facts import suspects
from harness.scoring.scorecard import Scorecard
from harness.suite.cases import Case
from harness.suite.interventions import Intervention
from harness.suite.models import ToolMode
from harness.suite.suites import Suite
from harness.traces.outcomes import MEASURED
from harness.traces.trial import Trial
from harness.values import digest_of


@dataclass(frozen=True, kw_only=True)
class StoredSubject:
    """One committed trial with all that is needed to run it again."""

    project: Path
    suite: Suite
    case: Case
    manifest: RunManifest
    stored: StoredTrial
    card: Scorecard

    @property
    def trial(self) -> Trial:
        return self.stored.trial

    @property
    def name(self) -> str:
        """`run/case/attempt`: the parent of its variants."""
        return f"{self.manifest.run}/{self.trial.case_id}/{self.trial.attempt}"

    @property
    def interventions(self) -> tuple[Intervention, ...]:
        """The interventions that the trial itself was run with; they are applied again in its variants."""
        variant = self.manifest.variant(self.trial.case_id, self.trial.attempt)
        return () if variant is None else variant.interventions

    @property
    def guesses(self) -> tuple[int, ...]:
        """The steps that the detectors name, the most probable first."""
        named = suspects(self.card.diagnoses, self.trial.trajectory, success=self.card.success, rules=self.card.rules)
        return tuple(one.step for one in named)

    @property
    def folder(self) -> RunFolder:
        """The run folder that the trial is stored in."""
        return RunFolder.open(self.stored.folder.parents[2])

    def plan(self, options: RunOptions) -> RunPlan:
        """The plan of its variants: the same suite, case and agent if the options name no other, and the recorded
        answers of the model if they do not ask for live ones.
        """
        agent = options.agent or self.manifest.agent
        own = tuple(f"{name}={value}" for name, value in self.manifest.variables.items())
        update: dict[str, object] = {"suite": self.suite.name, "agent": agent, "cases": (self.case.id,)}
        if self.suite.model is not None:
            update["model"] = options.model or "replay"
        if agent == self.manifest.agent:
            update |= {"variables": own, "prompts": tuple(self.manifest.prompts.values())}
        return plan_of(self.project, options.model_copy(update=update))


def open_subject(project: Path, run: str, case_id: str, attempt: int = 1) -> StoredSubject:
    """Reads a stored trial. Raises UsageError with the run's cases if it has none of that name."""
    return open_subject_of(project, RunFolder.open(run_path(project, run)), case_id, attempt)


def open_subject_of(project: Path, folder: RunFolder, case_id: str, attempt: int = 1) -> StoredSubject:
    """The same, of an open run folder."""
    cards = folder.scorecards()
    card = next((one for one in cards if (one.case_id, one.attempt) == (case_id, attempt)), None)
    stored = None if card is None else folder.stored(case_id, attempt)
    if card is None or stored is None:
        attempts = sorted(one.attempt for one in cards if one.case_id == case_id)
        what = "attempts at the case" if attempts else "cases"
        known = list(map(str, attempts)) or sorted({one.case_id for one in cards})
        raise UsageError(
            f"run {folder.manifest.run!r} has no trial {case_id!r} attempt {attempt}",
            remedy=f"its {what}: {', '.join(known[:20]) or 'none'}{' ...' if len(known) > 20 else ''}",
        )
    suite = suite_of(project, folder)
    case = next((one for one in suite.cases if one.id == case_id), None)
    if case is None:
        raise UsageError(
            f"suite {suite.name!r} has no case {case_id!r} any more", remedy="run the suite again, then fork that run"
        )
    return StoredSubject(project=project, suite=suite, case=case, manifest=folder.manifest, stored=stored, card=card)


def as_it_ran(project: Path, suite: Suite, manifest: RunManifest) -> Suite:
    """The suite whose agent has the values of variables and the versions of prompts that it had in a run."""
    varying = varied(suite, manifest.agent, manifest.variables)
    return with_prompts(project, varying, manifest.agent, chosen=tuple(manifest.prompts.values()))


def tool_mode(subject: StoredSubject, wanted: ToolMode | None) -> ToolMode:
    """Who answers after the fork: what was asked for, else what the suite has."""
    if wanted == "record":
        raise UsageError("a fork never records: its calls are not the agent's own", remedy="use --live sealed")
    return wanted or variant_tool_mode(subject.suite)


Refusal = tuple[str, str]
"""Why a trial cannot be run again, and what would make it possible."""

_MOST_NAMES = 8
"""Snapshots of cases whose combinations are compared with the run's digest."""


def _refusal(subject: StoredSubject, tools: ToolMode | None, *, same_agent: bool) -> Refusal | None:
    """Why the trial cannot be run again; None: it can. Raises SnapshotError for a damaged snapshot."""
    manifest, card = subject.manifest, subject.card
    if subject.folder.suite is not None:
        return (
            "it was imported: neither its agent nor the services behind its tools are part of this project",
            "declare the agent and the tools in a suite, run the case there, and fork that run",
        )
    if card.outcome not in MEASURED:
        return f"it was not measured ({card.outcome})", f"harness run {manifest.suite} --case {card.case_id}"
    if manifest.agent not in subject.suite.agents and manifest.agent not in ("oracle", "nop"):
        known = ", ".join(subject.suite.agents)
        return f"suite {subject.suite.name!r} has no agent {manifest.agent!r} any more", f"it has: {known}"
    without = _without_answers(subject, tools)
    return without or (_other_agent(subject) if same_agent else None) or _other_snapshot(subject)


def _without_answers(subject: StoredSubject, tools: ToolMode | None) -> Refusal | None:
    suite, case = subject.suite, subject.case.id
    mode = tools or variant_tool_mode(suite)
    if mode != "replay" or cassette_path(subject.project / "cassettes", suite.name, case).exists():
        return None
    record = f"harness record {suite.name} --case {case}"
    if variant_tool_mode(suite) == "replay":
        return "its tools are neither services of the environment nor recorded on a cassette", record
    return (
        "its case has no cassette, from which `--live none` would answer after the step",
        f"{record}, or use --live {'tools' if variant_tool_mode(suite) == 'live' else 'sealed'}",
    )


def _other_agent(subject: StoredSubject) -> Refusal | None:
    manifest = subject.manifest
    suite = as_it_ran(subject.project, subject.suite, manifest)
    if open_agent(suite, manifest.agent, subject.project / ".harness" / "agents").digest == manifest.agent_digest:
        return None
    return (
        f"agent {manifest.agent!r} has changed since run {manifest.run!r}, so that its trials cannot be played again",
        f"run it again: harness run {manifest.suite} --agent {manifest.agent} --case {subject.case.id}",
    )


def _other_snapshot(subject: StoredSubject) -> Refusal | None:
    suite, manifest = subject.suite, subject.manifest
    store, own = SnapshotStore(subject.project), dict[str, str]()
    verified = cache(lambda name: store.load(suite.environment, name).digest)
    verified(subject.case.snapshot or suite.snapshot)
    for name in sorted({case.snapshot for case in suite.cases if case.snapshot is not None}):
        with suppress(SnapshotError):  # of another case: this trial does not need it
            own[name] = verified(name)
    if any(case.task_folder is not None for case in suite.cases) or len(own) > _MOST_NAMES:
        return None  # the run's digest covers more than snapshots, or too many of them
    # Cases may have been added since, with snapshots of their own.
    whole = verified(suite.snapshot)
    chosen = (names for count in range(1, len(own) + 1) for names in combinations(own, count))
    cases: list[dict[str, JsonValue]] = [{name: own[name] for name in names} for names in chosen]
    if manifest.snapshot_digest in {whole, *(digest_of({"snapshot": whole, "cases": one}) for one in cases)}:
        return None
    return (
        f"the snapshot {suite.environment}/{suite.snapshot} has changed since run {manifest.run!r}, so that its"
        " services would hold another state",
        f"restore it from version control, or run again: harness run {manifest.suite} --agent {manifest.agent}"
        f" --case {subject.case.id}",
    )


def refuse_unforkable(
    subject: StoredSubject,
    tools: ToolMode | None = None,
    *,
    same_agent: bool = True,
    until: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Raises UsageError for a trial that cannot be run again, SnapshotError if its snapshot is damaged; nothing
    has started by then.

    `tools`: who is to answer; None: what the suite has. `same_agent`: the agent must be the one that made the trial,
    byte for byte. `until`: the step up to which the agent has to repeat itself; None: to the end. `say` receives what
    makes the result doubtful.
    """
    why = _refusal(subject, tools, same_agent=same_agent)
    if why is not None:
        raise UsageError(f"trial {subject.name} cannot be run again: {why[0]}", remedy=why[1])
    if subject.manifest.suite_digest != subject.suite.digest:
        say(f"suite {subject.suite.name!r} has changed since run {subject.manifest.run!r}: it is checked as it is now")
    if same_agent and subject.manifest.model_mode in ("none", "replay"):  # a live model differs by itself
        _tell_not_deterministic(subject, until, say)


def _tell_not_deterministic(subject: StoredSubject, until: int | None, say: Callable[[str], None]) -> None:
    """Tells if other attempts of the run show that the agent does otherwise each time."""
    own = subject.trial
    others = [
        one.trial.trajectory
        for one in subject.folder.trials()
        if one.trial.case_id == own.case_id and one.trial.attempt != own.attempt and one.trial.outcome in MEASURED
    ]
    found = [step for one in others if (step := changed_by_agent(own.trajectory, one)) is not None]
    early = [step for step in found if until is None or step < until]
    if early:
        say(
            f"the agent is not deterministic: {len(early)} of {len(others)} other attempts of run"
            f" {subject.manifest.run!r} do something else at step {min(early)} or later after the same answers, so"
            " that this may end at the first difference; pin what it draws from (a seed, `clock:` or --live none)"
        )
