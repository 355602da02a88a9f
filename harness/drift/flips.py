"""What confirmed drift changes: verdicts with current answers, and the recordings that are updated to them."""

import secrets
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.cassettes.cassette import Cassette, save_cassette
from harness.cassettes.journals import LiveCassette, live_cassettes
from harness.cassettes.recordings import Recording
from harness.cassettes.redaction import Redactor
from harness.cassettes.refresh import RefreshedCassette, refreshed_cassettes, with_answers
from harness.drift.answers import answer_of, why_not_comparable
from harness.drift.observations import OperationIndex, open_operation_index, operation_of
from harness.errors import UsageError
from harness.runs.execution.environment import Say
from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunPlan, secret_values
from harness.runs.store.drift_report import DriftFinding, DriftReport
from harness.runs.store.manifest import PlannedTrial
from harness.sandbox.providers import ProviderName
from harness.suite.loading import load_suite
from harness.suite.suites import Suite

Place = tuple[str, str, int]


def fresh_answers(
    cassettes: Iterable[LiveCassette], operations: OperationIndex, findings: Iterable[DriftFinding]
) -> dict[str, dict[Place, Recording]]:
    """Case -> place on its cassette -> live answer. Of several live answers to one call, the first."""
    wanted = {(one.tool, one.operation, one.change, one.path, f"{one.old_kind}>{one.new_kind}") for one in findings}
    fresh: dict[str, dict[Place, Recording]] = {}
    for kept in cassettes:
        cases = operations.cassettes if kept.case is None else {kept.case} & set(operations.cassettes)
        for live in kept.load().recordings:
            for case in cases:
                if _shows(operations, case, live, wanted):
                    fresh.setdefault(case, {}).setdefault(live.place, live)
    return fresh


def _shows(operations: OperationIndex, case: str, live: Recording, wanted: Collection[tuple[str, ...]]) -> bool:
    mark = live.mark
    answers = operations.cassettes[case].answers(mark.key, mark.state)
    if mark.kind == "model" or mark.occurrence >= len(answers):
        return False
    recorded = answers[mark.occurrence]
    old, new = answer_of(recorded), answer_of(live)
    if old.is_silent or why_not_comparable(new, old) is not None:
        return False
    operation = operation_of(recorded)
    changes = operations.compare(recorded, old, new).changes
    return any((mark.tool, operation, *change.place) in wanted for change in changes)


Answers = Mapping[tuple[str, str, int], Recording]
_FOLDER = ".harness/flips"
_SEVERE = ("breaking", "warning")


@dataclass(frozen=True, kw_only=True)
class FlipPlan:
    """The settings of the replays."""

    project: Path
    suite: Suite
    agent: str | None = None
    sandbox: ProviderName = "docker"
    jobs: int = 1
    say: Say = field(default=lambda _: None)


def with_flips(
    plan: FlipPlan, operations: OperationIndex, findings: Sequence[DriftFinding], kept: Sequence[LiveCassette]
) -> tuple[DriftFinding, ...]:
    """Returns the findings, each with those of its cases whose verdict changes with its tool's current answers.

    A replay with a replay miss (the agent then sends an unrecorded request) changes no verdict. Findings of the
    severity `info` are not replayed: of a tool's findings, a changed verdict is attributed to the more severe ones.
    """
    severe = [one for one in findings if one.severity in _SEVERE]
    fresh = fresh_answers(kept, operations, severe)
    touched = {case: answers for case, answers in fresh.items() if any(case in one.cases for one in severe)}
    if not touched:
        return tuple(findings)
    tools = sorted({one.tool for one in severe})
    replays = _Replays(plan, operations, _recordings_beyond_cassette(kept, operations))
    try:
        before = replays.verdicts({case: {} for case in touched})
        flipped = {tool: _flipped(replays, before, _of_tool(touched, tool)) for tool in tools}
    finally:
        replays.remove()
    return tuple(
        one.model_copy(update={"flips": tuple(case for case in one.cases if case in flipped[one.tool])})
        if one.severity in _SEVERE
        else one
        for one in findings
    )


def _recordings_beyond_cassette(kept: Sequence[LiveCassette], operations: OperationIndex) -> dict[str, list[Recording]]:
    """Maps each case to the recordings of its live trials that its cassette lacks: with live answers, an agent acts as
    it did live.
    """
    found: dict[str, dict[tuple[str, str, int], Recording]] = {}
    for live in kept:
        cassette = operations.cassettes.get(live.case or "")
        if cassette is not None:
            held = {one.place for one in cassette.recordings}
            own = found.setdefault(live.case or "", {})
            for one in live.load().recordings:
                if one.place not in held:
                    own.setdefault(one.place, one)
    return {case: list(own.values()) for case, own in found.items()}


def _of_tool(fresh: Mapping[str, Answers], tool: str) -> dict[str, Answers]:
    own = {
        case: {place: answer for place, answer in answers.items() if answer.mark.tool == tool}
        for case, answers in fresh.items()
    }
    return {case: answers for case, answers in own.items() if answers}


def _flipped(replays: "_Replays", before: Mapping[str, bool | None], fresh: Mapping[str, Answers]) -> set[str]:
    if not fresh:
        return set()
    after = replays.verdicts(fresh)
    return {case for case, verdict in after.items() if None not in (verdict, before[case]) and verdict != before[case]}


class _Replays:
    """Replays cases with changed cassettes, and stores no results."""

    def __init__(self, plan: FlipPlan, operations: OperationIndex, beyond: Mapping[str, Sequence[Recording]]) -> None:
        self._plan = plan
        self._operations = operations
        self._recordings_beyond_cassette = beyond
        self._folder = plan.project / _FOLDER / secrets.token_hex(4)

    def verdicts(self, fresh: Mapping[str, Answers]) -> dict[str, bool | None]:
        """Case -> success with these answers; None: not measured."""
        plan, suite = self._plan, self._plan.suite
        name = f"flips-{secrets.token_hex(4)}"
        cassettes = self._folder / name
        for case, answers in fresh.items():
            old = self._operations.cassettes[case]
            cassette = (
                Cassette([*with_answers(old, answers).recordings, *self._recordings_beyond_cassette.get(case, ())])
                if answers
                else old
            )
            save_cassette(cassettes / suite.name / f"{case}.yaml", cassette, suite=suite.name, case=case)
        run = run_plan(
            RunPlan(
                project=plan.project,
                suite=suite,
                planned=tuple(PlannedTrial(case_id=case.id, attempt=1) for case in suite.cases if case.id in fresh),
                agent=plan.agent,
                model=None if suite.model is None else "replay",
                sandbox=plan.sandbox,
                name=name,
                jobs=plan.jobs,
                cassettes=cassettes,
                folder=str(self._folder.relative_to(plan.project) / "runs"),
            ),
            Watch(say=plan.say),
        )
        return {card.case_id: card.success for card in run.cards()}

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class RefreshPlan:
    """The selected findings of a report; all given parts must match."""

    tools: Sequence[str] = ()
    cases: Sequence[str] = ()

    def takes(self, finding: DriftFinding) -> bool:
        return not self.tools or finding.tool in self.tools


def refreshed(
    project: Path, suite: str, run: Path, report: DriftReport, plan: RefreshPlan
) -> tuple[RefreshedCassette, ...]:
    """Returns the cassettes as updated by the answers that show the report's findings; writes nothing.

    `run` is the folder of the run or probe that stored the answers. Raises UsageError if it stored none.
    """
    kept = list(live_cassettes(run))
    if not kept:
        raise UsageError(f"{run} contains no live answers", remedy=f"harness drift probe {suite}")
    loaded = load_suite(project, suite)
    if report.suite != loaded.name:
        raise UsageError(f"run {run.name}: expected answers of suite {loaded.name!r}, found those of {report.suite!r}")
    secrets = secret_values(loaded)
    operations = open_operation_index(loaded, project / "cassettes", secrets)
    findings = [one for one in report.findings if plan.takes(one)]
    fresh = fresh_answers(kept, operations, findings)
    chosen = {case: answers for case, answers in fresh.items() if not plan.cases or case in plan.cases}
    return tuple(refreshed_cassettes(project / "cassettes", loaded.name, chosen, Redactor(secrets)))
