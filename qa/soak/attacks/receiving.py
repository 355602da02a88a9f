"""What an agent is given by tools, hosts and models that tell every key they know, in every form: none of the keys."""

import base64
import gzip
import json
import random
import shutil
import sys
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from qa.soak.attacks.project import Project, project, row_of, sandboxes
from qa.soak.canaries import CHANNELS, UNDECLARED, forms
from qa.soak.rows import Row
from qa.soak.telling import DECLARED, PROGRAM
from tests.judging.judge.serving import served

KNOWN = {name: CHANNELS[name] for name in DECLARED}
WAYS = 30
"""In which the agent asks: see `receiver.py`."""
REFUSED = {"host: several ranges", "host: upgraded", "host: reason"}
"""Of these nothing of the host's need be passed on (of the last one, only its reason is asked about)."""
_SUITE = """\
{secrets}
servers:
  desk: {{base_url: "{url}", headers: {{Authorization: "Bearer {header}"}}, disposable: true}}
tools:
  - {{name: echo, server: desk, effect: read, http: {{path: /echo}}}}
  - {{name: refuse, server: desk, http: {{method: POST, path: /refuse, body: none}}}}
  - {{mcp: {{command: [{python}, "{{suite}}/program.py"], env: {{PROGRAM_KEY: "{program}"}}}}, server: told,
      disposable: true}}
hosts:
  - {{host: api.can4ry.test, base_url: "{url}/host", disposable: true, headers: {{X-Host-Key: "{host}"}}}}
model: {{base_url: "{url}/model", api_key: MODEL_KEY}}
"""
_HERE = Path(__file__).parent


def rows(random: random.Random, scale: float) -> Iterator[Row]:
    modes = ("live", "record") if scale >= 0.1 else ("live",)
    with project() as here, served(_Told().answer, path="") as url:
        blind = [
            way for way, told in _received(here, url, "local", "live", declared=False).items() if _keyless(way, told)
        ]
        for sandbox in sandboxes(scale):
            for mode in modes:
                yield _row(_received(here, url, sandbox, mode, declared=True), f"{sandbox}, {mode}", blind)


def _keyless(way: str, told: dict[str, Any]) -> bool:
    """Where nobody calls the keys a secret, the search must find them: else it is blind there."""
    return not told["keys"] and way not in REFUSED and not way.startswith("model")


def _row(received: dict[str, Any], where: str, blind: list[str]) -> Row:
    wrong = [(f"{way}: {key}", "it is found") for way, told in received.items() for key in told["keys"]]
    missing = [f"{way}: undeclared keys are not found" for way in blind]
    for way, told in received.items():
        if "plain" not in told["control"] and way not in REFUSED:
            missing.append(f"{way}: what is not a secret does not come: {told['status']!r}")
    if unseen := set(forms(UNDECLARED)) - set(received["host: forms"]["control"]):
        missing.append(f"forms that the search does not know again: {', '.join(sorted(unseen))}")
    missing += [] if len(received) == WAYS else [f"{len(received)} ways"]
    return row_of(f"secrets that the agent receives, {where}", len(received) * len(forms("")), wrong, missing)


def _received(here: Project, url: str, sandbox: str, mode: str, *, declared: bool) -> dict[str, Any]:
    """Way -> what the agent found of the keys in what it was given."""
    names = {"header": "HEADER_KEY", "program": "PROGRAM_KEY", "host": "HOST_KEY"}
    values = {part: f"${{{name}}}" if declared else _quoted(KNOWN[name]) for part, name in names.items()}
    secrets = f"secrets: [{', '.join(names.values())}]" if declared else ""
    text = _SUITE.format(url=url, python=json.dumps(sys.executable), secrets=secrets, **values)
    here.write(
        text,
        "- {id: c, task: x, limits: {seconds: 120, steps: 1000}}\n",
        (_HERE / "receiver.py").read_text(encoding="utf-8"),
    )
    agent = here.suite / "agent"
    (agent / "canaries.py").write_bytes((_HERE.parent / "canaries.py").read_bytes())
    backwards = {name: value[::-1] for name, value in {**KNOWN, "CONTROL": UNDECLARED}.items()}
    (agent / "backwards.json").write_text(json.dumps(backwards), encoding="utf-8")
    (here.suite / "program.py").write_text(PROGRAM, encoding="utf-8")
    run = f"{sandbox}-{mode}-{declared}"
    shutil.rmtree(
        here.folder / "cassettes", ignore_errors=True
    )  # a recorded answer has no cookies, which are not stored
    refreshed = here("tool", "refresh", "s", env=KNOWN)
    words = [
        "run",
        "s",
        "--sandbox",
        sandbox,
        "--live",
        {"replay": "none", "live": "all", "record": "all,record"}[mode],
        "--run-name",
        run,
    ]
    done = here(*words, env=KNOWN, timeout_s=300)
    archive = here.folder / "runs" / run / "trials" / "c" / "1" / "end_state.tar"
    assert archive.exists(), f"{refreshed.stderr[-300:]}\n{done.stdout[-300:]}\n{done.stderr[-600:]}"
    with tarfile.open(archive) as tar:
        stream = tar.extractfile(next(entry for entry in tar if entry.name.endswith("found.json")))
        assert stream is not None
        found: dict[str, Any] = json.loads(stream.read())
    return found


def _quoted(value: str) -> str:
    return json.dumps(value)[1:-1].replace("$", "$$")


class _Told:
    """Tells whatever key it is called with, and the control beside it in the same forms."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        kind, *rest = request.path.strip("/").split("/")
        key = (
            request.headers.get("x-host-key") or request.headers.get("authorization", "none").partition(" ")[2]
        ) or "none"
        if kind == "host" and rest:
            made: web.StreamResponse = await getattr(self, f"do_{rest[0]}")(request, key)
            return made
        if kind == "model":
            return await self._model(request, key)
        told = {"plain": f"{UNDECLARED}: {key}!", key: 1, "deep": [{"forms": _texts(key)}]}
        return web.json_response(told, status=409 if kind == "refuse" else 200)

    async def _model(self, request: web.Request, key: str) -> web.StreamResponse:
        asked = json.loads(await request.read() or b"{}")
        said = f"{UNDECLARED}: " + "\n".join(_texts(key).values())
        if "fail" in json.dumps(asked):
            return web.json_response({"error": {"message": said}}, status=400)
        told = {"id": "m-1", "model": "small", "object": "chat.completion"}
        if not asked.get("stream"):
            choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop", "index": 0}
            return web.json_response(told | {"choices": [choice]})
        events, pieces = b"", [UNDECLARED, said, key]
        if "pieces" in json.dumps(asked):
            pieces = [text[at : at + 4] for text in (UNDECLARED, key) for at in range(0, len(text), 4)]
        for piece in pieces:
            chunk = told | {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": piece}}]}
            events += b"data: " + json.dumps(chunk).encode() + b"\n\n"
        return await _in_pieces(request, events + b"data: [DONE]\n\n", {"content-type": "text/event-stream"})

    async def do_body(self, _: web.Request, key: str) -> web.StreamResponse:
        return web.Response(body=_page(key))

    async def do_headers(self, _: web.Request, key: str) -> web.StreamResponse:
        told = {f"x-{number}": text for number, text in enumerate(_texts(key).values()) if _fits_a_header(text)}
        return web.Response(
            text=UNDECLARED, headers={"x-control": UNDECLARED, **told, "etag": f'"{key.encode().hex()}"'}
        )

    async def do_cookies(self, _: web.Request, key: str) -> web.StreamResponse:
        response = web.Response(text="", headers={"set-cookie": f"c={UNDECLARED}"})
        response.headers.add("set-cookie", f"k={base64.b64encode(key.encode()).decode()}; Path=/{key.encode().hex()}")
        return response

    async def do_chunked(self, request: web.Request, key: str) -> web.StreamResponse:
        return await _in_pieces(request, _page(key), {})

    async def do_forms(self, request: web.Request, key: str) -> web.StreamResponse:
        return await _in_pieces(request, b"\n".join([*forms(UNDECLARED).values(), *forms(key).values()]), {})

    async def do_json(self, _: web.Request, key: str) -> web.StreamResponse:
        return web.json_response({"c": UNDECLARED, key: 1, "deep": [{"forms": _texts(key), "list": [key]}]})

    async def do_error(self, _: web.Request, key: str) -> web.StreamResponse:
        return web.Response(body=_page(key), status=403)

    async def do_redirect(self, _: web.Request, key: str) -> web.StreamResponse:
        where = f"http://api.can4ry.test/next?c={UNDECLARED}&k={base64.urlsafe_b64encode(key.encode()).decode()}"
        return web.Response(status=302, headers={"location": where})

    async def do_reason(self, _: web.Request, key: str) -> web.StreamResponse:
        return web.Response(status=418, reason=f"bad {key.encode().hex()}", text=UNDECLARED)

    async def do_trailers(self, request: web.Request, key: str) -> web.StreamResponse:
        """Written by hand: headers behind the last chunk."""
        assert request.transport is not None
        page, told = _page(key), key.encode().hex()
        head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-key\r\nConnection: close\r\n\r\n"
        request.transport.write(
            head.encode() + f"{len(page):x};k={told}\r\n".encode() + page + f"\r\n0\r\nx-key: {told}\r\n\r\n".encode()
        )
        request.transport.close()
        return web.Response()

    async def do_folded(self, request: web.Request, key: str) -> web.StreamResponse:
        """Written by hand: a header over several lines."""
        assert request.transport is not None
        told = "".join(f"{text[:9]}\r\n {text[9:]}" for text in (UNDECLARED.encode().hex(), key.encode().hex()))
        head = f"HTTP/1.1 200 OK\r\nX-Told: {told}\r\nContent-Length: {len(UNDECLARED)}\r\nConnection: close\r\n\r\n"
        request.transport.write((head + UNDECLARED).encode())
        request.transport.close()
        return web.Response()

    async def do_multipart(self, _: web.Request, key: str) -> web.StreamResponse:
        parts = b"--b\r\ncontent-type: text/plain\r\n\r\n" + _page(key) + b"\r\n--b--\r\n"
        return web.Response(body=parts, headers={"content-type": "multipart/mixed; boundary=b"})

    async def do_gzip(self, _: web.Request, key: str) -> web.StreamResponse:
        return web.Response(body=gzip.compress(_page(key)), headers={"content-encoding": "gzip"})

    async def do_deflate(self, _: web.Request, key: str) -> web.StreamResponse:
        return web.Response(body=zlib.compress(_page(key)), headers={"content-encoding": "deflate"})

    async def do_range(self, request: web.Request, key: str) -> web.StreamResponse:
        asked, page = request.http_range, UNDECLARED.encode() + b" " + key.encode() + b" " + _page(key)
        return web.Response(body=page[asked], status=200 if asked.start is None else 206)

    async def do_multirange(self, request: web.Request, key: str) -> web.StreamResponse:
        page = _page(key)
        parts = [b"--b\r\ncontent-range: bytes\r\n\r\n" + page[at : at + 50] for at in range(0, len(page), 50)]
        return web.Response(
            body=b"\r\n".join(parts), status=206, headers={"content-type": "multipart/byteranges; boundary=b"}
        )

    async def do_upgrade(self, request: web.Request, key: str) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        if not socket.can_prepare(request).ok:
            return web.Response(body=_page(key))
        await socket.prepare(request)
        await socket.send_str(_page(key).decode("latin-1"))
        await socket.close()
        return socket


def _texts(key: str) -> dict[str, str]:
    return {name: form.decode("latin-1") for name, form in forms(key).items()}


def _page(key: str) -> bytes:
    return f"<p>{UNDECLARED}: ".encode() + b"\n".join(forms(key).values()) + b"</p>"


def _fits_a_header(text: str) -> bool:
    return text.isascii() and text.isprintable()


async def _in_pieces(request: web.Request, body: bytes, headers: dict[str, str], size: int = 7) -> web.StreamResponse:
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    for at in range(0, len(body), size):
        await response.write(body[at : at + size])
    await response.write_eof()
    return response
