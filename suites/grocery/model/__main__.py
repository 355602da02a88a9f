"""A model of rules behind the wire of chat completions: `python3 suites/grocery/model --port 18241`.

It is a double: it does what the sentences of the prompts say, by a small grammar, and its figures say nothing about any
model's quality. Equal requests get equal answers. Which agent asks is read from the tools that it offers.
"""

import argparse
import hashlib
import json
import signal
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

import cart
import orchestrator
import preferences
import search
from conversation import Call, Conversation, Json, conversation_of

_MINDS: dict[str, Callable[[Conversation], list[Call] | str]] = {
    "search_agent": orchestrator.decide,
    "search_products": search.decide,
    "get_cart": cart.decide,
    "get_preferences": preferences.decide,
}


def answer_to(body: Json) -> Json:
    """The chat completion of a request."""
    conversation = conversation_of(body)
    mind = next((mind for tool, mind in _MINDS.items() if tool in conversation.tools), None)
    try:
        decided = "I have no tools for this." if mind is None else mind(conversation)
    except (KeyError, IndexError, TypeError, ValueError):
        # A tool that was struck or exchanged answers otherwise than its rules know: a model would still say something.
        decided = "I could not read what the tool answered."
    text, calls = (decided, []) if isinstance(decided, str) else (None, decided)
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:12]
    message: Json = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{digest}_{place}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for place, call in enumerate(calls)
        ]
    used = {"prompt_tokens": len(json.dumps(body)) // 4, "completion_tokens": len(json.dumps(message)) // 4}
    return {
        "id": f"chatcmpl-{digest}",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {**used, "total_tokens": sum(used.values())},
    }


class ModelServer(ThreadingHTTPServer):
    """Answers each request after `delay_s` seconds."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, port: int, delay_s: float) -> None:
        self.delay_s = delay_s
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        # HTTPServer would ask the resolver for this machine's name, which can take seconds without a network.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"
    timeout = 60
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            self._send(404, {"error": {"type": "not_found", "message": f"there is no {self.path}"}})
            return
        time.sleep(self.server.delay_s)
        self._send(200, answer_to(body))

    def _send(self, status: int, answer: Json) -> None:
        content = json.dumps(answer).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what crosses is in the harness's trace."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="model", description="A model of rules for the suite grocery.")
    parser.add_argument("--port", type=int, default=18241, help="0: any free port, printed at the start")
    parser.add_argument("--delay-ms", type=float, default=0, help="how long each answer takes")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = ModelServer(options.port, options.delay_ms / 1000)
    sys.stdout.write(f"the model of rules listens on http://127.0.0.1:{server.server_port}/v1\n")
    sys.stdout.flush()
    try:
        server.serve_forever(poll_interval=60)
    except KeyboardInterrupt:
        return 130
    finally:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
