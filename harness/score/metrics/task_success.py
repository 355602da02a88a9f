"""Whether the task was done."""

from typing import ClassVar

from harness.score.evidence import Evidence


class TaskSuccess:
    """1 where every check of the case passed, 0 where one failed; share of trials over a run.

    None where no check failed and one is undecided, and where a case has no check: a missing verdict is not a success.
    """

    name: ClassVar[str] = "task_success"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        match evidence.success:
            case True:
                return 1.0, f"all {len(evidence.verdicts)} checks passed"
            case False:
                failed = [verdict.check for verdict in evidence.verdicts if verdict.passed is False]
                return 0.0, f"failed: {', '.join(failed)}"
            case None:
                unknown = [verdict.check for verdict in evidence.verdicts if verdict.passed is None]
                return None, f"could not tell: {', '.join(unknown)}" if unknown else "the case has no check"
