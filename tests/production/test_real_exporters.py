"""Real frameworks with their own exporters, unmodified: a session is what was said and done."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.production.exporters.program import AGENT, TOOL, TURNS, USAGE, get_order, reply
from tests.production.receiving import Served
from tests.serving import Answering, listening

HERE = Path(__file__).parent / "exporters"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

LATEST = {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental"}
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
EXPORTERS: dict[str, tuple[str, str, dict[str, str]]] = {
    "adk, logs": ("adk", "adk", {CONTENT: "true"}),
    "adk, latest": ("adk", "adk", {**LATEST, CONTENT: "SPAN_ONLY"}),
    "strands": ("strands", "strands", {}),
    "strands, latest": ("strands", "strands", LATEST),
    "langfuse": ("openai", "langfuse", {}),
    "langgraph": ("openai", "langgraph", {}),
    "openai_agents": ("openai", "openai_agents", {}),
    "openinference": ("openai", "openinference", {}),
    "pydantic_ai": ("openai", "pydantic_ai", {}),
    "traceloop": ("openai", "traceloop", {}),
}
"""Name -> the lock that has it, the function of the program, and the variables that ask for content."""
WITHOUT_AGENT = ("openinference",)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """An interpreter with the packages of a lock, as they are published."""

    @cache
    def made(lock: str) -> Path:
        folder = tmp_path_factory.mktemp(lock)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [folder / "bin" / "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*install, "-r", HERE / f"{lock}.txt"], check=True)
        return folder / "bin" / "python"

    return made


class Model(Answering):
    """OpenAI's chat completions, whole and as a stream, and responses; says what the program's rule says."""

    number = 0

    def do_POST(self) -> None:
        asked = json.loads(self.sent())
        told, number = reply(Model.number), Model.number
        Model.number += 1
        whole = {"id": f"r{number}", "created": 1, "created_at": 1, "model": "small-1"}
        called = {"name": "get_order", "arguments": json.dumps(told)}
        if self.path.endswith("/responses"):
            item = {"type": "function_call", "id": f"fc{number}", "call_id": f"call{number}", **called}
            if isinstance(told, str):
                part = {"type": "output_text", "text": told, "annotations": []}
                item = {"type": "message", "id": f"m{number}", "role": "assistant", "content": [part]}
            usage = {"input_tokens": USAGE["input"], "output_tokens": USAGE["output"],
                     "input_tokens_details": {"cached_tokens": USAGE["cached"]}}  # fmt: skip
            whole |= {"object": "response", "output": [{**item, "status": "completed"}], "status": "completed"}
            whole |= {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
        else:
            message = {"role": "assistant", "content": told if isinstance(told, str) else None}
            if not isinstance(told, str):
                message["tool_calls"] = [{"index": 0, "id": f"call{number}", "type": "function", "function": called}]
            usage = {"prompt_tokens": USAGE["input"], "completion_tokens": USAGE["output"],
                     "prompt_tokens_details": {"cached_tokens": USAGE["cached"]}}  # fmt: skip
            end = "stop" if isinstance(told, str) else "tool_calls"
            streamed = bool(asked.get("stream"))
            choice = {"index": 0, "delta" if streamed else "message": message, "finish_reason": end}
            whole |= {"object": "chat.completion.chunk" if streamed else "chat.completion", "choices": [choice]}
        usage["total_tokens"] = USAGE["input"] + USAGE["output"]
        if asked.get("stream"):
            parts = [json.dumps(whole), json.dumps(whole | {"choices": [], "usage": usage}), "[DONE]"]
            body = "".join(f"data: {part}\n\n" for part in parts).encode()
            self.give(200, body, {"Content-Type": "text/event-stream"})
        else:
            self.give(200, whole | {"usage": usage})


@pytest.fixture
def model() -> Iterator[str]:
    Model.number = 0
    with listening(Model) as address:
        yield address


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_session_of_a_real_exporter_is_read_whole(
    served: Served, python: Callable[[str], Path], model: str, exporter: str
) -> None:
    lock, name, asked = EXPORTERS[exporter]
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "PYTHON"))}
    program = [python(lock), HERE / "program.py", name, served.url, model]
    done = subprocess.run(program, env=plain | asked, capture_output=True, text=True, timeout=300)
    assert 0 == done.returncode, done.stderr

    (row,) = served.store().sessions()
    session = served.store().session(row.key)
    found = session.trajectory
    assert found is not None
    steps = [step for step in found.steps if step.source == "agent"]
    assert list(TURNS) == [step.message for step in found.steps if step.source == "user"]
    assert [reply(1), reply(3)] == [(step.message or "").strip() for step in steps if not step.calls]
    assert [[reply(0)], [], [reply(2)], []] == [[call.arguments for call in step.calls] for step in steps]
    assert {"get_order"} == {call.name for call in found.calls}
    assert [get_order("4711"), get_order("4712")] == [one.content for one in found.observations.values()]
    assert {None} == {one.error for one in found.observations.values()}
    used = [(step.usage.input_tokens, step.usage.output_tokens) for step in steps if step.usage]
    assert [(USAGE["input"], USAGE["output"])] * 4 == used
    assert ("agent" if exporter in WITHOUT_AGENT else AGENT) == found.agent
    assert ((), reply(3)) == (found.uncaptured, (found.final_output or "").strip())
    assert [TOOL["name"]] == [tool.name for tool in session.conversation.tools or ()]
