"""What the comparison with Harbor reads and rewrites; Harbor runs by `python -m qa.harbor_equality` alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from qa.harbor_equality.folders import with_base_image
from qa.harbor_equality.rewards import Rewards, rewards_here, rewards_of_harbor
from tests.suite.task_folders.conftest import TASKS


def test_no_name_of_a_registry_stays_and_stages_do(tmp_path: Path) -> None:
    with_base_image(TASKS, tmp_path / "copies", "local:1")
    files = sorted((tmp_path / "copies").glob("*/environment/Dockerfile"))
    assert len(files) >= 10
    for file in files:
        named = [line.split()[1] for line in file.read_text().splitlines() if line.startswith("FROM")]
        assert {"local:1"} == set(named), file
    assert "COPY --from=build " in (tmp_path / "copies/two-stages/environment/Dockerfile").read_text()


@pytest.mark.parametrize(
    ("verifier", "exception", "expected"),
    [
        ({"rewards": {"reward": 1.0}}, None, Rewards({"reward": 1.0}, passed=True)),
        ({"rewards": {"a": 1.0, "b": 0.5}}, None, Rewards({"a": 1.0, "b": 0.5}, passed=False)),
        (None, {"exception_type": "RewardFileNotFoundError"}, Rewards({}, passed=False)),
        (None, {"exception_type": "RuntimeError"}, Rewards({}, passed=False, problem="RuntimeError")),
    ],
)
def test_what_harbor_gave_is_read(tmp_path: Path, verifier: Any, exception: Any, expected: Rewards) -> None:
    folder = tmp_path / "greeting__x"
    folder.mkdir()
    result = {"task_name": "greeting", "verifier_result": verifier, "exception_info": exception}
    (folder / "result.json").write_text(json.dumps(result))
    assert expected == rewards_of_harbor(tmp_path, "greeting")


def test_a_trial_that_is_not_there_is_no_verdict(tmp_path: Path) -> None:
    assert rewards_here(tmp_path, "oracle", "greeting").problem
    assert rewards_of_harbor(tmp_path, "greeting").problem
