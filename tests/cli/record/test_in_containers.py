"""The same in a container, without a network but the gateway."""

import pytest

from tests.cli.record.conftest import Desk

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def test_a_command_in_a_container_becomes_a_case_that_replays(desk: Desk, base_image: str) -> None:
    done = desk.record("shop/total", "--", 'python3 coder.py "In $PWD on $(date +%F):"')
    asked = len(desk.models.seen)
    (desk.project / "notes_server.py").unlink()
    desk.walk("run", "shop", "--run-name", "again", "--fail-under", "task_success=1")
    trial = desk.walk.trial("again", "total")

    assert "3 model requests, 2 tool calls, 1 changed files, exit status 0" in done.stdout
    assert "complete, and equal" in done.stdout
    assert asked == len(desk.models.seen)
    assert "In /work on 20" in trial["trajectory"]["steps"][0]["message"]


def test_a_program_that_the_image_does_not_have_is_named(desk: Desk, base_image: str) -> None:
    words = ("--", "claude", "-p", "hello you")
    done = desk.walk("record", "shop/x", *words, status=2)

    assert "'claude'" in done.stderr
    assert "--image NAME" in done.stderr
    missing = desk.walk("record", "shop/x", "--image", "claude", *words, status=2).stderr
    assert f"{desk.project}/images/claude/Dockerfile" in missing
    assert [] == desk.left()
