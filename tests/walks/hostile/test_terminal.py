"""Nothing that an agent or a foreign file says steers the terminal: tried through a real one, and through pipes."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.starting import HARNESS, run_command
from tests.walks.conftest import Walk, WriteSuite

CLEAR, TITLE, CSI_C1, TURNED, BELL = "\x1b[2J", "\x1b]0;owned\x07", "\x9b2J", "\u202egnp.exe", "\x08\x7f"
HOSTILE = f"a{CLEAR}b{TITLE}c{CSI_C1}d{TURNED}e{BELL}f\rg\u2066h\u2028i"
RAW = ("\x1b[2J", "\x1b]", "\x9b", "\u202e", "\u2066", "\u2028", "\x08", "\x7f", "\rg")
AGENT = f"""\
import json, os, sys, urllib.request
url = os.environ["HARNESS_GATEWAY_URL"] + "/reply"
text = {HOSTILE!r}
urllib.request.urlopen(urllib.request.Request(url, json.dumps({{"message": text}}).encode(), method="POST"))
print(text); print(text, file=sys.stderr)
sys.exit(3)
"""
SUITE = f"""\
servers: {{shop: {{base_url: "http://127.0.0.1:9"}}}}
tools:
  - {{name: find, effect: read, server: shop, http: {{path: /find}}, description: {json.dumps(HOSTILE)}}}
"""
CASES = "- {id: c, task: x, checks: [{name: says, verifier: final_answer, with: {contains: nothing of it}}]}\n"


@pytest.fixture
def spoken(walk: Walk, write_suite: WriteSuite) -> Walk:
    """A project with a run whose agent said all of it."""
    write_suite(SUITE, CASES, {"main.py": AGENT})
    walk("run", "s", "--sandbox", "local", "--run-name", "r", status=1)
    return walk


def on_a_terminal(folder: Path, *words: str | Path) -> str:
    """What the command prints on a terminal of its own, output and error."""
    ours, its = pty.openpty()
    env = {"TERM": "xterm-256color", "PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    with subprocess.Popen([*words], cwd=folder, stdin=its, stdout=its, stderr=its, env=env) as started:
        os.close(its)
        seen = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # its other end is closed
                break
            seen += part
        os.close(ours)
    assert started.returncode is not None
    return seen.decode()


ON_A_TERMINAL = [("explain", "r", "c", "--transcript", "everything"), ("tool", "list", "s"), ("run", HOSTILE)]
COMMANDS = [
    ("explain", "r", "c", "--transcript", "everything"),
    ("explain", "r"),
    ("report", "r", "--format", "markdown"),
    ("report", "r", "--format", "junit"),
    ("report", "r", "--json"),
    ("tool", "list", "s"),
    ("trend",),
    ("compare", "r", "r"),
    ("compare", HOSTILE.replace("\0", ""), "r"),
    ("run", HOSTILE),
    ("import", "otel", "foreign.json"),
]


@pytest.mark.slow
def test_no_control_character_is_printed(spoken: Walk) -> None:
    (spoken.folder / "foreign.json").write_text(json.dumps({"resourceSpans": [{HOSTILE: 1}]}))
    printed = [on_a_terminal(spoken.folder, HARNESS, *words) for words in ON_A_TERMINAL]
    for words in COMMANDS:
        done = run_command(*words, folder=spoken.folder)
        printed += [done.stdout, done.stderr]
    assert [] == [(raw, text) for text in printed for raw in RAW if raw in text]
    bare = on_a_terminal(spoken.folder, sys.executable, "-c", f"print({HOSTILE!r})")
    assert [raw for raw in RAW if raw in bare] == list(RAW)  # so it would be seen

    assert "a\\u001b[2Jb\\u001b]0;owned\\u0007c" in printed[0]
    assert "\x1b[1m" in on_a_terminal(spoken.folder, HARNESS, "report", "r")  # our own colours stay
    said = json.loads(spoken("explain", "r", "c", "--transcript", "everything", "--json").stdout)
    assert any(HOSTILE in text for text in _texts(said))  # the same document


RUNNERS = "##vso[task.complete result=Succeeded;]x ##[add-mask]failed ##teamcity[buildStatus status='SUCCESS']"
OBEYED = re.compile(r"##[A-Za-z.]*\[|^\s*::[a-z-]+( .*)?::", re.MULTILINE)
AGENT_FOR_RUNNERS = AGENT.replace(repr(HOSTILE), repr(f"{RUNNERS}\n::stop-commands::z\n  ::error file=a::b"))


@pytest.mark.slow
def test_no_line_is_a_command_to_the_runner_of_a_job(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(SUITE, CASES, {"main.py": AGENT_FOR_RUNNERS})
    done = [walk("run", "s", "--sandbox", "local", "--run-name", "r", status=1)]
    done += [run_command(*words, folder=walk.folder) for words in COMMANDS if words[-1] != "foreign.json"]
    printed = "".join(one.stdout + one.stderr for one in done)

    assert "task.complete" in printed
    assert "stop-commands" in printed
    assert [] == [found[0] for found in OBEYED.finditer(printed)]
    assert 3 == len(OBEYED.findall(RUNNERS))  # so it would be seen
    assert 2 == len(OBEYED.findall("a\n::stop-commands::z\n  ::error file=a::b"))
    told = walk("explain", "r", "c", "--transcript", "everything", "--json").stdout
    assert any(RUNNERS in text for text in _texts(json.loads(told)))


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in _texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [str(value)]
