"""Finds verdicts that drift changes: replays the cases with recorded and with current answers."""

import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.case import Suite
from harness.cassette import Cassette, LiveCassette, Recording, save_cassette, with_answers
from harness.drift import OperationIndex, fresh_answers
from harness.pipeline.execution.environment import Say
from harness.pipeline.plan.plan import RunPlan
from harness.pipeline.run import Watch, run_plan
from harness.results import DriftFinding, PlannedTrial
from harness.sandbox import ProviderName

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
    replays = _Replays(plan, operations, _beyond(kept, operations))
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


def _beyond(kept: Sequence[LiveCassette], operations: OperationIndex) -> dict[str, list[Recording]]:
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
        self._beyond = beyond
        self._folder = plan.project / _FOLDER / secrets.token_hex(4)

    def verdicts(self, fresh: Mapping[str, Answers]) -> dict[str, bool | None]:
        """Case -> success with these answers; None: not measured."""
        plan, suite = self._plan, self._plan.suite
        name = f"flips-{secrets.token_hex(4)}"
        cassettes = self._folder / name
        for case, answers in fresh.items():
            old = self._operations.cassettes[case]
            cassette = (
                Cassette([*with_answers(old, answers).recordings, *self._beyond.get(case, ())]) if answers else old
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
        return {card.case_id: card.success for card in run.scorecards()}

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
