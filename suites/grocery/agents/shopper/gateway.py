"""The only way out of the sandbox: the shopper's turns, the tools, the model, and the spans of the agents."""

import http.client
import json
import os
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

Json = dict[str, Any]


class Gateway:
    """One kept-alive connection."""

    def __init__(self) -> None:
        address = urlsplit(os.environ["HARNESS_GATEWAY_URL"])
        self._connection = http.client.HTTPConnection(address.netloc, timeout=120)
        self._spans: list[Json] = []
        self._opened = 0

    def turns(self) -> Iterator[Json]:
        """The shopper's messages, each with the profile, until there is none."""
        while True:
            status, turn = self._ask("GET", "/turn")
            if status != 200:
                return
            yield turn

    def tools(self) -> dict[str, Json]:
        """The case's tools by name."""
        _, listed = self._ask("GET", "/tools")
        return {tool["name"]: tool for tool in listed["tools"]}

    def call(self, tool: str, arguments: Json) -> str:
        """The tool's answer, or its error, as text for the model."""
        _, answer = self._ask("POST", f"/tools/{quote(tool)}", arguments)
        return json.dumps(answer)

    def chat(self, request: Json, span: str) -> Json:
        """The model's message; `span` is the id of the agent's span that asks."""
        headers = {"traceparent": f"00-{'1':0>32}-{span}-01"}
        status, answer = self._ask("POST", "/v1/chat/completions", request, headers)
        if status != 200:
            raise SystemExit(f"the model answered {status}: {json.dumps(answer)[:300]}")
        return answer["choices"][0]["message"]

    def open_span(self) -> str:
        """The id of a new span."""
        self._opened += 1
        return f"{self._opened:016x}"

    def close_span(self, span: str, parent: str | None, agent: str, started_ns: int) -> None:
        """Keeps the span of one run of an agent; it is sent with the next reply."""
        self._spans.append(
            {
                "traceId": f"{'1':0>32}",
                "spanId": span,
                "parentSpanId": parent or "",
                "name": f"invoke_agent {agent}",
                "startTimeUnixNano": str(started_ns),
                "endTimeUnixNano": str(time.time_ns()),
                "attributes": [
                    {"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}},
                    {"key": "gen_ai.agent.name", "value": {"stringValue": agent}},
                ],
            }
        )

    def reply(self, message: str) -> None:
        """Says something to the shopper; the spans so far are sent first."""
        spans, self._spans = self._spans, []
        self._ask("POST", "/v1/traces", {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
        self._ask("POST", "/reply", {"message": message})

    def _ask(self, method: str, path: str, body: Json | None = None, headers: Json | None = None) -> tuple[int, Json]:
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, {"Content-Type": "application/json", **(headers or {})})
        response = self._connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else {}
