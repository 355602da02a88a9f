"""Suites and runs in Langfuse: datasets and experiments."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.experiments.dataset import DatasetChanges as DatasetChanges
    from harness.experiments.dataset import export_dataset as export_dataset
    from harness.experiments.dataset_rows import dataset_rows as dataset_rows
    from harness.experiments.langfuse_run import LangfuseExport as LangfuseExport
    from harness.experiments.langfuse_run import export_run as export_run
    from harness.experiments.langfuse_runs import LangfuseRun as LangfuseRun
    from harness.experiments.langfuse_runs import chosen_run as chosen_run
    from harness.experiments.langfuse_runs import dataset_runs as dataset_runs
    from harness.experiments.langfuse_runs import fetch_run as fetch_run
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "dataset": ("DatasetChanges", "export_dataset"),
            "dataset_rows": ("dataset_rows",),
            "langfuse_run": ("LangfuseExport", "export_run"),
            "langfuse_runs": ("LangfuseRun", "chosen_run", "dataset_runs", "fetch_run"),
        },
    )
