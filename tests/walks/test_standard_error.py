"""What each verb writes to standard error when it is started as a process: its own lines, and no library's noise."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.starting import run_command
from tests.docs.surface import commands
from tests.production.receiving import TRUSTED, request, serving, span
from tests.walks.conftest import HARNESS

VERBS = [name.split()[1:] for name, _ in commands()]
REFUSED = re.compile(
    r"Usage: harness [^\n]+(\n {8,}[^\n]+)*\nTry 'harness [^\n]* --help' for help\.\n\n"
    r"Error: No such option '--xyzzy'\.\n"
)
NOISE = re.compile(r"Traceback|Warning\b|nanobind|leaked|Exception ignored", re.IGNORECASE)


def started(*words: str, folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [HARNESS, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=-1
    )


@pytest.mark.slow
@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_help_and_an_unknown_option_say_just_what_they_should(words: list[str], tmp_path: Path) -> None:
    helped = run_command(*words, "--help", folder=tmp_path)
    refused = run_command(*words, "--xyzzy", folder=tmp_path)
    assert (0, "") == (helped.returncode, helped.stderr)
    assert f"harness {' '.join(words)}" in helped.stdout
    assert (2, "") == (refused.returncode, refused.stdout)
    assert REFUSED.fullmatch(refused.stderr), refused.stderr


@pytest.mark.slow
def test_real_work_is_told_without_noise(tmp_path: Path) -> None:
    def said(*words: str, status: int = 0) -> str:
        done = started(*words, folder=tmp_path)
        _, errors = done.communicate(timeout=120)
        assert status == done.returncode, errors
        assert NOISE.search(errors) is None, errors
        return errors

    assert "" == said("init", ".")
    assert {"runs/", "online/"} <= set((tmp_path / ".gitignore").read_text().split())  # both hold what users said
    local = "sandbox `local`: the agent is NOT isolated from this machine\n"
    assert said("run", "hello", "--sandbox", "local", "--run-name", "r").startswith(local)
    for words in (("report", "r"), ("explain", "r", "hello-ada"), ("compare", "r", "r"), ("score", "r")):
        assert "" == said(*words)
    with serving(tmp_path / "online") as served:
        headers = {"Authorization": f"Bearer {TRUSTED}"}
        assert 200 == served.post("/v1/traces", request(span(1, 1)), headers=headers).status
    assert "" == said("online", "sessions")
    assert said("online", "score", "nowhere", status=2).startswith("harness: there is no suite 'nowhere'")
