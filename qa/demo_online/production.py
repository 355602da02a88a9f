"""300 sessions of two releases, sent by the exporter of the OpenTelemetry SDK: `python production.py URL PROJECT`.

The agent is the program that the harness runs; here its tools are the service, and each call is a span.
"""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode, Tracer

SESSIONS = 150
"""Of each release."""
GREETING = "Hello, I have a question about an order."


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TracedDesk:
    """The service behind the tools; the model's replies and the tools' calls are spans, as instrumentations write them.

    The agent has no model: its decisions stand where a model's replies would.
    """

    def __init__(self, tracer: Tracer, tools: ModuleType, session: str) -> None:
        self._tracer = tracer
        self._tools = tools
        self._session = session
        self._history: list[dict[str, Any]] = []
        self._calls = 0

    def said(self, role: str, part: dict[str, Any]) -> None:
        """Adds a message to what the next request to the model holds."""
        self._history.append({"role": role, "parts": [part]})

    def reply(self, part: dict[str, Any]) -> None:
        """A reply of the model."""
        with self._tracer.start_as_current_span("chat rules-1") as span:
            span.set_attributes(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.conversation.id": self._session,
                    "gen_ai.request.model": "rules-1",
                    "gen_ai.input.messages": json.dumps(self._history),
                    "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [part]}]),
                }
            )
        self.said("assistant", part)

    def tool(self, name: str, **arguments: Any) -> Any:
        self._calls += 1
        call = f"call-{self._calls}"
        self.reply({"type": "tool_call", "id": call, "name": name, "arguments": arguments})
        with self._tracer.start_as_current_span(f"execute_tool {name}") as span:
            span.set_attributes(
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": name,
                    "gen_ai.tool.call.id": call,
                    "gen_ai.tool.call.arguments": json.dumps(arguments),
                }
            )
            try:
                result = getattr(self._tools, name)(**arguments)
            except ValueError as error:
                result = {"error": str(error)}
                span.set_attribute("error.type", "tool_error")
                span.set_status(Status(StatusCode.ERROR, str(error)))
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        self.said("tool", {"type": "tool_call_response", "id": call, "response": result})
        return result


def talk(tracer: Tracer, agent: ModuleType, tools: ModuleType, release: str, number: int) -> None:
    """One session: every third user greets first."""
    question = f"Where is my order A{number % 100 + 1}?"
    session = f"{release}-{number:03}"
    desk = TracedDesk(tracer, tools, session)
    for message in [GREETING, question] if number % 3 == 0 else [question]:
        desk.said("user", {"type": "text", "content": message})
        with tracer.start_as_current_span("invoke_agent helpdesk") as root:
            root.set_attributes(
                {
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.agent.name": "helpdesk",
                    "gen_ai.conversation.id": session,
                }
            )
            desk.reply({"type": "text", "content": agent.answer(desk, message, release)})


def main() -> None:
    url, suite = sys.argv[1], Path(sys.argv[2]) / "suites" / "helpdesk"
    agent, tools = loaded(suite / "agents" / "agent.py"), loaded(suite / "tools.py")
    for release in ("r1", "r2"):
        provider = TracerProvider(resource=Resource({"service.name": "helpdesk", "service.version": release}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{url}/v1/traces")))
        for number in range(SESSIONS):
            talk(provider.get_tracer("demo"), agent, tools, release, number)
        provider.shutdown()
    print(f"sent {2 * SESSIONS} sessions of r1 and r2")


if __name__ == "__main__":
    main()
