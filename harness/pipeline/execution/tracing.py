"""The tracer of a run's trials, and the collector that is sent their spans while they run."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness.pipeline.execution.executor import Job
from harness.trace import Tracing, names

if TYPE_CHECKING:
    from harness.trace import ExportReport


@contextmanager
def open_tracing(
    job: Job, report: Callable[["ExportReport"], object], headers: Mapping[str, str] | None = None
) -> Iterator[Tracing | None]:
    """Yields None where spans are only stored. Otherwise `report` receives the result of the export when the run has
    ended.

    `headers` are sent with every request, instead of those of the environment. Raises UsageError.
    """
    endpoint = job.plan.otlp_endpoint
    if endpoint is None:
        yield None
        return
    from harness.trace import LiveExport

    export = LiveExport(endpoint, headers)
    try:
        yield Tracing(_resource(job), [export.processor])
    finally:
        report(export.close())


def _resource(job: Job) -> dict[str, str]:
    plan = job.plan
    attributes = {names.RUN: job.run, names.SUITE: plan.suite.name, names.RELEASE: plan.release}
    return {name: value for name, value in attributes.items() if value is not None}
