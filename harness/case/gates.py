"""What a run of a suite has to reach."""

from pydantic import Field

from harness.values import Frozen


class Gates(Frozen):
    """Conditions that are checked on every run of the suite, which exits 1 where one does not hold; not part of the
    suite's digest.

    An option of the command line overrides the gate for the same figure, or for the same number.
    """

    fail_under: dict[str, float] = {}
    """Figure (`task_success`, a metric, a run metric) -> the least value that passes."""
    no_worse_than: dict[str, float | str] = {}
    """Figure (`task_success`, a metric, `latency_s`) -> the loss against the baseline that passes: a number, or a
    percentage (`10%`) for amounts such as `cost_usd`."""
    against_baseline: bool = False
    """Whether the run is compared with `baselines/<suite>.json`."""
    allow_unmeasured: int = Field(default=0, ge=0)
    """Trials that a gate may miss."""
    max_inconclusive: int = Field(default=0, ge=0)
    """Trials with a replay miss before the run exits 1."""
