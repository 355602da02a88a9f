"""The executors by name: built-in and installed ones (entry points `harness.executor`)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, cast

from harness.errors import UsageError
from harness.plugins import Registry

if TYPE_CHECKING:
    from harness.runs.execution.environment import Say
    from harness.runs.execution.executor import Executor, Job


OpenExecutor = Callable[["Job", "Say"], AbstractContextManager["Executor"]]
"""The type of an executor's entry point: called once per run, and left when every trial is committed or the run has
failed.
"""

EXECUTORS: Final = Registry(
    seam="executor",
    built_in={
        "local": "harness.runs.execution.local:open_local",
        "ray": "harness.runs.cluster.opening:open_cluster",
    },
)


def open_executor(job: "Job", say: "Say") -> "AbstractContextManager[Executor]":
    """The executor of the job's plan. Raises UsageError for an unknown name."""
    return cast(OpenExecutor, _loaded_class(job.plan.executor))(job, say)


def runs_elsewhere(name: str) -> bool:
    """Whether trials run on other machines, so that checks of this machine's network do not apply to them.

    An executor of a third party declares it by an attribute `elsewhere = True` of the object that its entry point
    names.
    """
    return name == "ray" or bool(getattr(_loaded_class(name), "elsewhere", False))


def _loaded_class(name: str) -> Any:
    found = EXECUTORS.find(name)
    if not callable(found):
        raise UsageError(f"executor {name!r}: expected something to call with a job, found {type(found).__name__}")
    return found
