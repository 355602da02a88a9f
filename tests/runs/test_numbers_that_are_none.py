"""A stored NaN or infinity is refused by its field: no floor and no comparison would notice the first."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import ResultsError
from tests.cli.starting import run_command


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("numbers") / "evals"
    assert 0 == CliRunner().invoke(harness, ["init", str(made)]).exit_code
    assert 0 == run_command("run", "hello", "--sandbox", "local", "--run-name", "whole", folder=made).returncode
    return made


def forged(project: Path, number: float) -> None:
    """The run once more, with checksums that agree and `number` as the value of a metric."""
    folder = project / "runs" / "forged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(project / "runs" / "whole", folder)
    trial = folder / "trials" / "hello-ada" / "1"
    card = json.loads((trial / "scorecard.json").read_text())
    next(one for one in card["scores"] if one["value"] is not None)["value"] = number
    (trial / "scorecard.json").write_text(json.dumps(card))
    seal = json.loads((trial / "seal.json").read_text())
    seal["scorecard.json"] = hashlib.sha256((trial / "scorecard.json").read_bytes()).hexdigest()
    (trial / "seal.json").write_text(json.dumps(seal))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("words", [("report", "forged"), ("compare", "whole", "forged")])
def test_a_number_that_is_none_is_refused(project: Path, number: float, words: tuple[str, ...]) -> None:
    forged(project, number)
    done = CliRunner().invoke(harness, ["--project", str(project), *words])
    assert isinstance(done.exception, ResultsError), done.output
    assert re.search(r"scorecard\.json field 'scores\.\d+\.value'", str(done.exception))


def test_another_number_is_read(project: Path) -> None:
    """The positive control: the forgery itself is not what is refused."""
    forged(project, 0.25)
    assert 0 == CliRunner().invoke(harness, ["--project", str(project), "report", "forged"]).exit_code
