"""The stored trial that a counterfactual is about, and whether it can be run again at all."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from harness.case import Case, Intervention, Suite, ToolMode
from harness.errors import UsageError
from harness.pipeline import RunOptions, RunPlan, plan_of, suite_of, variant_tool_mode, varied, with_prompts
from harness.results import RunFolder, RunManifest, StoredTrial, run_path
from harness.runner import open_agent
from harness.score import Scorecard, suspects
from harness.trace import MEASURED, Trial


@dataclass(frozen=True, kw_only=True)
class Subject:
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
    def as_it_ran(self) -> Suite:
        """The suite whose agent has the values of variables and the versions of prompts that it had in the run."""
        manifest = self.manifest
        suite = varied(self.suite, manifest.agent, manifest.variables)
        return with_prompts(self.project, suite, manifest.agent, chosen=tuple(manifest.prompts.values()))

    def plan(self, options: RunOptions) -> RunPlan:
        """The plan of its variants: the same suite, case and agent where the options name no other."""
        agent = options.agent or self.manifest.agent
        own = tuple(f"{name}={value}" for name, value in self.manifest.variables.items())
        update: dict[str, object] = {"suite": self.suite.name, "agent": agent, "cases": (self.case.id,)}
        if agent == self.manifest.agent:
            update |= {"variables": own, "prompts": tuple(self.manifest.prompts.values())}
        return plan_of(self.project, options.model_copy(update=update))


def open_subject(project: Path, run: str, case_id: str, attempt: int = 1) -> Subject:
    """Reads a stored trial. Raises UsageError with the run's cases where it has none of that name."""
    return open_subject_of(project, RunFolder.open(run_path(project, run)), case_id, attempt)


def open_subject_of(project: Path, folder: RunFolder, case_id: str, attempt: int = 1) -> Subject:
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
            remedy=f"its {what}: {', '.join(known[:20])}{' ...' if len(known) > 20 else ''}",
        )
    suite = suite_of(project, folder)
    case = next((one for one in suite.cases if one.id == case_id), None)
    if case is None:
        raise UsageError(
            f"suite {suite.name!r} has no case {case_id!r} any more", remedy="run the suite again, then fork that run"
        )
    return Subject(project=project, suite=suite, case=case, manifest=folder.manifest, stored=stored, card=card)


def refusal(project: Path, folder: RunFolder, card: Scorecard) -> tuple[str, str] | None:
    """Why a trial cannot be run again, and what would make it possible; None: it can."""
    manifest = folder.manifest
    if folder.suite is not None:
        return (
            "it was imported: neither its agent nor the services behind its tools are part of this project",
            "declare the agent and the tools in a suite, run the case there, and fork that run",
        )
    if card.outcome not in MEASURED:
        return f"it was not measured ({card.outcome})", f"harness run {manifest.suite} --case {card.case_id}"
    suite = suite_of(project, folder)
    if manifest.agent not in suite.agents and manifest.agent not in ("oracle", "nop"):
        known = ", ".join(suite.agents)
        return f"suite {suite.name!r} has no agent {manifest.agent!r} any more", f"it has: {known}"
    if all(case.id != card.case_id for case in suite.cases):
        return f"suite {suite.name!r} has no case {card.case_id!r} any more", "run the suite again"
    if (
        variant_tool_mode(suite) == "replay"
        and not (project / "cassettes" / suite.name / f"{card.case_id}.yaml").exists()
    ):
        return (
            "its tools are neither services of the environment nor recorded on a cassette",
            f"harness record {suite.name} --case {card.case_id}",
        )
    return None


def refuse_unforkable(project: Path, subject: Subject, *, same_agent: bool = True) -> None:
    """Raises UsageError for a trial that cannot be run again, before anything starts.

    `same_agent`: the agent must be the one that made the trial, byte for byte.
    """
    manifest = subject.manifest
    folder = RunFolder.open(subject.stored.folder.parents[2])
    why = refusal(project, folder, subject.card)
    if why is not None:
        raise UsageError(f"trial {subject.name} cannot be run again: {why[0]}", remedy=why[1])
    agent = open_agent(subject.as_it_ran, manifest.agent, project / ".harness" / "agents")
    if same_agent and agent.digest != manifest.agent_digest:
        raise UsageError(
            f"agent {agent.name!r} has changed since run {manifest.run!r}, so that its trials cannot be played again",
            remedy=f"run it again: harness run {manifest.suite} --agent {agent.name} --case {subject.case.id}",
        )


def forkable(project: Path, folder: RunFolder) -> tuple[int, Counter[str]]:
    """How many trials of a run can be run again, and for how many each reason forbids it."""
    reasons: Counter[str] = Counter()
    possible = 0
    for card in folder.scorecards():
        why = refusal(project, folder, card)
        possible += why is None
        reasons.update(() if why is None else (why[0],))
    return possible, reasons


def tool_mode(subject: Subject, wanted: ToolMode | None) -> ToolMode:
    """Who answers after the fork: what was asked for, else what the suite has."""
    if wanted == "record":
        raise UsageError("a fork never records: its calls are not the agent's own", remedy="use --tools sealed")
    return wanted or variant_tool_mode(subject.suite)
