"""What cannot be run on a cluster is refused before anything starts, with what to do."""

import re
from pathlib import Path

import pytest

from tests.walks.conftest import Walk, WriteSuite

RAY = ("--executor", "ray")
NOWHERE = {"RAY_ADDRESS": "127.0.0.1:1"}
LOCAL = ("run", "s", "--sandbox", "local")
CASES = "- {id: a, task: Say nothing.}\n"
MODEL = "model: {base_url: 'http://127.0.0.1:8000/v1', api_key: RAY_KEY}\n"


@pytest.mark.parametrize(
    ("rest", "words", "problem", "remedy"),
    [
        ("", ("--live", "tools,record"), "a run that records writes the project's cassettes", "omit --executor"),
        (MODEL, ("--live", "model"), "http://127.0.0.1:8000/v1, which on every node", "that all nodes can reach"),
    ],
)
def test_what_cannot_be_shared_is_refused(
    walk: Walk, write_suite: WriteSuite, rest: str, words: tuple[str, ...], problem: str, remedy: str
) -> None:
    write_suite(rest, CASES, {"main.py": "print('done')\n"})
    env = {**NOWHERE, "RAY_KEY": "sk-0123456789abcdef"}
    refused = walk(*LOCAL, *RAY, *words, status=2, env=env)
    assert problem in refused.stderr
    assert remedy in refused.stderr
    assert not (walk.folder / "runs").exists()


def test_an_agent_outside_of_its_suite_would_not_come_along(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", CASES, {"main.py": "print('done')\n"})
    suite = walk.folder / "suites" / "s"
    (suite / "agent").rename(walk.folder / "elsewhere")
    text = (suite / "suite.yaml").read_text(encoding="utf-8")
    (suite / "suite.yaml").write_text(text.replace("files: agent", "files: ../../elsewhere"), encoding="utf-8")
    assert "elsewhere" in walk(*LOCAL, *RAY, status=2, env=NOWHERE).stderr


def test_an_address_of_a_ray_client_is_refused(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", CASES, {"main.py": "print('done')\n"})
    refused = walk(*LOCAL, *RAY, status=2, env={"RAY_ADDRESS": "ray://127.0.0.1:1"})
    assert "a Ray client cannot deliver images" in refused.stderr
    assert "HOST:PORT" in refused.stderr


def test_without_ray_the_extra_is_named(walk: Walk, write_suite: WriteSuite, tmp_path: Path) -> None:
    write_suite("", CASES, {"main.py": "print('done')\n"})
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "ray.py").write_text("raise ImportError('not installed')\n", encoding="utf-8")
    refused = walk(*LOCAL, *RAY, status=2, env={**NOWHERE, "PYTHONPATH": str(tmp_path / "none")})
    assert re.search(r"pip install (--editable )?'.+\[ray\]( @ .+)?'", refused.stderr)


def test_a_cluster_that_does_not_answer_is_named(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", CASES, {"main.py": "print('done')\n"})
    refused = walk(*LOCAL, *RAY, status=2, env=NOWHERE)
    assert "'127.0.0.1:1'" in refused.stderr
    assert "ray start --head" in refused.stderr
