"""Trials on the machines of a Ray cluster, each with its own container engine; the driver alone writes the run."""

from collections.abc import Iterator
from contextlib import contextmanager

from harness.errors import UsageError
from harness.plugins import extra_remedy
from harness.runs.execution.environment import Say
from harness.runs.execution.executor import Executor, Job


@contextmanager
def open_cluster(job: Job, say: Say) -> Iterator[Executor]:
    """Prepares every node with the files of the run before the first trial, and removes all of them afterwards.

    Raises UsageError for a run that a cluster cannot execute or if no cluster answers, and SandboxError for a node
    that cannot be prepared.
    """
    try:
        import ray  # noqa: F401 - only tests that it is installed
    except ImportError:
        raise UsageError("--executor ray needs Ray", remedy=extra_remedy("ray")) from None
    from harness.runs.cluster.driver import opened

    with opened(job, say) as executor:
        yield executor
