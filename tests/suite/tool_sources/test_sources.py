"""Tools from MCP servers, Python functions and the sandbox: listed, called, recorded, replayed without their source."""

import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.traces.trajectory import Trajectory

HERE = Path(__file__).parent
STDIO = {
    "mcp": {"command": [sys.executable, "{suite}/tiny_server.py", "{suite}/started"]},
    "server": "tiny",
    "disposable": True,
}
FUNCTIONS = '''
"""Tools of the suite's own."""
from typing import Annotated, Literal
from pydantic import Field

SEEN = []

def remember(word: str, times: Annotated[int, Field(ge=1, le=3)] = 1) -> dict[str, int]:
    """Remembers a word."""
    print("this is not a message")
    SEEN.extend([word] * times)
    return {"known": len(SEEN)}

async def recall(order: Literal["first", "last"]) -> str | None:
    """The first or the last word."""
    return (SEEN[0] if order == "first" else SEEN[-1]) if SEEN else None

def divide(a: float, b: float) -> float:
    return a / b

def _hidden() -> None: ...
'''


def answers(trial: dict[str, Any]) -> list[list[Any]]:
    """What the agent was answered: status and JSON of each call."""
    found: list[list[Any]] = json.loads(trial["trajectory"]["final_output"])
    return found


def digest(trial: dict[str, Any]) -> str:
    return Trajectory.model_validate(trial["trajectory"]).digest


@pytest.fixture
def with_tiny(own_project) -> Any:
    shutil.copy(HERE / "tiny_server.py", own_project.suite)
    return own_project


@pytest.fixture
def tiny_url() -> Iterator[str]:
    spec = importlib.util.spec_from_file_location("tiny_server", HERE / "tiny_server.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    server = module.start_http()
    yield f"http://127.0.0.1:{server.server_port}/mcp"
    server.shutdown()
    server.server_close()


CALLS = [
    ["mcp", "note_add", {"text": "eggs"}],
    ["http", "note_add", {"text": "ham"}],
    ["mcp", "notes", {}],
    ["http", "notes", {}],
    ["mcp", "fail", {}],
    ["http", "fail", {}],
    ["mcp", "fail", {"how": "rpc"}],
    ["mcp", "note_add", {"txt": 1}],
]


def check_answers(trial: dict[str, Any]) -> None:
    added, also, listed, plain, failed, refused, error, invalid = answers(trial)
    new = {"vendorX": {"kept": [1, 2.5, None]}, "x-more": "said"}
    assert added[1]["result"] == {"content": [{"type": "text", "text": "1 notes"}], **new}
    assert also == [200, {"content": [{"type": "text", "text": "2 notes"}], **new}]
    assert listed[1]["result"]["structuredContent"] == {"notes": ["eggs", "ham"]} == plain[1]["structuredContent"]
    assert failed[1]["result"] == {
        "content": [{"type": "text", "text": "it failed"}],
        "isError": True,
        "reason": {"code": 7},
    }
    assert (refused[0], refused[1]["error"]["body"]["reason"]) == (400, {"code": 7})
    assert error[1]["error"] == {"code": -32050, "message": "no such thing", "data": {"more": True}}
    assert invalid[1]["result"]["isError"] is True


def test_an_mcp_server_over_stdio_is_recorded_and_replayed_without_it(with_tiny) -> None:
    with_tiny.write([STDIO], CALLS)
    with_tiny.type("tool", "refresh", "s")
    (with_tiny.suite / "started").unlink()
    recorded = with_tiny.run("record", "recorded")
    check_answers(recorded)
    (with_tiny.suite / "started").unlink()
    (with_tiny.suite / "tiny_server.py").unlink()
    replayed = with_tiny.run("replay", "replayed")
    assert not (with_tiny.suite / "started").exists()
    assert digest(replayed) == digest(recorded)
    assert replayed["tiers"] == {"exact": 7}


def test_an_mcp_server_over_http_is_recorded_and_replayed_without_it(own_project, tiny_url: str) -> None:
    own_project.write([{"mcp": {"base_url": tiny_url}, "server": "tiny", "disposable": True}], CALLS)
    own_project.type("tool", "refresh", "s")
    recorded = own_project.run("record", "recorded")
    check_answers(recorded)
    assert digest(own_project.run("replay", "replayed")) == digest(recorded)


def test_each_trial_has_a_server_of_its_own(with_tiny) -> None:
    with_tiny.write([STDIO], [["http", "note_add", {"text": "x"}]])
    with_tiny.type("tool", "refresh", "s")
    counts = [answers(with_tiny.run("live", name))[0][1]["content"][0]["text"] for name in ("one", "two")]
    assert counts == ["1 notes", "1 notes"]


@pytest.mark.slow
def test_a_server_that_misbehaves_is_told_in_the_closed_vocabulary(with_tiny) -> None:
    calls = [["http", "fail", {"how": how}] for how in ("slowly", "garbled", "exit", None)]
    group = STDIO | {"override": {"fail": {"timeout_s": 0.5}}, "only": ["fail"]}
    with_tiny.write([group], calls)
    with_tiny.type("tool", "refresh", "s")
    for order in ([0], [1], [2, 3]):
        with_tiny.write([group], [calls[index] for index in order])
        found = [answer[1]["error"]["type"] for answer in answers(with_tiny.run("live", f"run{order[0]}"))]
        assert found == {0: ["timeout"], 1: ["malformed_result"], 2: ["reset", "reset"]}[order[0]]


def test_a_server_that_cannot_start_is_the_harness_failure_and_says_what_it_wrote(own_project) -> None:
    (own_project.suite / "broken.py").write_text("import sys; sys.exit('no licence')")
    group = {"mcp": {"command": [sys.executable, "{suite}/broken.py"]}, "server": "b"}
    own_project.write([group], [])
    said = own_project.type("tool", "refresh", "s", status=3)
    assert "MCP server 'b'" in said
    assert "no licence" in said
    own_project.write([{"mcp": {"command": ["no-such-program-at-all"]}, "server": "b"}], [])
    assert "no-such-program-at-all" in own_project.type("tool", "refresh", "s", status=2)


def test_listings_are_kept_shown_and_compared(with_tiny) -> None:
    with_tiny.write([STDIO], [])
    assert "harness tool refresh s" in with_tiny.type("run", "s", "--sandbox", "local", status=2)
    assert "tiny: 3 tools, 3 changes" in with_tiny.type("tool", "refresh", "s")
    assert "tiny: 3 tools, 0 changes" in with_tiny.type("tool", "refresh", "s", "--check")
    shown = json.loads(with_tiny.type("tool", "list", "s", "--json"))
    assert shown[0]["name"] == "note_add"
    assert shown[0]["source_name"] == "note.add"
    assert shown[0]["listed"] == {"title": "Add a note", "vendorX": {"kept": [1, 2.5, None]}, "x-more": "said"}
    assert [tool.get("effect", "write") for tool in shown] == ["write", "read", "write"]
    assert "tiny  mcp  write  note_add(text: string)" in with_tiny.type("tool", "list", "s")
    server = with_tiny.suite / "tiny_server.py"
    server.write_text(server.read_text().replace("All notes.", "Every note."))
    assert "changed notes" in with_tiny.type("tool", "refresh", "s", "--check", status=1)


def test_groups_choose_name_and_class_their_tools(with_tiny) -> None:
    group = STDIO | {"only": ["n*"], "prefix": "t_", "reads": ["note.add"], "writes": ["notes"]}
    with_tiny.write([group], [])
    with_tiny.type("tool", "refresh", "s")
    shown = json.loads(with_tiny.type("tool", "list", "s", "--json"))
    assert [(tool["name"], tool.get("effect", "write")) for tool in shown] == [
        ("t_note_add", "read"),
        ("t_notes", "write"),
    ]
    with_tiny.write([group | {"only": ["x*"]}], [])
    assert re.search(r"'x\*'.*: note.add, notes, fail", with_tiny.type("tool", "list", "s", status=2))


def test_writes_need_a_disposable_server_and_a_refused_run_leaves_no_folder(with_tiny) -> None:
    with_tiny.write([{**STDIO, "disposable": False}], [])
    with_tiny.type("tool", "refresh", "s")
    said = with_tiny.type("run", "s", "--live", "tools", "--sandbox", "local", status=2)
    assert "not disposable" in said
    assert "--live none" in said
    assert not (with_tiny.suite.parents[1] / "runs").exists()


def test_python_functions_are_tools_and_replayed_without_running(own_project) -> None:
    (own_project.suite / "functions.py").write_text(FUNCTIONS)
    calls = [
        ["http", "remember", {"word": "egg", "times": 2}],
        ["mcp", "remember", {"word": "ham"}],
        ["http", "recall", {"order": "last"}],
        ["http", "divide", {"a": 1, "b": 4}],
        ["http", "divide", {"a": 1, "b": 0}],
        ["http", "remember", {"word": "egg", "times": 9}],
    ]
    own_project.write([{"python": "functions.py", "reads": ["recall", "divide"], "disposable": True}], calls)
    own_project.type("tool", "refresh", "s")
    recorded = own_project.run("record", "recorded")
    first, second, last, quotient, by_zero, invalid = answers(recorded)
    assert (first, last, quotient) == ([200, {"known": 2}], [200, "ham"], [200, 0.25])
    assert second[1]["result"]["structuredContent"] == {"known": 3}
    assert by_zero[1]["error"]["body"] == {"error": "ZeroDivisionError", "message": "float division by zero"}
    assert (by_zero[0], invalid[0]) == (400, 422)
    assert digest(own_project.run("replay", "replayed")) == digest(recorded)
    shown = json.loads(own_project.type("tool", "list", "s", "--json"))
    assert [tool["name"] for tool in shown] == ["remember", "recall", "divide"]
    (own_project.suite / "functions.py").write_text(FUNCTIONS + "\n")
    assert "harness tool refresh" in own_project.type("tool", "list", "s", status=2)


def test_a_pointer_that_matches_nothing_is_told_by_every_verb_that_reads_it(own_project) -> None:
    (own_project.suite / "functions.py").write_text(FUNCTIONS)
    rules = {"volatile": ["/knwon"], "generated_ids": ["/id", "/known"], "ignore": ["word", "wrod", "/times/at"]}
    group = {"python": "functions.py", "disposable": True, "override": {"remember": rules}}
    own_project.write([group], [["http", "remember", {"word": "egg"}]])
    own_project.type("tool", "refresh", "s")
    said = "tool 'remember': "
    answers = [f"{said}{place} matches nothing in the 1 recorded answers of remember" for place in (
        "volatile: /knwon", "generated_ids: /id")]  # fmt: skip
    expected = {*answers, *(f"{said}ignore: {name} matches no parameter" for name in ("wrod", "/times/at"))}
    for command in (("record", "s", "--sandbox", "local"), ("cassette", "check", "s"), ("tool", "list", "s")):
        lines = own_project.type(*command).splitlines()
        assert expected == {line.removeprefix("s: ") for line in lines if "matches no" in line}


def test_tools_act_in_the_trials_own_sandbox_in_every_mode(own_project) -> None:
    calls = [
        ["http", "write_file", {"path": "notes/a.txt", "content": "eggs\n"}],
        ["mcp", "shell", {"command": "cat notes/a.txt; echo oops >&2; exit 4"}],
        ["http", "read_file", {"path": "notes/a.txt"}],
        ["http", "read_file", {"path": "nothing"}],
        ["http", "shell", {"command": "sleep 30"}],
    ]
    override = {"shell": {"timeout_s": 0.5}}
    own_project.write([{"sandbox": ["shell", "read_file", "write_file"], "override": override}], calls)
    trials = [own_project.run(mode, f"run-{mode}") for mode in ("replay", "record", "live")]
    wrote, ran, read, nothing, slow = answers(trials[0])
    assert (wrote, read) == ([200, {"written_bytes": 5}], [200, {"content": "eggs\n"}])
    told = {"exit_code": 4, "stdout": "eggs\n", "stderr": "oops\n", "timed_out": False}
    assert ran[1]["result"]["structuredContent"] == told
    assert (nothing[0], slow[1]["timed_out"]) == (404, True)
    assert len({digest(trial) for trial in trials}) == 1
    assert trials[0]["tiers"] == {"sealed": 5}
    assert "notes/a.txt" in json.dumps(trials[0]["end_state"])
