"""Checks whether a tau2 run's gold actions belong to the task that it names.

Files exist whose task ids are permuted: `task_id` points at another task than the one that was played, and what the
run's own checks searched for (`reward_info.action_checks`) tells it. The checks decide then: the task of the file
with just their actions is the one that was played; where there is none, the checks' actions stand alone. A run of such
a file without checks has no gold that could be trusted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.ingest.reading import Record
from harness.values import canonical_json

_REMEDY: Final = "correct `task_id`, so that it names the task with these actions"


@dataclass(frozen=True, kw_only=True)
class Gold:
    """The reference of a run: a task of the file, or (task None) the actions in its checks, if any."""

    task: str | None
    actions: tuple[Record, ...] | None = None
    problem: str | None = None
    remedy: str | None = None


class GoldByChecks:
    """The gold of every run of a file."""

    def __init__(self, tasks: Mapping[str, Record], simulations: Sequence[Record]) -> None:
        self._keys = {name: _key(_actions_of(task)) for name, task in tasks.items()}
        self._named = {key: name for name, key in reversed(self._keys.items()) if key}
        self._permuted = any(
            (checked := _checked(run)) and _key(checked) != self._keys.get(run.identifier("task_id") or "")
            for run in simulations
        )

    def of(self, task: str, simulation: Record) -> Gold:
        """The gold of one run that names `task`."""
        checked = _checked(simulation)
        key = _key(checked)
        if key == self._keys[task] and (checked or not self._permuted):
            return Gold(task=task)
        if not checked:
            if not self._permuted:
                return Gold(task=task)
            problem = "the file's task ids contradict its runs' checks, and this run has none: its gold is not used"
            return Gold(task=None, problem=problem, remedy=_REMEDY)
        problem = "the run's checks look for other actions than its task's gold, which is not used"
        found = self._named.get(key)
        return Gold(task=found, actions=None if found else tuple(checked), problem=problem, remedy=_REMEDY)


def _checked(simulation: Record) -> list[Record]:
    rewards = simulation.record("reward_info")
    checks = rewards.records("action_checks") if rewards else []
    return [action for check in checks if (action := check.record("action")) is not None]


def _actions_of(task: Record) -> list[Record]:
    criteria = task.record("evaluation_criteria")
    return criteria.records("actions") if criteria else []


def _key(actions: Sequence[Record]) -> str:
    return "\n".join(canonical_json([action.value("name"), action.value("arguments")]) for action in actions)
