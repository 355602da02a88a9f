"""A failing session of production becomes a case that the agent fails and the mended one passes, of every importer."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.starting import run_command
from tests.production.receiving import request, serving, span
from tests.production.walking import PROJECT, harness, harness_json

DESK = PROJECT / "qa" / "demo_online" / "project"
QUESTION = "Where is my order A3?"
ORDER = {"order": "A3", "state": "delayed", "days": 4}
GAVE_UP = "I am still looking into it, please ask again later."
CALLS = 7


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """The project of `make demo-online`."""
    return Path(shutil.copytree(DESK, tmp_path / "project"))


def runs(desk: Path, case: str, agent: str) -> bool | None:
    options = ("--sandbox", "local", "--agent", agent, "--run-name", agent)
    run_command("--project", str(desk), "run", "helpdesk", "--case", case, *options, folder=PROJECT, timeout_s=300)
    path = desk / "runs" / agent / "trials" / case / "1" / "scorecard.json"
    success: bool | None = json.loads(path.read_text(encoding="utf-8"))["success"]
    return success


def assert_fails_and_passes_when_mended(desk: Path, case: str) -> None:
    assert [False, True] == [runs(desk, case, agent) for agent in ("r2", "fixed")]


def looping_session(greets: bool = True) -> dict[str, Any]:
    """Spans of the session that r2 fails: it looks the order up until it gives up."""
    told: list[dict[str, Any]] = []
    history: list[dict[str, Any]] = []

    def chat(part: dict[str, Any]) -> None:
        told.append(
            span(1, len(told) + 1, attributes={
                "gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c1", "gen_ai.request.model": "m",
                "gen_ai.input.messages": json.dumps(history),
                "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [part]}])})
        )  # fmt: skip
        history.append({"role": "assistant", "parts": [part]})

    def user(text: str) -> None:
        history.append({"role": "user", "parts": [{"type": "text", "content": text}]})

    def call(number: int, name: str, arguments: dict[str, Any], result: dict[str, Any]) -> None:
        chat({"type": "tool_call", "id": f"t{number}", "name": name, "arguments": arguments})
        told.append(
            span(1, len(told) + 1, attributes={
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": f"t{number}",
                "gen_ai.tool.call.arguments": json.dumps(arguments), "gen_ai.tool.call.result": json.dumps(result)})
        )  # fmt: skip
        response = {"type": "tool_call_response", "id": f"t{number}", "response": result}
        history.append({"role": "tool", "parts": [response]})

    if greets:
        user("Hello, my token is sk-proj-abcdefghijklmnopqrstuvwx.")
        call(0, "opening_hours", {"day": "Monday"}, {"day": "Monday", "from": "9:00", "to": "17:00"})
        chat({"type": "text", "content": "Which order is it about? People answer from 9:00 to 17:00."})
    user(QUESTION)
    for number in range(1, CALLS + 1):
        call(number, "get_order", {"order": "A3"}, ORDER)
    chat({"type": "text", "content": GAVE_UP})
    return request(*told, resource={"service.version": "r2"})


@pytest.fixture
def scored(desk: Path) -> Path:
    """The project with that session, scored."""
    with serving(desk / "online") as served:
        assert {} == served.post("/v1/traces", looping_session()).json
    harness("online", "score", "helpdesk", project=desk)
    return desk


@pytest.mark.slow
def test_an_outage_of_a_tool_is_no_recording_of_the_case(desk: Path) -> None:
    """Else the case asks of an agent that it answers what nobody told it."""
    with serving(desk / "online") as served:
        one = looping_session(greets=False)
        for told in one["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            facts = {fact["key"]: fact for fact in told["attributes"]}
            if "gen_ai.tool.call.result" in facts:
                told["attributes"].remove(facts["gen_ai.tool.call.result"])
                told["attributes"].append({"key": "error.type", "value": {"stringValue": "503"}})
                told["status"] = {"code": 2}
            else:
                facts["gen_ai.input.messages"]["value"]["stringValue"] = json.dumps(
                    [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]
                )
        assert {} == served.post("/v1/traces", one).json
    harness("online", "score", "helpdesk", project=desk)
    told = harness_json("case", "from-trace", "--session", "c1", project=desk)
    assert any("get_order" in note and "record" in note for note in told["notes"]), told["notes"]
    assert not list((desk / "cassettes").rglob(f"{told['case']}.yaml"))
    assert None is runs(desk, told["case"], "fixed")


@pytest.mark.slow
def test_a_session_is_a_case_whose_user_says_the_same_and_says_what_is_not_known(scored: Path) -> None:
    told = harness_json("case", "from-trace", "--session", "c1", project=scored)
    case = told["case"]
    assert ("fails", True, "helpdesk") == (told["failing"], told["listed"], told["suite"])
    assert any("session's start" in note for note in told["notes"])
    cases = yaml.safe_load((scored / "suites" / "helpdesk" / "regressions.yaml").read_text(encoding="utf-8"))
    assert [{"say": QUESTION}] == cases[-1]["conversation"]["turns"]
    written = "".join(path.read_text(encoding="utf-8") for path in (scored / "suites").rglob("*.*ml"))
    assert "sk-proj" not in written
    assert "no_loop_trap" in written
    assert_fails_and_passes_when_mended(scored, case)
    assert case in harness("case", "from-trace", "--session", "c1", project=scored, status=2)


def test_a_session_that_is_not_there_and_words_that_do_not_go_together_are_refused(scored: Path) -> None:
    assert "no session 'nobody'" in harness("case", "from-trace", "--session", "nobody", project=scored, status=2)
    assert "--session" in harness("case", "from-trace", project=scored, status=2)
    assert "RUN and CASE" in harness("case", "from-trace", "r", "c", "--session", "c1", project=scored, status=2)


def _openai() -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
    for number in range(CALLS):
        function = {"name": "get_order", "arguments": '{"order": "A3"}'}
        calls = [{"id": f"t{number}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": f"t{number}", "content": json.dumps(ORDER)})
    return [*messages, {"role": "assistant", "content": GAVE_UP}]


def openai_chat() -> Any:
    return {"messages": _openai(), "task_id": "a3", "reward": 0.0}


def anthropic() -> Any:
    messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
    for number in range(CALLS):
        use = {"type": "tool_use", "id": f"t{number}", "name": "get_order", "input": {"order": "A3"}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": json.dumps(ORDER)}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return {
        "model": "m",
        "messages": [*messages, {"role": "assistant", "content": [{"type": "text", "text": GAVE_UP}]}],
    }


def tau2() -> Any:
    messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
    for number in range(CALLS):
        call = {"id": f"t{number}", "name": "get_order", "arguments": {"order": "A3"}, "requestor": "assistant"}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "id": f"t{number}", "content": json.dumps(ORDER), "requestor": "assistant"})
    messages.append({"role": "assistant", "content": GAVE_UP})
    run = {"id": "r", "task_id": "3", "trial": 0, "messages": messages, "reward_info": {"reward": 0.0}}
    return {"simulations": [run], "tasks": [{"id": "3"}]}


def atif() -> Any:
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": QUESTION}]
    for number in range(CALLS):
        call = {"tool_call_id": f"t{number}", "function_name": "get_order", "arguments": {"order": "A3"}}
        seen = {"results": [{"source_call_id": f"t{number}", "content": json.dumps(ORDER)}]}
        steps.append(
            {"step_id": number + 2, "source": "agent", "message": "", "tool_calls": [call], "observation": seen}
        )
    steps.append({"step_id": CALLS + 2, "source": "agent", "message": GAVE_UP})
    agent = {"name": "desk", "version": "1"}
    return {"schema_version": "ATIF-v1.4", "session_id": "a3", "agent": agent, "steps": steps}


def adk() -> Any:
    events: list[dict[str, Any]] = [
        {"invocationId": "i", "author": "user", "content": {"role": "user", "parts": [{"text": QUESTION}]}}
    ]
    for number in range(CALLS):
        call = {"functionCall": {"id": f"t{number}", "name": "get_order", "args": {"order": "A3"}}}
        gave = {"functionResponse": {"id": f"t{number}", "name": "get_order", "response": ORDER}}
        events.append({"invocationId": "i", "author": "desk", "content": {"role": "model", "parts": [call]}})
        events.append({"invocationId": "i", "author": "desk", "content": {"role": "user", "parts": [gave]}})
    events.append({"invocationId": "i", "author": "desk", "content": {"role": "model", "parts": [{"text": GAVE_UP}]}})
    return {"id": "a3", "appName": "desk", "userId": "u", "events": events}


def inspect() -> Any:
    messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
    for number in range(CALLS):
        call = {"id": f"t{number}", "function": "get_order", "arguments": {"order": "A3"}, "type": "function"}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append(
            {"role": "tool", "tool_call_id": f"t{number}", "function": "get_order", "content": json.dumps(ORDER)}
        )
    messages.append({"role": "assistant", "content": GAVE_UP})
    sample = {"id": "a3", "epoch": 1, "input": QUESTION, "target": "", "messages": messages, "scores": {}}
    return {"version": 2, "status": "success", "eval": {"task": "desk", "model": "m"}, "samples": [sample]}


def otel() -> Any:
    return looping_session(greets=False)


@pytest.mark.slow
@pytest.mark.parametrize("written", [adk, anthropic, atif, inspect, openai_chat, otel, tau2])
def test_a_failing_session_of_every_importer_becomes_a_failing_case(desk: Path, written: Callable[[], Any]) -> None:
    name = written.__name__.replace("_", "-")
    suffix = {"adk": "session.json", "openai-chat": "jsonl"}.get(name, "json")
    log = desk / f"a3.{suffix}"
    log.write_text(json.dumps(written()) + "\n", encoding="utf-8")
    harness("import", name, str(log), "--run-name", "seen", project=desk)
    (folder,) = (desk / "runs" / "seen" / "trials").iterdir()
    told = harness_json("case", "from-trace", "seen", folder.name, "--suite", "helpdesk", project=desk)
    assert "fails" == told["failing"], told
    assert_fails_and_passes_when_mended(desk, told["case"])
