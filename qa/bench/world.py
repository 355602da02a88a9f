"""What the benches of the gateway call: a real tool and a real model of their own, and a suite that declares both."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from harness.suite.loading import load_suite
from harness.suite.suites import Suite

SUITE = """\
agents:
  none: {{command: ["true"], files: {agent}}}
servers:
  menu: {{base_url: "{url}", disposable: true}}
model: {{base_url: "{url}/v1", api_key: BENCH_KEY}}
tools:
  - name: find_items
    description: Items of the menu that fit a query.
    server: menu
    effect: read
    http: {{method: POST, path: /find, body: arguments}}
    parameters:
      type: object
      additionalProperties: false
      required: [query]
      properties:
        query: {{type: string, minLength: 1, maxLength: 200}}
        category: {{type: string, enum: [mains, sides, drinks]}}
        limit: {{type: integer, minimum: 1, maximum: 50, default: 10}}
        filters: {{type: object, properties: {{vegan: {{type: boolean}}, price_max: {{type: number}}}}}}
"""
CASE = (
    "- {id: bench, task: nothing, limits: {steps: 1000000, seconds: 3600, processes: 128, cpus: 2, memory_mb: 2048}}\n"
)


class Answers(BaseHTTPRequestHandler):
    """A tool that finds three items, and a model that always says the same."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self._answer(_found(asked) if self.path == "/find" else _SAID)

    def _answer(self, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        """Says nothing."""


@contextmanager
def served(project: Path) -> Iterator[Suite]:
    """The suite of a new project in `project`, its tool and its model running."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        folder = project / "suites" / "bench"
        folder.mkdir(parents=True)
        (folder / "cases.yaml").write_text(CASE, encoding="utf-8")
        text = SUITE.format(agent=Path(__file__).parent / "agent", url=f"http://127.0.0.1:{server.server_port}")
        (folder / "suite.yaml").write_text(text, encoding="utf-8")
        yield load_suite(project, "bench")
    finally:
        server.shutdown()
        server.server_close()


def _found(asked: dict[str, Any]) -> dict[str, Any]:
    items = [
        {
            "id": f"item-{number}",
            "name": f"{asked['query']}, size {number}",
            "price": 4.5 + number,
            "tags": ["hot", "new"],
        }
        for number in range(3)
    ]
    return {"items": items, "total": len(items), "next": None}


_SAID = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "bench",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "One burger. Anything else?"}}
    ],
    "usage": {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28},
}
