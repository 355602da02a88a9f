"""The gateway: the only way out, by URL and by socket."""

import hashlib

from harness.sandbox.conformance.provider_fixture import (
    ProviderFixture,
    answer_of,
    check,
    expect,
    isolation_check,
    python,
)

_ASK = """
import http.client, json, os, sys, urllib.parse
where = urllib.parse.urlsplit(os.environ["HARNESS_GATEWAY_URL"])
def connect():
    return http.client.HTTPConnection(where.hostname, where.port, timeout=20)
"""


def gateway_answers_by_url(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
c = connect()
answers = []
for n in range(3):
    c.request("POST", f"/tools/{n}", b"x" * n)
    answers.append(json.loads(c.getresponse().read()))
print(json.dumps([[a["path"] for a in answers], os.environ["HARNESS_GATEWAY_URL"]]))
"""
    answers = answer_of("answers", python(sandbox, _ASK + code))
    expect("paths and URL", answers, [["/tools/0", "/tools/1", "/tools/2"], sandbox.places.gateway_url])


def gateway_answers_by_socket(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
import socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["HARNESS_GATEWAY_SOCKET"])
s.sendall(b"GET /turn HTTP/1.0\\r\\n\\r\\n")
print(json.dumps([s.makefile().readline().split()[1], os.environ["HARNESS_GATEWAY_SOCKET"]]))
"""
    answer = answer_of("answer", python(sandbox, _ASK + code))
    expect("status and socket", answer, ["200", sandbox.places.gateway_socket])


def without_a_gateway_none_is_named(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    expect("places", (sandbox.places.gateway_url, sandbox.places.gateway_socket), (None, None))
    code = "import os, json; print(json.dumps([n for n in os.environ if 'GATEWAY' in n]))"
    expect("environment", answer_of("environment", python(sandbox, code)), [])


def large_bodies_pass_both_ways(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
c = connect()
body = bytes(range(256)) * 40000
c.request("POST", "/in", body)
up = json.loads(c.getresponse().read())["sha256"]
c.request("GET", "/out?bytes=9000000")
print(json.dumps([up, len(c.getresponse().read())]))
"""
    digest = hashlib.sha256(bytes(range(256)) * 40000).hexdigest()
    expect("bodies", answer_of("bodies", python(sandbox, _ASK + code)), [digest, 9_000_000])


def many_connections_at_once_are_served(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
import socket
ends = []
for n in range(1000):
    s = socket.create_connection((where.hostname, where.port), timeout=30)
    s.sendall(b"GET /turn HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n")
    ends.append(s)
print(json.dumps(sum(s.makefile("rb").read().startswith(b"HTTP/1.1 200") for s in ends)))
"""
    expect("answers", answer_of("answers", python(sandbox, _ASK + code, timeout_s=60)), 1000)


def last_words_arrive(stand: ProviderFixture) -> None:
    """The message of a program that ends without waiting for the answer still arrives."""
    gateway = stand.gateway()
    sandbox = stand.start(gateway_socket=gateway.socket)
    code = """
import socket
s = socket.create_connection((where.hostname, where.port))
s.sendall(b"POST /reply HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: 300000\\r\\n\\r\\n" + b"x" * 300000)
os._exit(0)
"""
    expect("status", python(sandbox, _ASK + code).code, 0)
    shell_again = python(sandbox, "import time; time.sleep(0.3)")
    expect("status", shell_again.code, 0)
    expect("requests", gateway.requests, ["/reply"])


def half_closed_connection_gets_its_answer(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
import socket
s = socket.create_connection((where.hostname, where.port))
s.sendall(b"GET /turn HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n")
s.shutdown(socket.SHUT_WR)
print(json.dumps(s.makefile("rb").read().decode().splitlines()[0].split()[1]))
"""
    expect("status", answer_of("answer", python(sandbox, _ASK + code)), "200")


def dead_gateway_is_a_closed_connection(stand: ProviderFixture) -> None:
    gateway = stand.gateway()
    sandbox = stand.start(gateway_socket=gateway.socket)
    gateway.close()
    code = """
c = connect()
try:
    c.request("GET", "/turn")
    c.getresponse()
except (http.client.HTTPException, OSError) as error:
    print(json.dumps("closed"))
"""
    expect("answer", answer_of("answer", python(sandbox, _ASK + code)), "closed")


def gateway_cannot_be_replaced(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
import socket
path = os.environ["HARNESS_GATEWAY_SOCKET"]
failed = []
for act in (lambda: os.unlink(path), lambda: os.chmod(path, 0), lambda: open(os.path.dirname(path) + "/x", "w"),
            lambda: socket.socket().bind((where.hostname, where.port))):
    try:
        act()
    except OSError:
        failed.append(True)
print(json.dumps(len(failed)))
"""
    expect("refused", answer_of("refused", python(sandbox, _ASK + code)), 4)


CHECKS = (
    *map(
        check,
        (
            gateway_answers_by_url,
            gateway_answers_by_socket,
            without_a_gateway_none_is_named,
            large_bodies_pass_both_ways,
            many_connections_at_once_are_served,
            last_words_arrive,
            half_closed_connection_gets_its_answer,
            dead_gateway_is_a_closed_connection,
        ),
    ),
    isolation_check(gateway_cannot_be_replaced),
)
