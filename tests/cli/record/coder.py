"""A small coding agent: asks a model, runs the tools that it names, prints the answer. It needs nothing but Python.

Its own tool `write` edits files beside it; all others are tools of an MCP server.
"""

import json
import os
import sys
import urllib.request
from pathlib import Path
from typing import Any

HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def post(url: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[bytes, Any]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {**HEADERS, **headers})
    with urllib.request.urlopen(request) as answer:
        return answer.read(), answer.headers


class Tools:
    """A client of MCP over HTTP."""

    def __init__(self) -> None:
        self.session: dict[str, str] = {}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "coder", "version": "1"}}
        _, headers = self.send({"id": 0, "method": "initialize", "params": hello})
        if headers.get("Mcp-Session-Id"):
            self.session = {"Mcp-Session-Id": headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-06-18"}
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> tuple[bytes, Any]:
        return post(os.environ["HARNESS_MCP_URL"], {"jsonrpc": "2.0", **message}, self.session)

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        answer, _ = self.send({"id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
        text = answer.decode().removeprefix("event: message\n").removeprefix("data: ").strip()
        result = json.loads(text).get("result")
        if result is None:
            raise SystemExit(text)
        return str(result["content"][0]["text"])


def used(name: str, arguments: dict[str, Any]) -> str:
    if name == "write":
        Path(arguments["path"]).write_text(arguments["text"], encoding="utf-8")
        return "written"
    return Tools().call(name, arguments)


def main(task: str) -> None:
    listed = ", ".join(sorted(path.name for path in Path().iterdir() if not path.name.startswith(".")))
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"{task} Files: {listed}."}]
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    key = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    while True:
        answer, _ = post(url, {"model": "small-1", "messages": messages}, key)
        message = json.loads(answer)["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            print(message["content"])
            return
        for call in message["tool_calls"]:
            result = used(call["function"]["name"], json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


main(sys.argv[1])
