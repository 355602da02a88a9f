"""Floors of metrics, as gates and options state them: `task_success=0.9`."""

import math
import re
from collections.abc import Sequence

from harness.errors import UsageError

SUCCESS = "task_success"
"""The share of measured trials whose checks all passed."""
_SPEC = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*=\s*(\S+)\s*")


def success_floor(floors: Sequence[str]) -> float | None:
    """The highest floor of `task_success`; None: there is none. Raises UsageError for a malformed floor."""
    return max((value for metric, value in map(floor_of, floors) if metric == SUCCESS), default=None)


def floor_of(floor: str) -> tuple[str, float]:
    """Metric and value of `METRIC=VALUE`. Raises UsageError for anything else."""
    found = _SPEC.fullmatch(floor)
    if found is None:
        raise UsageError(
            f"invalid floor {floor!r}: expected METRIC=VALUE", remedy="for example --fail-under task_success=0.9"
        )
    metric, text = found.groups()
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(
            f"invalid floor {floor!r}: expected a number after `=`, found {text!r}",
            remedy="for example task_success=0.9",
        )
    return metric, value
