"""Writes that look like reads to a host whose state is to be kept: none of them reaches it."""

import base64
import gzip
import json
import random
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from aiohttp import web

from qa.soak.attacks.project import project, row_of, sandboxes
from qa.soak.rows import Row
from tests.judging.judge.serving import served

HOST = "shop.disguise.test"
_SUITE = """\
hosts:
  - {{host: {host}, base_url: "{url}", reads: ["POST /search*"]}}
"""
AGENT = """\
import base64, json, os, urllib.error, urllib.request, zlib
GATEWAY = os.environ["HARNESS_GATEWAY_URL"]
with urllib.request.urlopen(GATEWAY + "/turn", timeout=60) as turn:
    asked = json.loads(json.loads(turn.read())["message"])
for method, target, headers, body in asked:
    content = zlib.decompress(base64.b64decode(body)) or None
    request = urllib.request.Request("http://HOST" + target, content, headers, method=method)
    try:
        urllib.request.urlopen(request, timeout=60).read()
    except urllib.error.HTTPError:
        pass
sent = urllib.request.Request(GATEWAY + "/reply", b'{"message": "done"}', {"Content-Type": "application/json"})
urllib.request.urlopen(sent, timeout=60).read()
""".replace("HOST", HOST)
Asked = tuple[str, str, dict[str, str], bytes]
_METHODS = ("DELETE", "PUT", "PATCH", "MERGE", "post")
_HEADERS = (
    "X-HTTP-Method-Override",
    "X-HTTP-Method",
    "X-Method-Override",
    "X-Original-URL",
    "X-Rewrite-URL",
    "X-Original-Method",
    "X-Forwarded-Method",
    "X-Envoy-Original-Path",
)
"""Those that Rails, Symfony, Express, Spring, OData, Google's APIs, IIS, Traefik and Envoy's backends obey."""
_FIELDS = ("_method", "X-HTTP-Method-Override", "_METHOD", "__method", "_HttpMethod")
_HARMLESS: tuple[Asked, ...] = (
    ("GET", "/search?method=list&q=override", {}, b""),
    ("POST", "/search", {"Content-Type": "application/json"}, b'{"q": "_method", "method": "exact"}'),
    ("POST", "/search", {"Content-Type": "application/x-www-form-urlencoded"}, b"q=%5Fmethod&url=x"),
)


def rows(random: random.Random, scale: float) -> Iterator[Row]:
    for sandbox in sandboxes(scale):
        yield _row(sandbox, [_disguised(random, number) for number in range(max(40, round(400 * scale)))])


def _spelt(random: random.Random, name: str) -> str:
    """The name as servers read it too: in any case, with other separators."""
    separator = random.choice("-_-.")
    return "".join(random.choice((one.lower(), one.upper())) for one in name.replace("-", separator))


def _header(random: random.Random) -> Asked:
    name, target = _spelt(random, random.choice(_HEADERS)), random.choice(("/search", "/search?q=1"))
    value = "/purge" if any(word in name.lower() for word in ("ur", "path")) else random.choice(_METHODS)
    return random.choice(("GET", "POST")), target, {name: value}, b""


def _field(random: random.Random) -> tuple[str, str]:
    return random.choice(_FIELDS), random.choice(_METHODS)


def _query(random: random.Random) -> Asked:
    name, value = _field(random)
    name = random.choice((name, quote(name, safe="").replace("_", "%5F"), name + "[]", "+" + name))
    pairs = random.sample([f"{name}={value}", "q=1", "a", "b=%ff"], 4)
    return random.choice(("GET", "POST")), "/search?" + random.choice("&;").join(pairs), {}, b""


def _form(random: random.Random) -> Asked:
    name, value = _field(random)
    pairs = random.sample([f"{random.choice((name, name.replace('_', '%5f')))}={value}", "q=1", "a=" + "x" * 9], 3)
    if random.random() < 0.2:
        pairs.insert(0, "padding=" + "x" * 1_500_000)
    return "POST", "/search", {"Content-Type": "application/x-www-form-urlencoded"}, "&".join(pairs).encode()


def _multipart(random: random.Random) -> Asked:
    name, value = _field(random)
    told = random.choice((f'name="{name}"', f"name={name}", f"NAME*=utf-8''{quote(name)}"))
    padding = b"x" * random.choice((0, 0, 0, 1_500_000))
    part = f"--b\r\nContent-Disposition: form-data; {told}\r\n\r\n{value}\r\n--b--\r\n".encode()
    first = b'--b\r\nContent-Disposition: form-data; name="q"\r\n\r\n' + padding + b"\r\n"
    return "POST", "/search", {"Content-Type": "multipart/form-data; boundary=b"}, first + part


def _json(random: random.Random) -> Asked:
    name, value = _field(random)
    text = json.dumps({"q": "x" * random.choice((1, 1, 1_500_000)), name: value})
    text = random.choice((text, text.replace("_", "\\u005f"), f"[{text}]", "\ufeff" + text))
    kind = random.choice(("application/json", "application/vnd.api+json", "text/plain"))
    return "POST", "/search", {"Content-Type": kind}, text.encode(random.choice(("utf-8", "utf-8", "utf-16")))


def _compressed(random: random.Random) -> Asked:
    method, target, headers, body = random.choice((_form, _multipart, _json))(random)
    return (
        method,
        target,
        headers | {"Content-Encoding": random.choice(("gzip", "x-gzip", "GZIP"))},
        gzip.compress(body),
    )


_KINDS: tuple[Callable[[random.Random], Asked], ...] = (_header, _query, _form, _multipart, _json, _compressed)


def _disguised(random: random.Random, number: int) -> Asked:
    """A disguised write; `n` tells the server which it was."""
    method, target, headers, body = _KINDS[number % len(_KINDS)](random)
    return method, target + f"{'&' if '?' in target else '?'}n={number}", headers, body


def _row(sandbox: str, tries: list[Asked]) -> Row:
    came: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        await request.read()
        came.append(str(request.rel_url))
        return web.json_response({})

    with project() as here, served(answer, path="") as url:
        here.write(_SUITE.format(host=HOST, url=url), _cases(tries), AGENT)
        words = ["--sandbox", sandbox, "--jobs", "2", "--live", "tools"]
        done = here("run", "s", "--run-name", "r", *words, timeout_s=600)
    numbers = {int(target.rpartition("n=")[2]) for target in came if "n=" in target}
    wrong = [(f"{n}: {tries[n][:3]}, {tries[n][3][-80:]!r}", "reached the host") for n in sorted(numbers)]
    missing = [] if done.returncode in {0, 1} else [f"run: {done.stderr[-300:]}"]
    harmless = [target for target in came if target.startswith("/search") and "n=" not in target]
    missing += [] if len(harmless) == len(_HARMLESS) else [f"only {harmless} of the harmless requests came"]
    return row_of(f"disguised writes, {sandbox}: none reaches the host", len(tries), wrong, missing)


def _cases(tries: list[Asked]) -> str:
    def encoded(body: bytes) -> str:
        return base64.b64encode(zlib.compress(body)).decode()

    def task(asked: list[Asked]) -> str:
        return json.dumps([(method, target, headers, encoded(body)) for method, target, headers, body in asked])

    groups: list[Any] = [list(_HARMLESS), *(tries[at : at + 4] for at in range(0, len(tries), 4))]
    return json.dumps([{"id": f"c{number}", "task": task(group)} for number, group in enumerate(groups)])
