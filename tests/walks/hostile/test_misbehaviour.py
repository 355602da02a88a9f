"""What an agent does wrong is the outcome of its own trial, and of no other."""

import pytest

from tests.walks.conftest import Walk, WriteSuite

MAIN = """\
import json, os, signal, subprocess, sys, threading, time, urllib.request

GATEWAY = os.environ["HARNESS_GATEWAY_URL"]

def send(path, content):
    request = urllib.request.Request(GATEWAY + path, content, {"Content-Type": "application/json"}, method="POST")
    try:
        return urllib.request.urlopen(request).status
    except urllib.error.HTTPError as error:
        return error.code

def reply(message):
    send("/reply", json.dumps({"message": message}).encode())

def crash(): sys.exit(7)
def hang(): time.sleep(3600)
def killed(): os.kill(os.getpid(), signal.SIGKILL)

def flood():
    block = b"x" * 1_000_000
    for _ in range(1000):
        os.write(1, block)
    reply("printed")

def fork():
    def multiply():
        while True:
            try:
                os.fork()
            except OSError:
                time.sleep(0.01)
    if os.fork() == 0:
        multiply()
    time.sleep(3600)

def daemons():
    subprocess.Popen(["sleep", "3600"], start_new_session=True)
    reply("left a daemon")

def bytes_():
    os.write(1, b"\\xff\\xfe not utf-8 \\x80")
    reply("odd bytes")

def malformed():
    found = [send("/tools/nothing", b"{not json"), send("/reply", b"[1,"), send("/nowhere", b"{}")]
    reply(repr(found))

def fine():
    with open("note.txt", "w") as file:
        file.write("fine")
    reply("fine")

asked = json.loads(urllib.request.urlopen(GATEWAY + "/turn").read())["message"]
globals()[asked]()
"""

BEHAVIOURS = ("crash", "hang", "killed", "flood", "fork", "daemons", "bytes_", "malformed", "fine")
CASES = "".join(f"- {{id: {name.strip('_')}, task: {name}, category: {name.strip('_')}}}\n" for name in BEHAVIOURS)
REST = """\
checks:
  - {name: answered, verifier: final_answer, with: {regex: "."}}
limits: {seconds: 6, memory_mb: 128, processes: 40, output_kb: 64}
"""

EXPECTED = {
    "crash": ("agent_failed", "status 7"),
    "hang": ("limit_reached", "6 s"),
    "killed": ("agent_failed", "signal 9"),
    "flood": ("finished", None),
    "fork": ("limit_reached", "6 s"),
    "daemons": ("finished", None),
    "bytes": ("finished", None),
    "malformed": ("finished", None),
    "fine": ("finished", None),
}


@pytest.mark.slow
@pytest.mark.docker
def test_each_misbehaviour_is_the_outcome_of_its_own_trial(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(REST, CASES, {"main.py": MAIN})
    summary = walk.summary("run", "s", "--run-name", "bad", "--jobs", "3")
    found = {}
    for case in EXPECTED:
        trial = walk.trial("bad", case)
        found[case] = (trial["outcome"], trial["reason"])
    assert {case: outcome for case, (outcome, _) in EXPECTED.items()} == {case: found[case][0] for case in EXPECTED}
    for case, (_, reason) in EXPECTED.items():
        assert (reason is None) == (found[case][1] is None), (case, found[case])
        assert reason is None or reason in found[case][1]
    assert 0 == summary["counts"]["harness_failed"]


@pytest.mark.slow
@pytest.mark.docker
def test_a_gigabyte_of_output_is_counted_and_not_kept(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(REST.replace("seconds: 6", "seconds: 30"), CASES, {"main.py": MAIN})
    walk("run", "s", "--run-name", "flood", "--case", "flood", "--case", "bytes")
    flood, odd = walk.trial("flood", "flood"), walk.trial("flood", "bytes")
    assert ("finished", 1_000_000_000, 64 * 1024) == (
        flood["outcome"],
        flood["exit"]["stdout_bytes"],
        len(flood["exit"]["stdout"]),
    )
    assert "\ufffd\ufffd not utf-8 \ufffd" == odd["exit"]["stdout"]


@pytest.mark.slow
@pytest.mark.docker
def test_malformed_requests_are_answered_and_the_agent_goes_on(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(REST, CASES, {"main.py": MAIN})
    walk("run", "s", "--run-name", "odd", "--case", "malformed", "--case", "fine")
    assert "[404, 400, 404]" == walk.trial("odd", "malformed")["trajectory"]["final_output"]
    changes = walk.trial("odd", "fine")["end_state"]["changes"]
    assert [("/work/note.txt", "added")] == [(change["path"], change["change"]) for change in changes]


def test_the_local_sandbox_says_that_it_isolates_nothing(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(REST, CASES, {"main.py": MAIN})
    done = walk("run", "s", "--run-name", "here", "--case", "fine", "--case", "crash", "--sandbox", "local")
    assert "NOT isolated" in done.stderr
    assert ("finished", "agent_failed") == (
        walk.trial("here", "fine")["outcome"],
        walk.trial("here", "crash")["outcome"],
    )
    manifest = (walk.folder / "runs" / "here" / "manifest.json").read_text(encoding="utf-8")
    assert '"isolates": false' in manifest or '"isolates":false' in manifest
