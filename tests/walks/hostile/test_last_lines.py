"""What the agent's program printed last stands wherever its failure is shown, and steers none of the readers."""

import os
import re
import signal
import time
from xml.etree import ElementTree as ET

import pytest

from tests.walks.conftest import Walk, WriteSuite

LOCAL = ("s", "--sandbox", "local")
CASES = """\
- id: a
  task: Do it.
  limits: {output_kb: 4}
  checks: [{name: k, verifier: final_answer, with: {equals: 'yes'}}]
"""
CRASHES = r"""
import sys
print("thinking about it")
print("\x1b[2J\x07<script>alert(1)</script> ]]> `*[x](y)", file=sys.stderr)
raise RuntimeError("the database is locked")
"""
FLOODS = "import sys\nprint('x' * 79 + '\\n' * 2)\nfor n in range(1000): print(n, 'y' * 1000)\nsys.exit('no disk')\n"
LOGS_AND_CRASHES = """
import sys
for n in range(2000): print("debug", n, file=sys.stderr)
raise RuntimeError("the database is locked")
"""


def formats(walk: Walk, run: str) -> dict[str, str]:
    """The failure as every command shows it."""
    shown = {form: walk("report", run, "--format", form).stdout for form in ("markdown", "junit")}
    shown["terminal"] = walk("report", run, "--all").stdout
    walk("report", run, "--html", "--output", "page.html")
    page = (walk.folder / "page.html").read_text()
    return {**shown, "html": page, "explain": walk("explain", run, "a").stdout}


def test_a_crash_is_shown_with_its_last_lines_everywhere(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", CASES, {"main.py": CRASHES})
    printed = walk("run", *LOCAL, "--run-name", "r", status=1).stdout
    why = printed.partition("did not pass")[2].splitlines()[1]
    assert "RuntimeError: the database is locked" in why

    for where, text in {"run": printed, **formats(walk, "r")}.items():
        plain = text.replace("\\", "")
        assert "RuntimeError: the database is locked" in plain, where
        assert "thinking about it" in plain or where == "run", where
        assert "\x1b[2J" not in text, where
        assert "\x07" not in text, where
        assert where in {"run", "terminal", "explain"} or "<script>alert(1)" not in text, where


@pytest.mark.slow
def test_junit_has_times_streams_and_properties(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", CASES, {"main.py": CRASHES})
    walk("run", *LOCAL, "--run-name", "r", status=1)

    root = ET.fromstring(walk("report", "r", "--format", "junit").stdout)

    (test,) = root.iter("testcase")
    seconds = walk.trial("r", "a")["duration_s"]
    assert [f"{seconds:.3f}"] * 3 == [root.get("time"), root.find("testsuite").get("time"), test.get("time")]
    assert test.findtext("system-err").splitlines()[-1] == "RuntimeError: the database is locked"
    assert "thinking about it" == test.findtext("system-out")
    properties = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert ("r", "tools replay, no model") == (properties["run"], properties["answers"])


@pytest.mark.slow
def test_an_agent_that_succeeds_is_shown_without_what_it_printed(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", CASES, {"main.py": "print('thinking about it')\nprint('yes')\n"})
    suite = walk.folder / "suites" / "s" / "suite.yaml"
    suite.write_text(suite.read_text().replace("files: agent}", "files: agent, answer: stdout}"))
    (walk.folder / "suites/s/cases.yaml").write_text(CASES.replace("equals: 'yes'", "contains: 'yes'"))

    printed = walk("run", *LOCAL, "--run-name", "r").stdout

    assert "thinking about it" not in printed
    assert "system-out" not in walk("report", "r", "--format", "junit").stdout


@pytest.mark.slow
def test_what_was_thrown_away_is_reported(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", CASES, {"main.py": FLOODS})
    walk("run", *LOCAL, "--run-name", "r", status=1)

    for where, text in formats(walk, "r").items():
        plain = " ".join(text.replace("\\", "").split())
        assert "981 KB printed, 7.9 KB kept; it ended with" in plain, where
        assert "999 yyy" in plain, where


@pytest.mark.slow
def test_the_last_lines_are_shown_however_much_was_printed_before(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", CASES, {"main.py": LOGS_AND_CRASHES})
    printed = walk("run", *LOCAL, "--run-name", "r", status=1).stdout

    for where, text in {"run": printed, **formats(walk, "r")}.items():
        plain = text.replace("\\", "")
        assert "RuntimeError: the database is locked" in plain, where
        assert "debug 1999" in plain or where == "run", where
    ended = walk.trial("r", "a")["exit"]
    assert ended["stderr"].startswith("debug 0\n")
    assert 4096 == len(ended["stderr"])
    assert ended["stderr_end"].startswith("debug ")  # a whole line
    assert len(ended["stderr_end"]) <= 4096


@pytest.mark.slow
def test_a_long_reason_stands_whole_in_the_page(walk: Walk, write_suite: WriteSuite) -> None:
    own = """
class Long:
    version = "1"
    def verify(self, evidence):
        return False, "w" * 3000 + " the end of the reason", {}
"""
    check = "checks: [{name: k, verifier: checks.py:Long}]"
    write_suite("", re.sub("checks: .*", check, CASES), {"main.py": "print('no')\n"})
    (walk.folder / "suites/s/checks.py").write_text(own)
    walk("run", *LOCAL, "--run-name", "r")

    assert "the end of the reason" in formats(walk, "r")["html"]


@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_run_that_is_stopped_by_the_keyboard_says_how_it_goes_on(
    walk: Walk, write_suite: WriteSuite, elsewhere: bool
) -> None:
    write_suite("", CASES, {"main.py": "import time\ntime.sleep(30)\n"})
    words = ["run", *LOCAL, "--run-name", "stopped"]
    process = Walk(walk.folder.parent).start("--project", str(walk.folder), *words) if elsewhere else walk.start(*words)
    until = time.monotonic() + 60
    while not (walk.folder / "runs/stopped/manifest.json").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(1)
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert 130 == process.returncode
    place = f"--project {walk.folder} " if elsewhere else ""
    assert f"harness {place}run --resume stopped" in output
