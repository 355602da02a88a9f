"""Runs that are not there or damaged, and modes that do not exist, are refused by name with what there is."""

import shutil
from pathlib import Path

import pytest

from tests.cli.starting import run_command


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("missing") / "evals"
    assert 0 == run_command("init", str(made), folder=made.parent).returncode
    assert 0 == run_command("run", "hello", "--sandbox", "local", "--run-name", "whole", folder=made).returncode
    for name in ("torn", "bare", "again"):
        shutil.copytree(made / "runs" / "whole", made / "runs" / name)
    (made / "runs" / "torn" / "manifest.json").write_text('{"run": "to')
    (made / "runs" / "bare" / "manifest.json").unlink()
    assert 0 == run_command("score", "again", folder=made).returncode
    card = min((made / "runs" / "again" / "trials").glob("*/1/scorecard.json"))
    card.write_bytes(card.read_bytes()[:-9])
    return made


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("compare", "whole", "nosuch"), 2, ("'nosuch' is neither", "known: ")),
        (("compare", "nosuch", "whole"), 2, ("'nosuch' is neither", "known: ")),
        (("run", "hello", "--sandbox", "local", "--live", "nosuch"), 2, ("known: all, model",)),
        (("run", "hello", "--sandbox", "local", "--live", "model"), 2, ("declares no model", "model: {api_key")),
        (("explain", "whole", "nosuch"), 2, ("no trial 'nosuch'", "its cases: ")),
        (("report", "torn"), 3, ("torn/manifest.json is not JSON", "the run folder is damaged")),
        (("score", "torn"), 3, ("torn/manifest.json is not JSON", "the run folder is damaged")),
        (("compare", "whole", "torn"), 3, ("torn/manifest.json is not JSON",)),
        (("report", "again"), 3, ("scorecard.json",)),
        (("report", "bare"), 2, ("it has no manifest.json",)),
    ],
)
def test_the_refusal_names_what_is_wrong_and_what_there_is(
    project: Path, words: tuple[str, ...], status: int, said: tuple[str, ...]
) -> None:
    done = run_command(*words, folder=project)
    assert status == done.returncode, done.stderr
    assert all(one in done.stderr for one in said), done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_that_is_whole_is_reported(project: Path) -> None:
    assert 0 == run_command("report", "whole", folder=project).returncode
