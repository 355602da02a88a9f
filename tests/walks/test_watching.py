"""A suite that is watched: from the first run over an edit to Ctrl-C."""

import signal
import subprocess

from tests.walks.conftest import Walk, WriteSuite

AGENT = """\
import json, os, urllib.request as http
gateway = os.environ["HARNESS_GATEWAY_URL"]
http.urlopen(http.Request(gateway + "/reply", json.dumps({"message": "WORD"}).encode()))
"""
CASES = "- {id: one, task: Speak}\n- {id: two, task: Speak}\n"
CHECKS = "checks: [{name: said, verifier: final_answer, with: {contains: hello}}]\n"


def lines_until(process: subprocess.Popen[str], word: str) -> str:
    """What it prints until a line begins with the word; its end is a failure."""
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or not lines[-1].startswith(word):
        line = process.stdout.readline()
        assert line, "".join(lines)
        lines.append(line)
    return "".join(lines)


def test_affected_cases_run_again_after_an_edit_and_ctrl_c_ends_it_with_0(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(CHECKS, CASES, {"main.py": AGENT.replace("WORD", "hullo")})
    suite = walk.folder / "suites" / "s"
    with walk.start("run", "s", "--watch", "--sandbox", "local") as process:
        try:
            assert "2 trials" in lines_until(process, "watching ")
            (suite / "agent" / "main.py").write_text(AGENT.replace("WORD", "hello"), encoding="utf-8")
            told = lines_until(process, "watching ")
            assert "changed: suites/s/agent/main.py" in told
            assert "running 2 of 2 cases again" in told
            (suite / "cases.yaml").write_text("- {id: one\n", encoding="utf-8")
            assert "harness: " in lines_until(process, "watching ")
            (suite / "cases.yaml").write_text(CASES.replace("two, task: Speak", "two, task: Talk"), encoding="utf-8")
            assert "running 1 of 2 cases again" in lines_until(process, "watching ")
            process.send_signal(signal.SIGINT)
            assert "stopped watching" in lines_until(process, "stopped")
            assert 0 == process.wait(60)
        finally:
            process.kill()
    assert 3 == len(list((walk.folder / "runs").iterdir()))
