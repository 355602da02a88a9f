"""What cannot be recorded is refused with its remedy, and leaves nothing behind."""

import re
import signal
import time

import pytest

from tests.cli.record.conftest import KEY, Desk
from tests.cli.starting import run_command

LOCAL = ("--sandbox", "local")
WITH_KEY = {"WALK_KEY": KEY}
NO_KEYS = {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "", "WALK_KEY": ""}
NONE = ("--provider", "none")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "problem", "remedy"),
    [
        (("true",), "neither OPENAI_API_KEY nor ANTHROPIC_API_KEY is set", "--provider URL"),
        (("true", "--provider", "anthropic"), "ANTHROPIC_API_KEY is not set", "export ANTHROPIC_API_KEY="),
        (("true", "--provider", "http://127.0.0.1:9", "--api-key", "WALK_KEY"), "WALK_KEY is not set", "export"),
        (("true", "--provider", "gpt"), "--provider: expected openai, anthropic, none or an http(s) URL", ""),
        (("no-such-program -x", *NONE), "exited with status 127", "'no-such-program' was not found on this machine"),
        (("python3 -c 'input()'", *NONE), "EOFError", "it wants a terminal"),
        (("sleep 60", *NONE, "--seconds", "1"), "the time limit of 1 s", "allow more (--seconds, now 1)"),
        (("false", *NONE), "exited with status 1", "add `|| true` if that is meant"),
        (("cat 'unclosed", *NONE), "cannot be read", "close its quotation marks"),
        (("echo {task}", *NONE), "the command has {task}, and there is no task", "--task TEXT"),
        (("echo 'a {task}' | cat", *NONE, "--task", "x"), "{task} must be a word of its own", "put spaces around"),
        (("true", *NONE, "--tool-host", "http://127.0.0.1:80"), "by name only", "shop.test=http://127.0.0.1:80"),
        (("true", *NONE, "--agent", "v1"), "--agent is for a suite that exists", "leave it out"),
        (
            ("true", *NONE, "--mcp", "notes=python3 notes_server.py"),
            "would be called: fail, note_add",
            "--allow-writes",
        ),
    ],
)
def test_a_refusal_names_the_remedy(desk: Desk, typed: tuple[str, ...], problem: str, remedy: str) -> None:
    done = desk.walk("record", "shop/x", "--from-command", *typed, *LOCAL, env=NO_KEYS, status=2)

    assert problem in done.stderr
    assert remedy in done.stderr
    assert [] == desk.left()


@pytest.mark.slow
def test_a_program_that_reaches_no_model_is_told_of_the_base_urls(desk: Desk) -> None:
    words = ("record", "shop/x", "--from-command", "echo done", *desk.options(), *LOCAL)
    done = desk.walk(*words, env=WITH_KEY, status=2)

    assert re.search("OPENAI_BASE_URL.*ANTHROPIC_BASE_URL.*HTTPS_PROXY", done.stderr)
    assert [] == desk.left()


def test_a_host_that_is_written_to_needs_leave(desk: Desk) -> None:
    (desk.work / "send.py").write_text("import urllib.request as u\nu.urlopen('http://shop.test/v1/x', b'{}')\n")
    host = ("--tool-host", f"shop.test={desk.models.url}")
    words = ("record", "shop/x", "--from-command", "python3 send.py", *NONE, "--files", "work", *host, *LOCAL)
    refused = desk.walk(*words, status=2).stderr
    left = desk.left()
    desk.walk(*words, "--allow-writes")

    assert "--allow-writes" in refused
    assert [] == left
    assert 1 == len([path for path, _, _ in desk.models.seen if path == "/v1/x"])


@pytest.mark.slow
def test_a_host_that_is_not_declared_is_named(desk: Desk) -> None:
    (desk.work / "call.py").write_text(
        "import urllib.request as u\nprint(u.urlopen('http://api.shop.test/x').read())\n"
    )
    known = ("--tool-host", f"other.test={desk.models.url}")
    words = ("record", "shop/x", "--from-command", "python3 call.py", *NONE, "--files", "work", *known, *LOCAL)
    done = desk.walk(*words, status=2)

    assert "--tool-host http://api.shop.test" in done.stderr
    assert [] == desk.left()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        (".env", "A=1\n", ".env may hold secrets, by its name"),
        ("sub/id_rsa", "x\n", "sub/id_rsa may hold secrets"),
        ("notes.txt", "-----BEGIN RSA PRIVATE KEY-----\nabc\n", "notes.txt holds what looks like a key or token"),
        ("settings.py", f"k = '{KEY[3:]}'\n", "settings.py holds the value of the environment variable WALK_KEY"),
        ("large.bin", "x" * (11 << 20), "large.bin is too large for a snapshot: 11 MiB, at most 10"),
    ],
)
def test_secrets_and_large_files_do_not_come_into_a_snapshot_unasked(
    desk: Desk, name: str, content: str, problem: str
) -> None:
    path = desk.work / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    words = ("record", "shop/x", "--from-command", "echo done", *NONE, "--files", "work", *LOCAL)
    refused = desk.walk(*words, status=2, env={"WALK_KEY": KEY[3:]})
    left = desk.left()
    done = desk.walk(*words, "--exclude", name)

    assert problem in refused.stderr
    assert f"--exclude '{name}'" in refused.stderr
    assert [] == left
    assert name in done.stdout
    assert not (desk.project / "snapshots/shop/start/files/work" / name).exists()
    assert (desk.project / "snapshots/shop/start/files/work/cart.py").exists()


@pytest.mark.slow
def test_what_is_asked_for_by_name_is_copied(desk: Desk) -> None:
    (desk.work / ".env").write_text("A=1\n")
    (desk.work / ".git").mkdir()
    (desk.work / ".git" / "HEAD").write_text("ref: main\n")
    words = ("record", "shop/x", "--from-command", "cat .git/HEAD", *NONE, "--files", "work", *LOCAL)
    desk.walk(*words, "--include", ".env", "--include", ".git", "--include", ".git/*")

    assert (desk.project / "snapshots/shop/start/files/work/.env").exists()
    assert (desk.project / "snapshots/shop/start/files/work/.git/HEAD").exists()


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_recording_that_is_ended_leaves_nothing_and_can_be_made_again(desk: Desk, ending: signal.Signals) -> None:
    words = ("record", "shop/x", *NONE, "--files", "work", *LOCAL)
    process = desk.walk.start(*words, "--from-command", "sleep 30")
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
    desk.walk(*words, "--from-command", "echo done")


@pytest.mark.slow
def test_what_cannot_be_reached_is_named_with_options_of_the_verb(desk: Desk) -> None:
    away = ("--provider", "http://127.0.0.1:9")
    done = desk.walk("record", "shop/x", "--from-command", "echo done", *away, *LOCAL, status=3)

    assert "http://127.0.0.1:9" in done.stderr
    assert "--provider, --mcp, --tool-host" in done.stderr
    assert [] == desk.left()


def test_options_of_the_two_ways_are_not_mixed(desk: Desk) -> None:
    assert "--files" in desk.walk("record", "shop", "--files", "work", status=2).stderr
    assert "SUITE" in desk.walk("record", status=2).stderr
    assert "'A/b'" in desk.walk("record", "A/b", "--from-command", "x", status=2).stderr
