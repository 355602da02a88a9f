"""Suites whose model follows rules: it is started beside a plan, and answers what no cassette holds."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from harness.runs.plan.plan import RunPlan


@contextmanager
def answered_by_rules(plan: RunPlan) -> Iterator[RunPlan]:
    """The plan with the suite's own model of rules as its live model, where the suite has one."""
    program, model = plan.suite.folder / "model", plan.suite.model
    if model is None or not program.is_dir():
        yield plan
        return
    command = [sys.executable, str(program), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            reached = plan.suite.model_copy(update={"model": model.model_copy(update={"base_url": url})})
            yield replace(plan, suite=reached, model="live")
        finally:
            process.terminate()
