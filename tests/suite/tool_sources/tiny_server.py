"""An MCP server of the tests' own, without any SDK: over stdio, or over HTTP where a port file is named."""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NOTES: list[str] = []
NEW_FIELD = {"vendorX": {"kept": [1, 2.5, None]}, "x-more": "said"}
TOOLS = [
    {
        "name": "note.add",
        "description": "Keeps a note.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "title": "Add a note",
        **NEW_FIELD,
    },
    {
        "name": "notes",
        "description": "All notes.",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {"name": "fail", "description": "Fails.", "inputSchema": {"type": "object", "properties": {"how": {}}}},
]


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {}}
    if method == "tools/list":
        start = int(params.get("cursor", "0"))
        more = {"nextCursor": str(start + 2)} if start + 2 < len(TOOLS) else {}
        return {"tools": TOOLS[start : start + 2], **more}
    name, arguments = params["name"], params["arguments"]
    if name == "note.add":
        NOTES.append(arguments["text"])
        return {"content": [{"type": "text", "text": f"{len(NOTES)} notes"}], **NEW_FIELD}
    if name == "notes":
        return {"content": [{"type": "text", "text": ", ".join(NOTES)}], "structuredContent": {"notes": NOTES}}
    return failing(arguments.get("how"))


def failing(how: str | None) -> dict[str, Any]:
    match how:
        case "slowly":
            time.sleep(5)
        case "exit":
            sys.stdout.flush()
            sys.stderr.write("bye\n")
            raise SystemExit(3)
        case "garbled":
            print('{"jsonrpc": "2.0", "id": 1, "result": {"x": NaN}}', flush=True)
        case "rpc":
            raise LookupError("no such thing")
    return {"content": [{"type": "text", "text": "it failed"}], "isError": True, "reason": {"code": 7}}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    try:
        return {
            "jsonrpc": "2.0",
            "id": message["id"],
            "result": result_of(message["method"], message.get("params", {})),
        }
    except LookupError as error:
        told = {"code": -32050, "message": str(error), "data": {"more": True}}
        return {"jsonrpc": "2.0", "id": message["id"], "error": told}


def serve_stdio() -> None:
    print("welcome to the tiny server", flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": 900, "method": "roots/list"}), flush=True)
            print(json.dumps(answer(message)), flush=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message:
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
        events = "".join(f"event: message\ndata: {json.dumps(item)}\n\n" for item in (progress, answer(message)))
        body = events.encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("mcp-session-id", "one")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self) -> None:
        NOTES.clear()
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


def start_http(handler: type[BaseHTTPRequestHandler] = Handler) -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return server


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).touch()  # says that it was started
    serve_stdio()
