"""A command becomes a case: its model, MCP server, hosts and files, recorded once and replayed offline."""

import pytest
import yaml

from tests.cli.record.conftest import COMMAND, KEY, LOCAL, Desk
from tests.cli.starting import run_command


def test_a_command_becomes_a_case_that_replays_with_every_server_gone(desk: Desk) -> None:
    done = desk.record("shop/total", *LOCAL, *COMMAND, "Mend total().")
    asked = len(desk.models.seen)
    (desk.project / "notes_server.py").unlink()
    desk.walk("run", "--run-name", "again", "--fail-under", "task_success=1", *LOCAL)
    desk.walk("run", "--agent", "nop", "--fail-under", "task_success=1", *LOCAL, status=1)
    case = yaml.safe_load((desk.project / "suites/shop/cases.yaml").read_text())[0]
    trial = desk.walk.trial("again", "total")

    assert "shop/total: 3 model requests, 2 tool calls, 1 changed files, exit status 0" in done.stdout
    assert "replayed offline: complete, and equal" in done.stdout
    assert "next: harness run --sandbox local" in done.stdout
    assert asked == len(desk.models.seen)
    assert [] == trial["misses"]
    assert ("Mend total().", "Mended; 1 notes.") == (case["task"], trial["trajectory"]["final_output"])
    assert [("files", ["/work/cart.py"]), ("answer", None)] == [
        (check["name"], check["with"].get("modified")) for check in case["checks"]
    ]
    assert "def total(x): return 0\n" == (desk.project / "cart.py").read_text()
    assert all(KEY not in path.read_text(errors="replace") for path in desk.project.rglob("*") if path.is_file())


def test_the_same_command_with_another_text_adds_a_case_and_a_changed_program_is_the_one_that_runs(desk: Desk) -> None:
    desk.record("shop", *LOCAL, *COMMAND, "Mend it now.")
    inside = desk.project / "below"
    inside.mkdir()
    desk.record("shop", *LOCAL, *COMMAND, "Mend 'it' $(again).")
    desk.record("shop", *LOCAL, *COMMAND, "Mend it, now!")
    cases = yaml.safe_load((desk.project / "suites/shop/cases.yaml").read_text())
    other = desk.record("shop", *LOCAL, "--", "python3", "cart.py", "Mend it now.", status=2).stderr
    again = desk.record("shop", *LOCAL, *COMMAND, "Mend it now.", status=2).stderr
    program = desk.project / "coder.py"
    program.write_text(program.read_text().replace('print(message["content"])', 'print("changed")'))
    gate = ("run", *LOCAL, "--fail-under", "task_success=1")
    run = run_command(*gate, folder=inside)

    assert ["mend-it-now", "mend-it-again", "mend-it-now-2"] == [case["id"] for case in cases]
    assert "another command: python3 '{agent}/coder.py' '{task}'" in other
    assert "'mend-it-now'" in again
    assert 1 == run.returncode, run.stdout + run.stderr


def test_hosts_are_found_by_what_the_program_calls(desk: Desk) -> None:
    (desk.project / "call.py").write_text(
        "import os, sys, urllib.request as u\n"
        "for body in (None, b'{}'):\n"
        "    print(u.urlopen(u.Request(os.environ['SHOP_API'] + '/v1/x', body)).status)\n"
    )
    words = (*LOCAL, "--", "python3", "call.py", "book a table")
    env = {"SHOP_API": desk.models.url, "OPENAI_API_KEY": "", "UNREAD_API": "http://127.0.0.1:9"}
    refused = desk.walk("record", *words, status=2, env=env).stderr
    left = desk.left()
    done = desk.walk("record", "--allow-writes", *words, env=env).stdout
    asked = len(desk.models.seen)
    desk.walk("run", "--fail-under", "task_success=1", *LOCAL)
    [host] = yaml.safe_load((desk.project / "suites/call/suite.yaml").read_text())["hosts"]

    assert "--allow-writes" in refused
    assert [] == [path for path in left if path != "call.py"]
    assert "host shop-api.test" in done
    assert "1 read, 1 write" in done
    assert "shop-api.test" == host["host"]
    assert "complete, and equal" in done
    assert asked == len(desk.models.seen)


@pytest.mark.slow
def test_what_differs_in_the_replay_is_said_and_is_no_check(desk: Desk) -> None:
    (desk.project / "now.py").write_text("import time, pathlib\npathlib.Path('a').write_text(str(time.time_ns()))\n")
    said = desk.record("shop/now", *LOCAL, "--", "python3 coder.py Mend.; python3 now.py; date +%N", status=1).stdout
    [check] = yaml.safe_load((desk.project / "suites/shop/cases.yaml").read_text())[0]["checks"]

    assert "complete, but NOT equal" in said
    assert "  files: /work/a" in said
    assert "answer" in said.partition("note: ")[2]
    assert (["/work/a"], ["/work/cart.py"]) == (check["with"]["allow"], check["with"]["modified"])
