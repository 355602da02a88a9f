"""Small agents of Gemini's and Azure's formats: plain HTTP, the whole history sent each time."""

from typing import Any

from harness.cassettes.transience import events_in
from tests.gateway.conftest import Agent
from tests.gateway.models.agents import Json, _use, chat_agent, responses_agent

GEMINI = "/v1beta/models/small-1:"
QUERY = "?api-version=2024-10-21"
STREAMED = {
    "array": (f"{GEMINI}streamGenerateContent", {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}),
    "sse": (f"{GEMINI}streamGenerateContent?alt=sse", {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}),
}
HI = {name: body for name, (_, body) in STREAMED.items()}


def events(agent: Agent, path: str, body: Json, kind: str) -> list[Json]:
    """The events of a streamed reply."""
    status, headers, raw = agent.ask_raw("POST", path, body, {"Content-Type": "application/json"})
    assert 200 == status, raw
    assert headers["content-type"].startswith(kind)
    assert "content-length" not in headers
    return events_in(raw)[0]


def gemini_agent(agent: Agent, *, stream: str | None = None, use_tools: bool = True, **more: Any) -> str:
    """`stream`: `sse` or `array`."""
    contents: list[Json] = [{"role": "user", "parts": [{"text": "Eggs?"}]}]
    while True:
        body = {"contents": contents, "systemInstruction": {"parts": [{"text": "You take orders."}]}, **more}
        parts = _gemini_parts(agent, body, stream)
        contents.append({"role": "model", "parts": parts})
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        if not calls:
            return "".join(part["text"] for part in parts)
        results = [{"result": _use(agent, call["name"], call["args"], use_tools)} for call in calls]
        answers = [
            {"functionResponse": {"name": call["name"], "response": result}}
            for call, result in zip(calls, results, strict=True)
        ]
        contents.append({"role": "user", "parts": answers})


def _gemini_parts(agent: Agent, body: Json, stream: str | None) -> list[Json]:
    if stream is None:
        status, reply = agent.ask("POST", f"{GEMINI}generateContent", body, {"x-goog-api-key": "harness"})
        assert 200 == status, reply
        return list(reply["candidates"][0]["content"]["parts"])
    if stream == "sse":
        chunks = events(agent, f"{GEMINI}streamGenerateContent?alt=sse", body, "text/event-stream")
    else:
        chunks = events(agent, f"{GEMINI}streamGenerateContent", body, "application/json")
    return [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]


class AzureAgent:
    """An agent whose requests to OpenAI's paths go to Azure's."""

    def __init__(self, agent: Agent, prefix: str) -> None:
        self._agent = agent
        self._prefix = prefix
        self.ask, self.call = agent.ask, agent.call

    def ask_raw(self, method: str, path: str, *more: Any) -> tuple[int, dict[str, str], bytes]:
        path = path.replace("/v1", self._prefix, 1) + QUERY if path.startswith("/v1/") else path
        return self._agent.ask_raw(method, path, *more)


def azure_agent(agent: Agent, *, stream: bool = False) -> str:
    """Chat completions of a deployment."""
    return chat_agent(AzureAgent(agent, "/openai/deployments/small-1"), stream=stream)


def azure_responses_agent(agent: Agent, *, stream: bool = False) -> str:
    """Responses, under Azure's newer path."""
    return responses_agent(AzureAgent(agent, "/openai/v1"), stream=stream)
