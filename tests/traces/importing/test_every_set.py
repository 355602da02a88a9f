"""Every set of real trajectories, as its user imports it: by the command line, without conversion by hand."""

from pathlib import Path

import pytest

from tests.cli.starting import run_command

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
