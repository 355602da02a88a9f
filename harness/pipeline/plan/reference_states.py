"""Which cases of a plan are compared with the state that their reference leaves, and whether that state can be had."""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.case import Case, StateProbe, Suite, ToolMode
from harness.errors import UsageError
from harness.pipeline.plan.plan import RunPlan
from harness.pipeline.plan.secrets import secret_values
from harness.score import EqualsReferenceState, Scorer
from harness.upstream import check_servers


@dataclass(frozen=True, kw_only=True)
class ComparedCase:
    """A planned case, and its checks that compare with the state of its reference, by their names."""

    case: Case
    checks: dict[str, EqualsReferenceState]

    @property
    def reads_files(self) -> bool:
        return any(check.files for check in self.checks.values())

    def probes(self, suite: Suite) -> tuple[StateProbe, ...]:
        """The probes whose answers are compared."""
        declared = (*suite.probes, *self.case.probes)
        names = {probe.name for check in self.checks.values() for probe in check.compared(declared)}
        return tuple(probe for probe in declared if probe.name in names)


def compared_cases(plan: RunPlan, scorer: Scorer) -> tuple[ComparedCase, ...]:
    """Those of the cases that this run makes trials of, in the suite's order."""
    planned = {one.case_id for one in plan.own}
    found = (compared_case(scorer, case) for case in plan.suite.cases if case.id in planned)
    return tuple(one for one in found if one is not None)


def compared_case(scorer: Scorer, case: Case) -> ComparedCase | None:
    """The case with its checks; None where it has none that compares with its reference's state."""
    checks = _checks(scorer, case)
    return ComparedCase(case=case, checks=checks) if checks else None


def _checks(scorer: Scorer, case: Case) -> dict[str, EqualsReferenceState]:
    return {
        one.check.name: one.verifier
        for one in scorer.verifiers.get(case.id, ())
        if isinstance(one.verifier, EqualsReferenceState)
    }


def playing_mode(plan: RunPlan) -> ToolMode:
    """Who answers the reference's calls: restored services, also for a live run, whose servers it must not write to."""
    return "replay" if plan.tools == "replay" else "sealed"


def refuse_stateless(plan: RunPlan, compared: tuple[ComparedCase, ...]) -> None:
    """Raises UsageError where a case has no reference, or where no state is there to be compared; starts nothing."""
    for one in compared:
        place = f"suite {plan.suite.name!r}, case {one.case.id!r}, check {min(one.checks)!r} (reference_state)"
        if one.case.reference is None:
            raise UsageError(
                f"{place}: the case has no reference whose state could be compared",
                remedy="give it `reference:` (an empty list where nothing may change)",
            )
        if plan.tools == "replay":
            _refuse_replayed(plan.suite, one, place)
    if compared and plan.tools != "replay":
        _refuse_not_restorable(plan)


def _refuse_replayed(suite: Suite, compared: ComparedCase, place: str) -> None:
    replayed = next(_replayed(suite, compared.probes(suite)), None)
    if replayed is not None:
        raise UsageError(
            f"{place}: the probe {replayed.name!r} is answered by the cassette, and a replay has no state to compare",
            remedy="run with restored services: --tools sealed",
        )


def _replayed(suite: Suite, probes: tuple[StateProbe, ...]) -> Iterator[StateProbe]:
    servers = {tool.name: suite.servers.get(tool.server) for tool in suite.tools}
    for probe in probes:
        server = None if probe.tool is None else servers.get(probe.tool)
        in_sandbox = server is not None and (server.sandbox or server.browser)
        if not in_sandbox and (probe.sql is None or probe.sql.service is not None):
            yield probe


def _refuse_not_restorable(plan: RunPlan) -> None:
    try:
        check_servers(plan.suite, "sealed", secret_values(plan.suite))
    except UsageError as error:
        raise UsageError(
            f"the reference of a case with a check `reference_state` is played with restored services: {error.message}",
            remedy="serve it from the environment, or leave these cases out of the run",
        ) from None
