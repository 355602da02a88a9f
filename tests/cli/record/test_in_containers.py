"""The same in a container, without a network but the gateway."""

import pytest

from tests.cli.record.conftest import KEY, Desk

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def test_a_command_in_a_container_becomes_a_case_that_replays(desk: Desk, base_image: str) -> None:
    task = 'python3 coder.py "In $PWD on $(date +%F):"'
    words = ("record", "shop/total", "--from-command", task, *desk.options())
    done = desk.walk(*words, env={"WALK_KEY": KEY})
    asked = len(desk.models.seen)
    (desk.project / "notes_server.py").unlink()
    desk.walk("run", "shop", "--run-name", "again", "--fail-under", "task_success=1")
    trial = desk.walk.trial("again", "total")

    assert "3 model requests, 2 tool calls, 1 changed files, exit status 0" in done.stdout
    assert "complete, and equal" in done.stdout
    assert asked == len(desk.models.seen)
    assert "In /work on 20" in trial["trajectory"]["steps"][0]["message"]


def test_a_program_that_the_image_does_not_have_is_named(desk: Desk, base_image: str) -> None:
    words = ("record", "shop/x", "--from-command", "claude -p hello", "--provider", "none")
    done = desk.walk(*words, status=2)

    assert "'claude'" in done.stderr
    assert "--image NAME" in done.stderr
    missing = desk.walk(*words, "--image", "claude", status=3).stderr
    assert f"{desk.project}/images/claude/Dockerfile" in missing
    assert [] == desk.left()


def test_an_image_of_the_project_has_the_program(desk: Desk, base_image: str) -> None:
    folder = desk.project / "images" / "greeter"
    folder.mkdir(parents=True)
    (folder / "Dockerfile").write_text("ARG BASE=base\nFROM ${BASE}\nCOPY greet /usr/local/bin/greet\n")
    (folder / "greet").write_text("#!/bin/sh\necho hello\n")
    (folder / "greet").chmod(0o755)
    words = ("record", "shop/greet", "--from-command", "greet", "--provider", "none")
    done = desk.walk(*words, "--image", "greeter", "--json")

    assert '"answer": "hello"' in done.stdout
    assert '"equal": true' in done.stdout
