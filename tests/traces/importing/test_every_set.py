"""Every set of real trajectories, as its user imports it: by the command line, without conversion by hand."""

import json
from pathlib import Path

import pytest

from tests.cli.starting import run_command

SETS = {
    "tau2": ("tau2", 350),
    "tau2_toolorchestra": ("tau2", 164),
    "kimi_terminal_bench": ("atif", 19),
    "inspect_logs": ("inspect", 55),
    "adk_evalsets": ("adk", 1),
}
REFUSED = {
    "taubench/airline_tools.json": ("tau2", "--tools"),
    "taubench/tasks": ("tau2", "correct the file"),
    "tau2/tasks": ("tau2", "correct the file"),
    "bfcl": ("openai-chat", "name the files that hold the runs"),
    "relytoolbench": ("openai-chat", "give the messages"),
    "llmbar/Natural": ("openai-chat", "give the messages"),
    "trail/gaia/annotations": ("otel", "name the files that hold the runs"),
    "toolbench": ("openai-chat", "give the messages"),
    "sola": ("openai-chat", "searched for"),
}


@pytest.mark.slow
@pytest.mark.parametrize("place", SETS)
def test_every_run_of_a_set_is_imported_by_the_command_line(real_data: Path, tmp_path: Path, place: str) -> None:
    format, trials = SETS[place]
    done = run_command("import", format, str(real_data / place), "--run-name", "r", "--json", folder=tmp_path)
    assert 0 == done.returncode, done.stderr
    assert trials == len(json.loads(done.stdout)["manifest"]["planned"])
    left_out = [line for line in done.stderr.splitlines() if "is left out" in line]
    assert all(" -> " in line for line in left_out)


@pytest.mark.slow
@pytest.mark.parametrize("place", REFUSED)
def test_what_holds_no_runs_is_refused_with_the_reason_and_what_to_do(
    real_data: Path, tmp_path: Path, place: str
) -> None:
    format, remedy = REFUSED[place]
    done = run_command("import", format, str(real_data / place), "--run-name", "r", folder=tmp_path)
    assert 2 == done.returncode
    assert remedy in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()
