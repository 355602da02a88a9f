"""Runs of Langfuse as files for the time of an import."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def fetched_run(dataset: str, run: str | None) -> Iterator[Path]:
    """The file of a run of the dataset; it is removed in the end. Raises UsageError that names the runs; an error about
    the file becomes one about the dataset.
    """
    from harness.errors import InvalidDocument
    from harness.experiments import chosen_run, dataset_runs, fetch_run
    from harness.upstream import LangfuseClient

    client = LangfuseClient.from_environment()
    chosen = chosen_run(dataset_runs(client, dataset), dataset, run)
    with TemporaryDirectory(prefix="harness-langfuse-") as folder:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{dataset}-{chosen.name}").strip(".-")[:100] or "run"
        file = Path(folder) / f"{stem}.jsonl"
        fetch_run(client, chosen, file)
        try:
            yield file
        except InvalidDocument as error:
            if error.path != file:
                raise
            remedy = "check LANGFUSE_HOST, and that its server is of version 4"
            source = Path(f"langfuse:{dataset}")
            raise InvalidDocument(source, error.problem, line=error.line, remedy=remedy) from None
