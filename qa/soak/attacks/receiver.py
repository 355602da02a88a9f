"""The agent that asks everybody for what they know, and searches all that it is given for the keys of others.

It knows them anyway, written backwards beside it, so as to look for them; it tells only their names.
"""

import gzip
import json
import os
import socket
import time
import zlib
from urllib.parse import urlsplit

from canaries import forms, found_in

HERE = os.path.dirname(os.path.abspath(__file__))
GATEWAY = urlsplit(os.environ["HARNESS_GATEWAY_URL"])
PROXY = urlsplit(os.environ["HTTP_PROXY"])
with open(os.path.join(HERE, "backwards.json"), encoding="utf-8") as known:
    KNOWN = {name: value[::-1] for name, value in json.load(known).items()}
CONTROL = KNOWN.pop("CONTROL")


def exchange(place, request, seconds=20):
    """Everything that comes back, as it comes."""
    received = b""
    with socket.create_connection((place.hostname, place.port), timeout=seconds) as connection:
        connection.sendall(request)
        try:
            while part := connection.recv(65536):
                received += part
        except OSError:
            pass
    return received


def ask(place, target, body=None, **headers):
    lines = [f"{'GET' if body is None else 'POST'} {target} HTTP/1.1", "Connection: close"]
    told = {"Host": urlsplit(target).netloc or place.netloc, **{k.replace("_", "-"): v for k, v in headers.items()}}
    content = b"" if body is None else json.dumps(body).encode()
    if body is not None:
        told |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
    lines += [f"{name}: {value}" for name, value in told.items()]
    return exchange(place, "\r\n".join([*lines, "", ""]).encode() + content)


def host(kind, **headers):
    return ask(PROXY, f"http://api.can4ry.test/{kind}", **headers)


def ranges():
    return [host("range", Range=f"bytes={at}-{at + 6}").partition(b"\r\n\r\n")[2] for at in range(0, 700, 7)]


def mcp(name):
    params = {"name": name, "arguments": {}}
    return ask(GATEWAY, "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
               Accept="application/json, text/event-stream")  # fmt: skip


def model(path="/v1/chat/completions", content="hello", **more):
    asked = {"model": "small", "messages": [{"role": "user", "content": content}], **more}
    return ask(GATEWAY, path, asked)


def content_of(received):
    """The body, of which chunks are put together."""
    head, _, body = received.partition(b"\r\n\r\n")
    if b"chunked" not in head.lower():
        return body
    whole, rest = b"", body
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size.split(b";")[0] or b"0", 16) if size else 0
        whole += rest[:length]
        rest = rest[length + 2 :] if length else b""
    return whole


def unpacked(received):
    """The bytes, those of the chunks together, and what is compressed in them."""
    body, whole = received.partition(b"\r\n\r\n")[2], content_of(received)
    found = [received, whole]
    for content in (body, whole):
        for unpack in (gzip.decompress, zlib.decompress, lambda packed: zlib.decompress(packed, -15)):
            try:
                found.append(unpack(content))
            except (OSError, EOFError, zlib.error):
                continue
    return b"\n".join(found)


def joined(received):
    """The texts of a stream's deltas, as a client joins them."""
    events = [line[5:] for line in content_of(received).splitlines() if line.startswith(b"data:") and b"{" in line]
    choices = [choice for event in events for choice in json.loads(event)["choices"]]
    return b"\r\n\r\n" + "".join(choice["delta"].get("content") or "" for choice in choices).encode()


HOSTS = "body headers cookies chunked forms json error redirect trailers reason multipart".split()  # noqa: SIM905 - a list to read, on one line
WAYS = {
    **{f"host: {kind}": lambda kind=kind: host(kind) for kind in HOSTS},
    "host: folded": lambda: host("folded").replace(b"\r\n ", b"").replace(b" ", b""),
    "host: gzip": lambda: host("gzip", Accept_Encoding="gzip"),
    "host: deflate": lambda: host("deflate", Accept_Encoding="deflate, gzip"),
    "host: ranges": lambda: b"\r\n\r\n" + b"".join(ranges()),
    "host: one range": lambda: host("body", Range="bytes=20-"),
    "host: several ranges": lambda: host("multirange", Range="bytes=0-40,30-80"),
    "host: upgraded": lambda: host("upgrade", Upgrade="websocket", Sec_WebSocket_Version="13",
                                   Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ=="),
    "tool: echo": lambda: ask(GATEWAY, "/tools/echo", {}),
    "tool: refuse": lambda: ask(GATEWAY, "/tools/refuse", {}),
    "tool: tell": lambda: ask(GATEWAY, "/tools/tell", {}),
    "tool: fail": lambda: ask(GATEWAY, "/tools/fail", {}),
    "mcp: echo": lambda: mcp("echo"),
    "mcp: tell": lambda: mcp("tell"),
    "mcp: fail": lambda: mcp("fail"),
    "mcp: listing": lambda: ask(GATEWAY, "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
                                Accept="application/json, text/event-stream"),
    "model: answer": model,
    "model: stream": lambda: model(stream=True),
    "model: pieces": lambda: joined(model(content="pieces", stream=True)),
    "model: error": lambda: model(content="fail"),
}  # fmt: skip

found = {}
for way, received in WAYS.items():
    for _ in range(3):
        got = received()
        if got:
            break
        time.sleep(0.2)
    seen = unpacked(got)
    control = [form for form, look in forms(CONTROL).items() if look in seen]
    found[way] = {
        "keys": found_in(iter([(way, seen)]), KNOWN),
        "control": control,
        "status": got[:60].decode("latin-1"),
    }
with open("found.json", "w", encoding="utf-8") as told:
    json.dump(found, told)
