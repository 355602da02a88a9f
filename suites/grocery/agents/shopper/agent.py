"""One agent: a prompt, some tools, and a loop that asks the model until it answers without a call."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gateway import Gateway, Json

_MOST_ROUNDS = 12
Tool = Callable[[Json, str], str]
"""Called with the arguments and the id of the calling agent's span; returns text for the model."""


@dataclass(kw_only=True)
class Agent:
    """`tools` maps the name of each tool that the model may call to what runs it."""

    name: str
    model: str
    prompt: str
    gateway: Gateway
    definitions: list[Json]
    tools: dict[str, Tool]
    messages: list[Json] = field(default_factory=list)
    """What was said so far, the prompt excluded."""

    def run(self, text: str, parent: str | None = None) -> str:
        """The answer to `text`; what was said before is remembered."""
        span, started = self.gateway.open_span(), time.time_ns()
        self.messages.append({"role": "user", "content": text})
        try:
            return self._answer(span)
        finally:
            self.gateway.close_span(span, parent, self.name, started)

    def _answer(self, span: str) -> str:
        for _ in range(_MOST_ROUNDS):
            message = self.gateway.chat(self._request(), span)
            calls = message.get("tool_calls") or []
            self.messages.append({"role": "assistant", "content": message.get("content"), "tool_calls": calls})
            if not calls:
                del self.messages[-1]["tool_calls"]
                return message.get("content") or ""
            for call in calls:
                self.messages.append(
                    {"role": "tool", "tool_call_id": call["id"], "content": self._run_call(call["function"], span)}
                )
        return "I could not finish this."

    def _run_call(self, function: Json, span: str) -> str:
        tool = self.tools.get(function["name"])
        if tool is None:
            return f"there is no tool {function['name']!r}"
        try:
            arguments = json.loads(function["arguments"])
        except ValueError:
            return "the arguments are not JSON"
        return tool(arguments, span)

    def _request(self) -> Json:
        return {
            "model": self.model,
            "messages": [{"role": "system", "content": self.prompt}, *self.messages],
            "tools": self.definitions,
            "temperature": 0,
        }
