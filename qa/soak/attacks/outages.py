"""Providers that fail in the midst of a run: no trial measures the agent, and no failure becomes a recording."""

import json
from collections.abc import Callable, Iterator
from random import Random

from aiohttp import web

from qa.soak.attacks.project import project, row_of, sandboxes
from qa.soak.rows import Row
from tests.judging.judge.serving import served

_SUITE = """\
model: {{base_url: "{url}", timeout_s: 5}}
checks: [{{name: answered, verifier: final_answer, with: {{contains: "All is done."}}}}]
"""
AGENT = """\
import json, os, urllib.request
GATEWAY = os.environ["HARNESS_GATEWAY_URL"]

def send(path, value=None):
    content = None if value is None else json.dumps(value).encode()
    request = urllib.request.Request(GATEWAY + path, content, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()

path, stream, text = json.loads(json.loads(send("/turn"))["message"])
asked = {"model": "small-1", "stream": stream}
said = [{"role": "user", "content": text}]
if path == "/v1/responses":
    asked["input"] = said
else:
    asked |= {"messages": said, "max_tokens": 9}
text = send(path, asked)
send("/reply", {"message": "All is done." if "All is done." in text else "I do not know."})
"""
PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")
_BEFORE = "while all was well"


def _event(value: object, name: str = "") -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(value)}\n\n"


def _whole(path: str) -> object:
    said = "All is done."
    if path == "/v1/messages":
        content = [{"type": "text", "text": said}]
        return {"id": "m", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}
    if path == "/v1/responses":
        item = {"type": "message", "id": "i", "role": "assistant", "content": [{"type": "output_text", "text": said}]}
        return {"id": "r", "object": "response", "status": "completed", "output": [item]}
    message = {"role": "assistant", "content": said}
    return {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


_ERRORS: dict[str, Callable[[Random], object]] = {
    "openai": lambda random: {"error": {"message": "overloaded", "type": random.choice(["server_error", "busy"])}},
    "anthropic": lambda random: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "coded": lambda random: {"error": {"code": random.choice([429, 500, 503, "503"]), "message": "no capacity"}},
    "text": lambda random: {"error": "upstream connect error or disconnect/reset before headers"},
}


def rows(random: Random, scale: float) -> Iterator[Row]:
    for sandbox in sandboxes(scale):
        yield _row(sandbox, [random.randrange(10**9) for _ in range(max(3, round(12 * scale)))])


async def _fail(request: web.Request, random: Random, *, stream: bool) -> web.StreamResponse:
    """One of the ways in which providers fail: a status, a broken connection, or an error inside a 200."""
    error = random.choice(list(_ERRORS.values()))(random)
    kind = random.choice(("status", "html", "reset", "inside", "cut"))
    if kind == "status":
        return web.json_response(error, status=random.choice((408, 429, 500, 502, 503, 504, 520, 529)))
    if kind == "html":
        page = "<html><body>502 Bad Gateway</body></html>"
        return web.Response(text=page, content_type="text/html", status=random.choice((200, 502)))
    if kind == "reset":
        assert request.transport is not None
        request.transport.abort()
        return web.Response()
    if not stream:
        text = json.dumps(error if kind == "inside" else _whole(request.path))
        return web.Response(text=text if kind == "inside" else text[: len(text) // 2], content_type="application/json")
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    if random.random() < 0.7:
        await response.write(_first(request.path).encode())
    if kind == "inside":
        failed = {"type": "response.failed", "response": {"status": "failed", "error": {"message": "busy"}}}
        inside = {
            "/v1/chat/completions": _event(error),
            "/v1/responses": _event(failed, "response.failed"),
            "/v1/messages": _event(_ERRORS["anthropic"](random), "error"),
        }[request.path]
        await response.write(inside.encode())
        await response.write_eof()
    elif request.transport is not None:
        request.transport.abort()
    return response


def _first(path: str) -> str:
    """The stream begins as if nothing were wrong."""
    if path == "/v1/messages":
        return _event(
            {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}, "message_start"
        )
    if path == "/v1/responses":
        return _event({"type": "response.created", "response": {"id": "r", "output": []}}, "response.created")
    return _event({"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "All is"}}]})


def _row(sandbox: str, seeds: list[int]) -> Row:
    """For each seed a provider that answers one request and then fails in one way, whoever asks."""
    wrong, missing = list[tuple[str, str]](), list[str]()
    for seed in seeds:
        for what in _let_through(sandbox, seed, missing):
            wrong.append((f"seed {seed}", what))
    return row_of(f"outages, {sandbox}: none is the agent's or a recording", len(seeds), wrong, missing)


def _let_through(sandbox: str, seed: int, missing: list[str]) -> Iterator[str]:
    async def answer(request: web.Request) -> web.StreamResponse:
        asked = {} if request.method in {"GET", "HEAD"} else await request.json()
        if _BEFORE in json.dumps(asked):
            return web.json_response(_whole(request.path))
        return await _fail(request, Random(seed), stream=asked.get("stream", False))  # each request alike

    random = Random(seed)
    tasks = [[PATHS[0], False, _BEFORE], *([random.choice(PATHS), random.random() < 0.6, f"fails-{n}"] for n in (1, 2))]
    with project() as here, served(answer, path="") as url:
        cases = json.dumps([{"id": f"c{number}", "task": json.dumps(task)} for number, task in enumerate(tasks)])
        here.write(_SUITE.format(url=url), cases, AGENT)
        recorded = here("record", "s", "--sandbox", sandbox, "--jobs", "1", timeout_s=300)
        done = here(
            "run", "s", "--live", "model", "--run-name", "r", "--sandbox", sandbox, "--jobs", "1", timeout_s=300
        )
        kept = "".join(path.read_text("utf-8", "replace") for path in here.folder.glob("cassettes/**/*.yaml"))
        first = here.stored("r", "c0", "trial.json")
        if first["outcome"] != "finished" or _BEFORE not in kept:
            missing.append(f"seed {seed}: {first['outcome']}, {first['reason']}; {recorded.stderr[-200:]}")
        if done.returncode != 3:
            yield f"exit {done.returncode}: {done.stdout[-200:]}{done.stderr[-200:]}"
        for number in (1, 2):
            trial = here.stored("r", f"c{number}", "trial.json")
            if trial["outcome"] != "harness_failed":
                yield f"{tasks[number]}: {trial['outcome']}: {trial['reason']}"
        if "fails-" in kept:
            yield "a failure was recorded"
