"""Whatever an agent sends, the outcome is that trial's: the run goes on, and its results can be read and scored."""

import pytest

from tests.walks.conftest import Walk, WriteSuite

MAIN = """\
import json, os, sys, time, urllib.error, urllib.request

GATEWAY = os.environ["HARNESS_GATEWAY_URL"]
LONG, DEEP, NESTED = b"9" * 4200, b"[" * 50_000, b'{"a":' * 5_000 + b"1" + b"}" * 5_000
LEVELS = {depth: b"[" * depth + b"]" * depth for depth in (90, 150, 400, 900, 2_000)}
VALUES = [LONG, b"-" + LONG, b"1e400", b"-1e400", b"NaN", b"Infinity", b"9" * 400, b"1" * 310, b"1e308", DEEP, NESTED,
          b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\\\u0000"', b'"\\xff"', b"", b"null", b"{", *LEVELS.values()]

def send(path, content, kind="application/json"):
    request = urllib.request.Request(GATEWAY + path, content, {"Content-Type": kind}, method="POST")
    try:
        return urllib.request.urlopen(request, timeout=20).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None

def span(**changed):
    plain = {"traceId": b'"' + b"a" * 32 + b'"', "spanId": b'"' + os.urandom(8).hex().encode() + b'"',
             "name": b'"execute_tool look"',
             "startTimeUnixNano": b"%d" % time.time_ns(), "endTimeUnixNano": b"%d" % time.time_ns(),
             "attributes": b"[" + attribute("gen_ai.operation.name", b'{"stringValue": "execute_tool"}') + b"]"}
    fields = b",".join(b'"%s":%s' % (name.encode(), value) for name, value in (plain | changed).items())
    return b'{"resourceSpans":[{"scopeSpans":[{"spans":[{' + fields + b"}]}]}]}"

def attribute(key, value):
    return b'{"key":"%s","value":%s}' % (key.encode(), value)

def spans():
    operation = attribute("gen_ai.operation.name", b'{"stringValue": "execute_tool"}')
    for value in VALUES:
        for name in ("startTimeUnixNano", "endTimeUnixNano", "traceId", "spanId", "parentSpanId", "name", "attributes"):
            send("/v1/traces", span(**{name: value}))
            send("/v1/traces", span(**{name: json.dumps(value.decode("latin-1")).encode()}))
        for kind in ("intValue", "doubleValue", "stringValue", "arrayValue", "boolValue", "other"):
            told = b'{"%s":%s}' % (kind.encode(), value)
            send("/v1/traces", span(attributes=b"[" + operation + b"," + attribute("input.value", told) + b"]"))

def arguments():
    for value in VALUES:
        quoted = json.dumps(value.decode("latin-1")).encode()
        for key in ("gen_ai.tool.call.arguments", "input.value", "gen_ai.tool.call.result", "gen_ai.tool.name",
                    "gen_ai.agent.name", "gen_ai.prompt.name", "gen_ai.tool.call.id"):
            told = b'{"stringValue":%s}' % quoted
            operation = attribute("gen_ai.operation.name", b'{"stringValue": "execute_tool"}')
            send("/v1/traces", span(attributes=b"[" + operation + b"," + attribute(key, told) + b"]"))

def protobuf():
    for value in VALUES:
        send("/v1/traces", value, "application/x-protobuf")
    nested = b""
    for _ in range(200):
        nested = b"\\x2a" + varint(len(nested) + 0) + nested
    send("/v1/traces", b"\\x0a" + varint(len(nested)) + nested, "application/x-protobuf")

def varint(number):
    found = b""
    while number > 127:
        found, number = found + bytes([number & 127 | 128]), number >> 7
    return found + bytes([number])

def tools():
    for value in VALUES:
        for body in (value, b'{"q":' + value + b"}", b'{"arguments":' + value + b"}"):
            send("/tools/nothing", body)
            call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":'
            send("/mcp", call + body + b"}}")
            send("/mcp", b'{"jsonrpc":"2.0","id":' + value + b',"method":"tools/list"}')

def replies():
    for value in VALUES:
        for key in (b"message", b"thought", b"plan", b"steps"):
            send("/reply", b'{"' + key + b'":' + value + b"}")

def models():
    for value in VALUES:
        send("/v1/chat/completions", b'{"model":"m","messages":' + value + b"}")
        send("/v1/messages", b'{"model":' + value + b',"messages":[]}')
        send("/v1/responses", b'{"model":"m","input":' + value + b"}")

def printed():
    sys.stdout.buffer.write(b"\\xff\\xed\\xa0\\x80\\x00" + LONG + DEEP)

def files():
    for place, value in enumerate(VALUES):
        with open(f"{place}.json", "wb") as file:
            file.write(value)
    open(b"\\xff\\n\\x1b[2J", "wb").close()

def fine():
    pass

asked = json.loads(urllib.request.urlopen(GATEWAY + "/turn").read())["message"]
globals()[asked]()
send("/reply", b'{"message": "done"}')
"""

HOSTILE = ("spans", "arguments", "protobuf", "tools", "replies", "models", "printed", "files")
CASES = "".join(f"- {{id: {name}, task: {name}, category: c}}\n" for name in (*HOSTILE, "fine"))
REST = """\
checks:
  - {name: answered, verifier: final_answer, with: {regex: "."}}
limits: {seconds: 60, steps: 1000, memory_mb: 256, output_kb: 512}
"""


@pytest.mark.slow
def test_no_message_of_an_agent_ends_the_run(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(REST, CASES, {"main.py": MAIN})
    summary = walk.summary("run", "s", "--run-name", "bad", "--jobs", "2", "--sandbox", "local")

    assert {"finished": len(HOSTILE) + 1, "harness_failed": 0, "not_run": 0} == {
        name: summary["counts"][name] for name in ("finished", "harness_failed", "not_run")
    }
    assert "done" == walk.trial("bad", "fine")["trajectory"]["final_output"]
    walk("score", "bad")
    walk("report", "bad", "--html")
    for case in HOSTILE:
        walk("explain", "bad", case)
        walk("explain", "bad", case, "--transcript", "everything")
