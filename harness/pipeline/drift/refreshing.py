"""Updates recordings to the drift that a check has confirmed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.case import load_suite
from harness.cassette import Redactor, RefreshedCassette, live_cassettes, refreshed_cassettes
from harness.drift import fresh_answers, open_operation_index
from harness.errors import UsageError
from harness.pipeline.plan.secrets import secret_values
from harness.results import DriftFinding, DriftReport


@dataclass(frozen=True, kw_only=True)
class RefreshPlan:
    """The selected findings of a report; all given parts must match."""

    tools: Sequence[str] = ()
    cases: Sequence[str] = ()
    fingerprints: Sequence[str] = ()

    def takes(self, finding: DriftFinding) -> bool:
        return (not self.tools or finding.tool in self.tools) and (
            not self.fingerprints or finding.fingerprint in self.fingerprints
        )


def refreshed(
    project: Path, suite: str, run: Path, report: DriftReport, plan: RefreshPlan
) -> tuple[RefreshedCassette, ...]:
    """Returns the cassettes as updated by the answers that show the report's findings; writes nothing.

    `run` is the folder of the run or probe that stored the answers. Raises UsageError where it stored none.
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
