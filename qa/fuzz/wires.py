"""Readers of what comes over a wire: models' requests and answers, MCP messages, tools' answers, judges, frames."""

import json
import socket
import time
from functools import partial
from pathlib import Path

from harness.cassettes.recordings import Mark, Recording
from harness.cassettes.redaction import Redactor
from harness.drift.answers import answer_of
from harness.drift.issue import key_in, state_in
from harness.gateway.exchange import result_of
from harness.gateway.mcp_endpoint import RpcError, message_of, parse_body
from harness.gateway.models.endpoints import endpoint_of
from harness.gateway.models.exchange import ModelExchange, exchange_span
from harness.gateway.models.formats import ModelAnswer, Replied, text_part
from harness.gateway.models.keys import RequestKeys
from harness.gateway.upstream.sources import ToolAnswer
from harness.judging.questions import JudgeFailed, read_answer
from harness.judging.rubrics import Criterion
from harness.sandbox.control import Control, LauncherRefusal
from harness.sandbox.inside.wire import pack
from harness.scoring.verifiers.calls import Rules
from harness.scoring.verifiers.probes import PathRule
from harness.suite.models import ModelSpec
from harness.suite.tools import HttpRoute, ToolSpec
from harness.traces.projection import trajectory_from
from harness.traces.recorder import TraceRecorder, TraceSubject
from harness.traces.spans import Span
from harness.values import NotJson, canonical_json, parse_json
from qa.fuzz.reader import Reader

MODELS = {
    "/v1/chat/completions": (
        b'{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text"'
        b',"text":"x"},'
        b'{"type":"image_url","image_url":{"url":"data:x"}}]},{"role":"assistant","tool_calls":[{"id":"c","function":'
        b'{"name":"look","arguments":"{\\"q\\":1}"}}]},{"role":"tool","tool_call_id":"c","content":"y"}]'
        b',"tools":[{"type":'
        b'"function","function":{"name":"look"}}],"stream":true}',
        b'{"id":"r","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant"'
        b',"content":"hi",'
        b'"reasoning":"t","tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]}}],'
        b'"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}',
        b'data: {"id":"r","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"h"}}]}\n\n'
        b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"look"'
        b',"arguments":'
        b'"{"}}]}}]}\n\ndata: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]'
        b',"usage":{"prompt_tokens":1}}\n\n'
        b"data: [DONE]\n\n",
    ),
    "/v1/responses": (
        b'{"model":"m","instructions":"s","input":[{"role":"user","content":[{"type":"input_text","text":"x"}]}'
        b',{"type":'
        b'"function_call","call_id":"c","name":"look","arguments":"{}"},{"type":"function_call_output","call_id":"c",'
        b'"output":"y"}],"previous_response_id":"p","tools":[{"type":"function","name":"look"}]}',
        b'{"id":"r","model":"m","status":"completed","output":[{"type":"reasoning","summary":[{"text":"t"}]}'
        b',{"type":"message",'
        b'"content":[{"type":"output_text","text":"hi"}]},{"type":"function_call","call_id":"c","name":"look"'
        b',"arguments":'
        b'"{}"}],"usage":{"input_tokens":1,"output_tokens":2,"input_tokens_details":{"cached_tokens":1}}}',
        b'event: response.completed\ndata: {"type":"response.completed","response":{"id":"r","model":"m"'
        b',"status":"completed",'
        b'"output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]'
        b',"usage":{"input_tokens":1}}}\n\n',
    ),
    "/v1/messages": (
        b'{"model":"m","system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"x"}'
        b',{"role":"assistant",'
        b'"content":[{"type":"tool_use","id":"c","name":"look","input":{}}]},{"role":"user"'
        b',"content":[{"type":"tool_result",'
        b'"tool_use_id":"c","content":[{"type":"text","text":"y"}]}]}],"tools":[{"name":"look"}]}',
        b'{"id":"r","model":"m","stop_reason":"end_turn","content":[{"type":"thinking","thinking":"t"}'
        b',{"type":"text","text":'
        b'"hi"},{"type":"tool_use","id":"c","name":"look","input":{"q":1}}],"usage":{"input_tokens":1'
        b',"output_tokens":2}}',
        b'event: message_start\ndata: {"type":"message_start","message":{"id":"r","model":"m"'
        b',"usage":{"input_tokens":1}}}\n\n'
        b'data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"look"}}\n\n'
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}\n\n'
        b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}\n\n'
        b'data: {"type":"message_stop"}\n\n',
    ),
}  # fmt: skip

_RPC = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{"q":"x"},"_meta":{"a":1}}}',
    b'[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"x","result":{}}]',
)
_JUDGED = (
    b'{"criterion":"c","eligible":true,"rationale":"because","verdict":"pass","refs":["s1"]}',
    b'```json\n{"criterion":"c","eligible":true,"rationale":"","verdict":"fail"}\n```',
)
_MARKER = (
    b'x\n<!-- harness-drift:v1 key=0123456789ab {"suite":"s","tool":"look","about":"breaking"'
    b',"first_seen":"2026-01-01",'
    b'"last_seen":"2026-01-02","looked":"2026-01-02T00:00:00Z","changes":[]} -->\n'
)
_RULES = [
    b"look before add",
    b'never add{"a": 1} after look',
    b"add at most 2 times",
    b"require look 2 times",
    b"never x",
]
_PATHS = [b"$.a[?@.b == 1].c", b"$..*", b"$['a'][0:3:-1]", b"$[?match(@.a, 'x+')]", b"$[?length(@) > 2 && !@.x]"]
_FRAMES = [
    pack({"code": 0, "stdout": b"x", "stdout_bytes": 1, "list": [1, {"a": b"b"}]}),
    pack({"errno": 2, "problem": "no such file"}),
    pack({"failed": "broken"}),
    b"00000015" + pack({"code": 0, "list": [1]}),
    pack({"beside": 1, "code": 0}),
]


def readers() -> list[Reader]:
    models = [
        Reader(name=f"{what} of {path}", syntax=syntax, seeds=partial(list, [seed]), read=partial(read, path), cost=8)
        for path, (asked, said, streamed) in MODELS.items()
        for what, syntax, seed, read in (
            ("requests", "json", asked, _asked),
            ("answers", "json", said, partial(_said, "application/json")),
            ("streams", "text", streamed, partial(_said, "text/event-stream")),
        )
    ]
    return [
        *models,
        Reader(name="strict JSON", syntax="json", seeds=lambda: list(_RPC), read=_strict, refuses=(NotJson,)),
        Reader(name="MCP messages of agents", syntax="json", seeds=lambda: list(_RPC), read=_rpc, refuses=(RpcError,)),
        Reader(name="answers of tools", syntax="json", seeds=lambda: [b'{"a": [1, "{\\"b\\": 2}"]}'], read=_answered),
        Reader(
            name="answers of judges", syntax="text", seeds=lambda: list(_JUDGED), read=_judged, refuses=(JudgeFailed,)
        ),
        Reader(name="markers in issues", syntax="text", seeds=lambda: [_MARKER], read=_marker),
        Reader(name="rules of checks", syntax="text", seeds=lambda: list(_RULES), read=_rule, refuses=(ValueError,)),
        Reader(
            name="JSONPaths of checks", syntax="text", seeds=lambda: list(_PATHS), read=_path, refuses=(ValueError,)
        ),
        Reader(
            name="frames of a sandbox",
            syntax="bytes",
            seeds=lambda: list(_FRAMES),
            read=_frame,
            refuses=(LauncherRefusal,),
        ),
    ]


def _asked(path: str, content: bytes, folder: Path) -> None:
    """As the model's door reads it: key, what is asked, hosted tools, span, trajectory."""
    endpoint = endpoint_of("POST", path, anthropic=False)
    assert endpoint is not None
    assert endpoint.wire is not None
    try:
        body = parse_json(content)
    except NotJson:
        return
    if not isinstance(body, dict):
        return
    keys = RequestKeys(Redactor({"K": "secret-value-0123456789"}), ())
    keys.key(endpoint, body)
    list(endpoint.wire.hosted(body))
    _traced(ModelExchange(endpoint=endpoint, started_ns=time.monotonic_ns(), body=body, raw=content), keys)


def _said(kind: str, path: str, content: bytes, folder: Path) -> None:
    endpoint = endpoint_of("POST", path, anthropic=False)
    assert endpoint is not None
    crossing = ModelExchange(endpoint=endpoint, started_ns=time.monotonic_ns(), body=json.loads(MODELS[path][0]))
    crossing.answer = ModelAnswer(status=200, headers={"content-type": kind}, body=content)
    _traced(crossing, RequestKeys(Redactor({}), ()))


def _traced(crossing: ModelExchange, keys: RequestKeys) -> None:
    recorder = TraceRecorder(_SUBJECT)
    span = exchange_span(crossing, crossing.replied, keys, ModelSpec(base_url="http://127.0.0.1:1"))
    recorder.record(span.name, span.attributes, crossing.started_ns, failed=span.failed)
    spans = recorder.finish()
    assert spans == tuple(Span.model_validate_json(span.model_dump_json()) for span in spans)
    assert len(trajectory_from(spans).digest) == 64


_SUBJECT = TraceSubject(trial_id="t", case_id="c", attempt=1, agent="a")


def _strict(content: bytes, folder: Path) -> None:
    del folder
    value = parse_json(content)
    assert parse_json(canonical_json(value).encode()) == value


def _rpc(content: bytes, folder: Path) -> None:
    del folder
    value = parse_body(content)
    for item in value if isinstance(value, list) else [value]:
        message_of(item)


_TOOL = ToolSpec(name="look", server="menu", effect="read", http=HttpRoute(path="/look"))


def _answered(content: bytes, folder: Path) -> None:
    """A tool's answer as the agent is given it, and as drift compares it."""
    del folder
    for status in (200, 204, 400, 500, 302):
        result_of(_TOOL, ToolAnswer(outcome="answer", tier="live", status=status, body=content))
    mark = Mark(server="s", tool="t", effect="read", key="0" * 32, state="0" * 32, writes=0, occurrence=0)
    answer = answer_of(Recording(mark=mark, arguments="{}", status=200, body=content))
    json.dumps(answer.value, ensure_ascii=False).encode("utf-8")


def _judged(content: bytes, folder: Path) -> None:
    del folder
    replied = Replied(message={"role": "assistant", "parts": [text_part(content.decode("utf-8", "replace"))]})
    read_answer(replied, Criterion(id="c", statement="It holds."), {"s1"})


def _marker(content: bytes, folder: Path) -> None:
    del folder
    text = content.decode("utf-8", "replace")
    key_in(text)
    state_in(text)


def _rule(content: bytes, folder: Path) -> None:
    del folder
    Rules(rules=(content.decode("utf-8", "replace"),))


def _path(content: bytes, folder: Path) -> None:
    del folder
    rule = PathRule(path=content.decode("utf-8", "replace"))
    rule.problem({"a": [{"b": 1, "c": "x"}, 2], "n": {"a": {"a": None}}})


def _frame(content: bytes, folder: Path) -> None:
    """From a launcher that says anything; the frame's own length is mostly right."""
    del folder
    head = b"" if content[:4] == b"0000" else b"%08x" % min(len(content), 100_000)
    here, there = socket.socketpair()
    with here, there:
        there.settimeout(5)
        there.sendall(head + content[:100_000])
        there.shutdown(socket.SHUT_WR)
        Control(here).ask({"do": "stat"}, 5)
