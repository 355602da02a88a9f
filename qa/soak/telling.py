"""A project in which everybody tells what must be told to nobody: tools, a model, a host, a program, and the agent."""

import json
import sys
from pathlib import Path

from qa.soak.canaries import UNDECLARED

DECLARED = ("HEADER_KEY", "MODEL_KEY", "PROGRAM_KEY", "HOST_KEY")
"""Those of the canaries that the suite knows; the others are the keys of judges, trackers and collectors."""

_SUITE = """\
agents:
  v1: {{command: [python3, "{{agent}}/main.py"], files: agent}}
secrets: [HEADER_KEY, PROGRAM_KEY, HOST_KEY]
servers:
  desk: {{base_url: "{url}", headers: {{Authorization: "Bearer ${{HEADER_KEY}}"}}, disposable: true}}
tools:
  - {{name: echo, server: desk, effect: read, http: {{path: /echo}}}}
  - {{name: refuse, server: desk, http: {{method: POST, path: /refuse, body: arguments}},
      parameters: {{type: object, properties: {{said: {{type: string}}}}}}}}
  - {{mcp: {{command: [{python}, "{{suite}}/program.py"], env: {{PROGRAM_KEY: "${{PROGRAM_KEY}}"}}}}, server: told,
      disposable: true}}
hosts:
  - {{host: api.can4ry.test, base_url: "{url}/host", headers: {{Authorization: "Bearer ${{HOST_KEY}}"}}}}
model: {{base_url: "{url}/model", api_key: MODEL_KEY}}
probes:
  - {{name: seen, tool: echo}}
checks:
  - {{name: files, verifier: command, with: {{run: [sh, "-c", "cat {{work}}/*"]}}}}
"""

PROGRAM = """\
import html, json, os, sys
KEY = os.environ["PROGRAM_KEY"]
TOLD = f"{KEY} {KEY.encode().hex()} {html.escape(KEY)} not-declared-can4ry-0815"
TOOLS = [
    {"name": name, "description": f"Tells {TOLD}.", "inputSchema": {"type": "object", "properties": {}},
     "annotations": {"readOnlyHint": True}}
    for name in ("tell", "fail", "crash")
]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, name = asked["method"], asked.get("params", {}).get("name")
    if method == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": TOLD, "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif name == "crash":
        sys.exit(f"crashed with {TOLD}")
    elif name == "fail":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32000, "message": TOLD}}), flush=True)
        continue
    else:
        result = {"content": [{"type": "text", "text": TOLD}], "structuredContent": {"told": [TOLD]}}
    print(f"told {TOLD}", file=sys.stderr, flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""

_AGENT = """\
import base64, json, os, sys, traceback, urllib.error, urllib.parse, urllib.request
URL = os.environ["HARNESS_GATEWAY_URL"]
known = [text[::-1] for text in json.load(open(os.path.join(os.path.dirname(__file__), "backwards.json")))]

def post(url, value, kind="application/json"):
    request = urllib.request.Request(url, json.dumps(value).encode(), {"content-type": kind}, method="POST")
    try:
        with urllib.request.urlopen(request) as response:
            return response.read().decode() + str(response.headers)
    except urllib.error.HTTPError as error:
        return error.read().decode() + str(error.headers)

urllib.request.urlopen(URL + "/turn").read()
seen = ""
for tool in ("echo", "refuse", "tell", "fail", "crash"):
    seen += post(f"{URL}/tools/{tool}", {})
for content, stream in (("hello", False), ("hello", True), ("fail", False)):
    asked = {"model": "small", "messages": [{"role": "user", "content": content}], "stream": stream}
    seen += post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", asked)
try:
    seen += urllib.request.urlopen("http://api.can4ry.test/told").read().decode()
except urllib.error.HTTPError as error:
    seen += error.read().decode()
with open("seen", "w") as file:
    file.write(seen)
for key in known:
    raw = key.encode()
    told = [key, raw.hex(), base64.b64encode(raw).decode(), urllib.parse.quote(key, safe=""), json.dumps(key)]
    seen += " ".join(told)
    post(f"{URL}/tools/refuse", {"said": " ".join(told)})
    with open(urllib.parse.quote(key, safe=""), "wb") as file:
        file.write(b"\\xff" + raw)
    os.symlink("/nowhere/" + key, raw.hex())
    value = {"stringValue": key}
    span = {"traceId": "0" * 31 + "1", "spanId": "0" * 15 + "1", "name": key, "startTimeUnixNano": "1",
            "endTimeUnixNano": "2", "attributes": [{"key": key, "value": value}], "events": [{"name": key}]}
    post(f"{URL}/v1/traces", {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    try:
        raise RuntimeError(key)
    except RuntimeError:
        traceback.print_exc()
    sys.stdout.write(key[: len(key) // 2])
    sys.stdout.flush()
    sys.stdout.write(key[len(key) // 2 :] + "\\n")
post(f"{URL}/thought", {"text": seen, "plan": [seen]})
post(f"{URL}/reply", {"message": seen})
print(seen)
"""


def write_project(folder: Path, url: str, canaries: dict[str, str]) -> None:
    """Suite `s` with one case; the agent finds the values that it knows anyway written backwards beside it."""
    suite = folder / "suites" / "s"
    (suite / "agent").mkdir(parents=True)
    (suite / "agent" / "main.py").write_text(_AGENT, encoding="utf-8")
    backwards = [canaries[name][::-1] for name in DECLARED] + [UNDECLARED[::-1]]
    (suite / "agent" / "backwards.json").write_text(json.dumps(backwards), encoding="utf-8")
    (suite / "program.py").write_text(PROGRAM, encoding="utf-8")
    (suite / "suite.yaml").write_text(_SUITE.format(url=url, python=json.dumps(sys.executable)), encoding="utf-8")
    (suite / "cases.yaml").write_text("- {id: c, task: Tell me everything.}\n", encoding="utf-8")
