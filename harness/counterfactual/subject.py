"""The stored trial that a counterfactual is about."""

from dataclasses import dataclass
from pathlib import Path

from harness.case import Case, Intervention, Suite, ToolMode
from harness.errors import UsageError
from harness.pipeline import RunOptions, RunPlan, plan_of, suite_of, variant_tool_mode, varied, with_prompts
from harness.results import RunFolder, RunManifest, StoredTrial, run_path
from harness.score import Scorecard, suspects
from harness.trace import Trial


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
        named = suspects((*self.card.diagnoses, *self.card.hints), self.trial.trajectory, success=self.card.success)
        return tuple(one.step for one in named)

    @property
    def folder(self) -> RunFolder:
        """The run folder that the trial is stored in."""
        return RunFolder.open(self.stored.folder.parents[2])

    @property
    def as_it_ran(self) -> Suite:
        """The suite whose agent has the values of variables and the versions of prompts that it had in the run."""
        return as_it_ran(self.project, self.suite, self.manifest)

    def plan(self, options: RunOptions) -> RunPlan:
        """The plan of its variants: the same suite, case and agent where the options name no other."""
        agent = options.agent or self.manifest.agent
        own = tuple(f"{name}={value}" for name, value in self.manifest.variables.items())
        update: dict[str, object] = {"suite": self.suite.name, "agent": agent, "cases": (self.case.id,)}
        if agent == self.manifest.agent:
            update |= {"variables": own, "prompts": tuple(self.manifest.prompts.values())}
        return plan_of(self.project, options.model_copy(update=update))


def open_subject(project: Path, run: str, case_id: str, attempt: int = 1) -> StoredSubject:
    """Reads a stored trial. Raises UsageError with the run's cases where it has none of that name."""
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
        raise UsageError("a fork never records: its calls are not the agent's own", remedy="use --tools sealed")
    return wanted or variant_tool_mode(subject.suite)
