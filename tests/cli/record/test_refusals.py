"""What cannot be recorded is refused with its remedy, and leaves nothing behind."""

import signal
import time

import pytest

from tests.cli.record.conftest import KEY, LOCAL, Desk
from tests.cli.starting import run_command

NO_KEYS = {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "", "OPENAI_BASE_URL": ""}
SECRET = "a-long-value-0123456789"
ISSUED = "ghp_" + "a1B2" * 9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "problem", "remedy"),
    [
        (("--", "no-such-program", "-x"), "exited with status 127", "'no-such-program' was not found on this machine"),
        (("--", "python3", "-c", "print(1); input()"), "EOFError", "it has no terminal"),
        (("--seconds", "1", "--", "sleep", "60"), "the time limit of 1 s", "allow more (--seconds, now 1)"),
        (("--", "false"), "exited with status 1", "add `|| true` if that is"),
        (("--", "cat 'unclosed"), "cannot be read", "close its quotation marks"),
        (("--",), "the command is empty", "harness record -- PROGRAM"),
        (("--agent", "v1", "--", "true"), "--agent has no meaning with a command", "leave one of them out"),
        (("--mcp", "notes=python3 notes_server.py", "--", "true"), "would be called: fail, note_add", "--allow-writes"),
        (("--", "echo", SECRET), "the command holds the value of the environment variable WALK_TOKEN", "a variable"),
        (("--", "echo", ISSUED), "the command holds what looks like a key or token", "a variable"),
    ],
)
def test_a_refusal_names_the_remedy(desk: Desk, typed: tuple[str, ...], problem: str, remedy: str) -> None:
    done = desk.walk("record", "shop/x", *LOCAL, *typed, env={**NO_KEYS, "WALK_TOKEN": SECRET}, status=2)

    assert problem in done.stderr
    assert remedy in done.stderr
    assert SECRET not in done.stderr + done.stdout
    assert [] == desk.left()


def test_options_of_the_two_ways_are_not_mixed(desk: Desk) -> None:
    assert "--image" in desk.walk("record", "shop", "--image", "x", status=2).stderr
    assert "SUITE" in desk.walk("record", status=2).stderr
    assert "'A/b'" in desk.walk("record", "A/b", "--", "true", status=2).stderr


@pytest.mark.slow
def test_secrets_by_name_stay_out_of_a_snapshot_and_secrets_by_content_are_refused(desk: Desk) -> None:
    (desk.project / ".env").write_text("A=1\n")
    (desk.project / "Server.PEM").write_text("A=1\n")
    words = ("record", "shop/x", *LOCAL, "--", "echo", "done")
    (desk.project / "settings.py").write_text(f"k = '{KEY[3:]}'\n")
    refused = desk.walk(*words, status=2, env={**NO_KEYS, "WALK_KEY": KEY[3:]})
    done = desk.walk("record", "shop/x", "--exclude", "settings.py", *LOCAL, "--", "echo", "done", env=NO_KEYS)
    kept = {path.name for path in (desk.project / "snapshots/shop/start/files/work").iterdir()}

    assert "settings.py holds the value of the environment variable WALK_KEY" in refused.stderr
    assert "--exclude 'settings.py'" in refused.stderr
    assert all(name in done.stdout for name in (".env", "Server.PEM", "settings.py"))
    assert {"cart.py", "coder.py", "notes_server.py"} == kept


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_recording_that_is_ended_leaves_nothing_and_can_be_made_again(desk: Desk, ending: signal.Signals) -> None:
    process = desk.walk.start("record", "shop/x", *LOCAL, "--", "sleep", "30")
    assert process.stdout is not None
    while "running the command" not in process.stdout.readline():
        assert process.poll() is None
    time.sleep(1)
    process.send_signal(ending)
    process.communicate(timeout=60)
    left = desk.left()
    if ending is signal.SIGKILL:
        assert {".harness"} == {path.partition("/")[0] for path in left}
        run_command("doctor", folder=desk.project)
        left = desk.left()

    assert 0 != process.returncode
    assert [] == left
    desk.walk("record", "shop/x", *LOCAL, "--", "echo", "done", env=NO_KEYS)


@pytest.mark.slow
def test_a_check_never_holds_a_secret(desk: Desk) -> None:
    secret = desk.project.parent / "secret.txt"
    secret.write_text(SECRET)
    words = ("record", "shop/x", *LOCAL, "--", f"tee copy < {secret}")
    done = desk.walk(*words, env={**NO_KEYS, "WALK_TOKEN": SECRET})
    written = [path for name in ("suites", "images", "snapshots") for path in (desk.project / name).rglob("*.*")]

    assert "/work/copy" in done.stdout
    assert [] == [path for path in written if path.is_file() and SECRET in path.read_text()]


@pytest.mark.slow
def test_a_server_that_does_not_start_is_named_with_its_option(desk: Desk) -> None:
    server = ("--mcp", "notes=python3 -c 'raise SystemExit(3)'")
    done = desk.walk("record", "shop/x", *server, *LOCAL, "--", "true", status=3, env=NO_KEYS)

    assert "'notes'" in done.stderr
    assert "--mcp" in done.stderr
