"""What cannot be run on a cluster is refused before anything starts, with what to do."""

import re
from pathlib import Path

import pytest

from tests.walks.conftest import Walk, WriteSuite

NOWHERE = ("--executor", "ray", "--ray-address", "127.0.0.1:1")
LOCAL = ("run", "s", "--sandbox", "local")
CASES = "- {id: a, task: Say nothing.}\n"
MODEL = "model: {base_url: 'http://127.0.0.1:8000/v1', api_key: RAY_KEY}\n"


@pytest.mark.parametrize(
    ("rest", "words", "problem", "remedy"),
    [
        ("", ("--ray-address", "ray://127.0.0.1:1"), "a Ray client cannot deliver images", "HOST:PORT"),
        ("", ("--tools", "record"), "--tools record writes the project's cassettes", "omit --executor"),
        (MODEL, ("--model", "live"), "http://127.0.0.1:8000/v1, which on every node", "that all nodes can reach"),
    ],
)
def test_what_cannot_be_shared_is_refused(
    walk: Walk, write_suite: WriteSuite, rest: str, words: tuple[str, ...], problem: str, remedy: str
) -> None:
    write_suite(rest, CASES, {"main.py": "print('done')\n"})
    refused = walk(*LOCAL, *NOWHERE, *words, status=2, env={"RAY_KEY": "sk-0123456789abcdef"})
    assert problem in refused.stderr
    assert remedy in refused.stderr
    assert not (walk.folder / "runs").exists()


def test_an_agent_outside_of_its_suite_would_not_come_along(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", CASES, {"main.py": "print('done')\n"})
    suite = walk.folder / "suites" / "s"
    (suite / "agent").rename(walk.folder / "elsewhere")
    text = (suite / "suite.yaml").read_text(encoding="utf-8")
    (suite / "suite.yaml").write_text(text.replace("files: agent", "files: ../../elsewhere"), encoding="utf-8")
    assert "elsewhere" in walk(*LOCAL, *NOWHERE, status=2).stderr


def test_without_ray_the_extra_is_named(walk: Walk, write_suite: WriteSuite, tmp_path: Path) -> None:
    write_suite("", CASES, {"main.py": "print('done')\n"})
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "ray.py").write_text("raise ImportError('not installed')\n", encoding="utf-8")
    refused = walk(*LOCAL, *NOWHERE, status=2, env={"PYTHONPATH": str(tmp_path / "none")})
    assert re.search(r"pip install (--editable )?'.+\[ray\]( @ .+)?'", refused.stderr)


def test_a_cluster_that_does_not_answer_is_named(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", CASES, {"main.py": "print('done')\n"})
    refused = walk(*LOCAL, *NOWHERE, status=2)
    assert "'127.0.0.1:1'" in refused.stderr
    assert "ray start --head" in refused.stderr
