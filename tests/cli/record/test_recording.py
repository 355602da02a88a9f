"""A command becomes a case: its model, its MCP server and its files, recorded once and replayed offline."""

import pytest
import yaml

from tests.cli.record.conftest import COMMAND, KEY, Desk

LOCAL = ("--sandbox", "local")
WITH_KEY = {"WALK_KEY": KEY}


def test_a_command_becomes_a_case_that_replays_with_every_server_gone(desk: Desk) -> None:
    words = ("record", "shop/total", "--from-command", COMMAND, "--task", "Mend total().", *desk.options(), *LOCAL)
    done = desk.walk(*words, env=WITH_KEY)
    asked = len(desk.models.seen)
    (desk.project / "notes_server.py").unlink()
    desk.walk("run", "shop", "--run-name", "again", "--fail-under", "task_success=1", *LOCAL)
    case = yaml.safe_load((desk.project / "suites/shop/cases.yaml").read_text())[0]
    trial = desk.walk.trial("again", "total")

    assert "shop/total: 3 model requests, 2 tool calls, 1 changed files, exit status 0" in done.stdout
    assert "replayed offline: complete, and equal" in done.stdout
    assert ["files", "answer"] == [check["name"] for check in case["checks"]]
    assert asked == len(desk.models.seen)
    assert "finished" == trial["outcome"]
    assert [] == trial["misses"]
    assert [("files", ["/work/cart.py"]), ("answer", None)] == [
        (check["name"], check["with"].get("modified")) for check in case["checks"]
    ]
    assert "Mended; 1 notes." == trial["trajectory"]["final_output"]
    assert "def total(x): return 0\n" == (desk.work / "cart.py").read_text()
    assert all(KEY not in path.read_text(errors="replace") for path in desk.project.rglob("*") if path.is_file())


@pytest.mark.slow
def test_a_second_record_adds_a_case_to_the_suite(desk: Desk) -> None:
    task = 'It\'s "new": $(touch pwned) {work}; total'
    shell = "python3 coder.py {task} | tee said.txt"
    desk.walk("record", "shop/one", "--from-command", shell, "--task", "Mend.", *desk.options(), *LOCAL, env=WITH_KEY)
    more = ("record", "shop/two", "--from-command", shell, "--task", task)
    done = desk.walk(*more, "--files", "work", *LOCAL, env=WITH_KEY)
    desk.walk("run", "shop", "--run-name", "both", "--fail-under", "task_success=1", *LOCAL)
    cases = yaml.safe_load((desk.project / "suites/shop/cases.yaml").read_text())
    first = desk.walk.trial("both", "two")["trajectory"]["steps"][0]

    assert ["one", "two"] == [case["id"] for case in cases]
    assert f"{task} Files: cart.py, coder.py, said.txt." == first["message"]
    assert ["/work/said.txt"] == cases[1]["checks"][0]["with"]["added"]
    assert "replayed offline: complete, and equal" in done.stdout

    other = desk.walk("record", "shop/three", "--from-command", "true", *LOCAL, status=2).stderr
    assert "python3 coder.py" in other
    assert "{task}" in other
    assert "'two'" in desk.walk(*more, *LOCAL, status=2).stderr
    (desk.work / "cart.py").write_text("changed\n")
    three = ("record", "shop/three", "--from-command", shell, "--task", "x")
    assert "'shop'" in desk.walk(*three, "--files", "work", status=2).stderr
    assert "--mcp" in desk.walk(*three, "--mcp", "a=b", status=2).stderr
    assert cases == yaml.safe_load((desk.project / "suites/shop/cases.yaml").read_text())


@pytest.mark.slow
def test_what_differs_in_the_replay_is_said_and_is_no_check(desk: Desk) -> None:
    (desk.work / "now.py").write_text("import time, pathlib\npathlib.Path('a').write_text(str(time.time_ns()))\n")
    script = "python3 coder.py {task}; python3 now.py; date +%N"
    words = ("record", "shop/now", "--from-command", script, "--task", "Mend.", *desk.options(), *LOCAL)
    said = desk.walk(*words, env=WITH_KEY, status=1).stdout
    [check] = yaml.safe_load((desk.project / "suites/shop/cases.yaml").read_text())[0]["checks"]

    assert "complete, but NOT equal" in said
    assert "  files: /work/a" in said
    assert "answer" in said.partition("note: ")[2]
    assert (["/work/a"], ["/work/cart.py"]) == (check["with"]["allow"], check["with"]["modified"])


@pytest.mark.slow
def test_a_replay_with_misses_is_called_incomplete_and_names_the_folder_of_local(desk: Desk) -> None:
    words = ("record", "shop/here", "--from-command", 'python3 coder.py "In $PWD:"', *desk.options(), *LOCAL)
    done = desk.walk(*words, env=WITH_KEY, status=1).stdout
    said = desk.walk("run", "shop", *LOCAL, status=1).stdout

    assert "replayed offline: NOT complete" in done
    assert "--sandbox docker" in done
    assert "inconclusive" in said


@pytest.mark.slow
def test_a_host_that_it_calls_is_recorded_and_replayed(desk: Desk) -> None:
    (desk.work / "call.py").write_text("import urllib.request as u\nprint(u.urlopen('http://shop.test/v1/x').read())\n")
    host = ("--tool-host", f"shop.test={desk.models.url}")
    words = ("record", "shop/call", "--from-command", "python3 call.py", "--provider", "none", "--files", "work")
    done = desk.walk(*words, *host, *LOCAL)
    asked = len(desk.models.seen)
    desk.walk("run", "shop", "--fail-under", "task_success=1", *LOCAL)

    assert "0 model requests" in done.stdout
    assert "complete, and equal" in done.stdout
    assert asked == len(desk.models.seen)


@pytest.mark.slow
def test_a_command_that_removes_its_own_folder_is_recorded_without_a_check_of_files(desk: Desk) -> None:
    command = 'echo done; rm -r "$PWD"'
    options = ("--provider", "none", "--files", "work", "--sandbox", "local")
    done = desk.walk("record", "shop/x", "--from-command", command, *options)

    assert "note: what the command changed is not known completely" in done.stdout
    assert "starting checks: answer" in done.stdout
