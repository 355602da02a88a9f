"""What was typed, named or printed: a task is one argument, a secret is not stored, a name can be stored."""

import os
import re

import pytest

from tests.cli.record.conftest import Desk

LOCAL = ("--sandbox", "local")
NONE = ("--provider", "none")
SECRET = "a-long-value-0123456789"
VARIABLE = {"WALK_TOKEN": SECRET}
ISSUED = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize("command", ["sh -c 'echo {task}'", "/bin/bash -lc 'echo {task} | cat'", "python3 -c {task}"])
def test_a_task_is_never_run_as_code(desk: Desk, command: str) -> None:
    typed = ("record", "shop/x", "--from-command", command, "--task", "x; touch broken", *NONE, *LOCAL)
    done = desk.walk(*typed, status=2)

    assert "{task}" in done.stderr
    assert [] == desk.left()


@pytest.mark.slow
@pytest.mark.parametrize("command", ['echo "do: {task} now" | cat', "echo 'do: {task} now' | cat"])
def test_a_task_inside_of_quotation_marks_is_refused_in_a_shell(desk: Desk, command: str) -> None:
    typed = ("record", "shop/x", "--from-command", command, "--task", "a  *", *NONE, *LOCAL)

    assert "{task}" in desk.walk(*typed, status=2).stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ["echo {task} | cat", "echo '{task}' | cat", 'echo "{task}" | cat'])
def test_a_task_in_a_shell_is_one_argument(desk: Desk, command: str) -> None:
    desk.walk("record", "shop/x", "--from-command", command, "--task", "a  $(b) '*'", *NONE, *LOCAL)

    assert "equals: a  $(b) '*'" in (desk.project / "suites/shop/cases.yaml").read_text()


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        (("echo " + SECRET,), "--from-command holds the value of the environment variable WALK_TOKEN"),
        (("echo --token " + ISSUED,), "--from-command holds what looks like a key or token"),
        (("echo {task}", "--task", "use " + ISSUED), "--task holds what looks like a key or token"),
        (("true", "--mcp", f"notes=server --token {SECRET}"), "--mcp notes holds the value"),
        (("echo {task}", "--task", os.fsdecode(b"\xff")), "the text of --task is not UTF-8"),
        (("echo {task}", "--task", " "), "the text of --task is empty"),
    ],
)
def test_a_text_that_must_not_be_stored_is_refused(desk: Desk, typed: tuple[str, ...], problem: str) -> None:
    done = desk.walk("record", "shop/x", "--from-command", *typed, *NONE, *LOCAL, env=VARIABLE, status=2)

    assert problem in done.stderr
    assert SECRET not in done.stderr + done.stdout
    assert [] == desk.left()


def test_a_check_never_holds_a_secret(desk: Desk) -> None:
    (desk.project / "secret.txt").write_text(SECRET)
    command = f"tee copy < {desk.project / 'secret.txt'}"
    done = desk.walk("record", "shop/x", "--from-command", command, *NONE, *LOCAL, env=VARIABLE)
    written = [path for name in ("suites", "images", "snapshots") for path in (desk.project / name).rglob("*.*")]

    assert re.search(r"^note: .*'answer'", done.stdout, re.MULTILINE)
    assert re.search(r"^note: .*/work/copy\b", done.stdout, re.MULTILINE)
    assert [] == [path for path in written if path.is_file() and SECRET in path.read_text()]


@pytest.mark.slow
def test_a_secret_that_the_model_is_told_is_refused_or_replaced(desk: Desk) -> None:
    options = desk.options("--task", "mend", *LOCAL)
    (desk.project / "secret.txt").write_text(SECRET)
    command = f'python3 coder.py "$(cat {desk.project / "secret.txt"})"'
    typed = ("record", "shop/x", "--from-command", command, *options)
    variables = {**VARIABLE, "WALK_KEY": "sk-walk-0123456789abcdefghij"}
    done = desk.walk(*typed, env=variables, status=2)
    left = desk.left()
    desk.walk(*typed, "--secret", "WALK_TOKEN", env=variables)

    assert "cassettes/shop/x.yaml" in done.stderr
    assert "--secret WALK_TOKEN" in done.stderr
    assert ["secret.txt"] == left
    assert SECRET not in (desk.project / "cassettes/shop/x.yaml").read_text()


@pytest.mark.slow
def test_a_file_name_that_is_not_utf_8_is_named_with_a_pattern_that_leaves_it_out(desk: Desk) -> None:
    (desk.work / os.fsdecode(b"a\xff.txt")).write_text("x")
    typed = ("record", "shop/x", "--from-command", "echo done", *NONE, "--files", "work", *LOCAL)
    done = desk.walk(*typed, status=2)
    desk.walk(*typed, "--exclude", "a?.txt")

    assert "b'a\\xff.txt'" in done.stderr
    assert "--exclude 'a?.txt'" in done.stderr


@pytest.mark.parametrize("name", [".ENV", "Server.PEM"])
def test_a_secret_by_its_name_is_one_in_any_case(desk: Desk, name: str) -> None:
    (desk.work / name).write_text("A=1\n")
    typed = ("record", "shop/x", "--from-command", "echo done", *NONE, "--files", "work", *LOCAL)

    assert name in desk.walk(*typed, status=2).stderr


def test_a_name_that_is_too_long_is_refused_as_a_name(desk: Desk) -> None:
    done = desk.walk("record", "a" * 101 + "/x", "--from-command", "true", *NONE, *LOCAL, status=2)

    assert "100" in done.stderr


def test_a_link_to_nothing_in_the_place_of_a_suite_is_refused_before_the_command_is_run(desk: Desk) -> None:
    (desk.project / "suites").mkdir()
    (desk.project / "suites" / "shop").symlink_to("nothing")
    done = desk.walk("record", "shop/x", "--from-command", "touch /dev/null", *NONE, *LOCAL, status=2)

    assert "suites/shop" in done.stderr
    assert "running the command" not in done.stderr


def test_a_server_that_does_not_start_is_named_with_its_option(desk: Desk) -> None:
    server = ("--mcp", "notes=python3 -c 'raise SystemExit(3)'")
    done = desk.walk("record", "shop/x", "--from-command", "true", *NONE, *server, *LOCAL, status=3)

    assert "'notes'" in done.stderr
    assert "--mcp" in done.stderr


@pytest.mark.slow
def test_a_server_that_writes_without_end_is_ended_and_named(desk: Desk) -> None:
    (desk.project / "flood.py").write_text("import sys\nwhile True:\n    sys.stdout.write('x' * 100_000)\n")
    server = ("--mcp", "notes=python3 flood.py")
    done = desk.walk("record", "shop/x", "--from-command", "true", *NONE, *server, *LOCAL, status=3)

    assert re.search(r"'notes'.* more than \d+", done.stderr)
