"""A host that misbehaves by path, and sockets straight to a session."""

import asyncio
import contextlib
import gzip
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

from harness.gateway.session import TrialSession
from harness.traces.projection import trajectory_from

HOST = "api.example.com"


class Outside:
    """Every connection is one answer."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.gone = threading.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.requests.append(head)
            await getattr(self, "do_" + head.split()[1].decode().strip("/").partition("?")[0])(reader, writer)
        writer.close()

    async def do_fine(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"ok":true}')

    async def do_stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._events(writer, 5)
        writer.write(b"0\r\n\r\n")

    async def do_cut(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._events(writer, 2)

    async def do_short(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnot so much")
        await writer.drain()

    async def do_huge(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 209715200\r\n\r\n")
        await self._pour(writer)

    async def do_endless(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await self._pour(writer)

    async def do_slow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def do_stall(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhalf")
        await reader.read()

    async def do_garbled(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x00\x01 this is not HTTP\r\n\r\n")

    async def do_reset(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pass

    async def do_headers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 1_000_000 + b"\r\n\r\n")

    async def do_folded(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Headers in which the caller's key is folded over two lines."""
        key = next(line[12:] for line in self.requests[-1].split(b"\r\n") if line.lower().startswith(b"x-host-key: "))
        folded = key[:9] + b"\r\n " + key[9:]
        writer.write(b"HTTP/1.1 200 OK\r\nX-Told: %s\r\nSet-Cookie: k=%s; Path=/\r\n" % (folded, folded))
        writer.write(b"X-Other: a\r\n b\r\nContent-Length: 2\r\n\r\nok")

    async def do_bomb(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        packed = gzip.compress(b"\0" * 40_000_000, 1)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed)
        await writer.drain()

    async def _events(self, writer: asyncio.StreamWriter, count: int) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(count):
            event = f"data: {number}\n\n".encode()
            writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            await writer.drain()
            await asyncio.sleep(0.1)

    async def _pour(self, writer: asyncio.StreamWriter) -> None:
        try:
            for _ in range(200):
                writer.write(b"x" * 1_048_576)
                await writer.drain()
        finally:
            self.gone.set()


@contextlib.contextmanager
def running(host: Outside) -> Iterator[str]:
    """The host's address, while it is served on a thread of its own."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    servers: list[asyncio.Server] = []

    async def start() -> None:
        servers.append(await asyncio.start_server(host.serve, "127.0.0.1", 0))
        ready.set()

    async def stop() -> None:
        servers[0].close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0.01)  # transports close themselves in the next turn
        loop.stop()

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(start(), loop)
    ready.wait()
    yield f"http://127.0.0.1:{servers[0].sockets[0].getsockname()[1]}"
    asyncio.run_coroutine_threadsafe(stop(), loop)
    thread.join()
    loop.close()


def connected(session: TrialSession) -> socket.socket:
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(20)
    link.connect(str(session.socket))
    return link


def secured(session: TrialSession) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(session.socket.parent / "ca.pem"))
    return context.wrap_socket(connected(session), server_hostname=HOST)


def ask(session: TrialSession, path: str, method: str = "GET", body: bytes | None = None) -> tuple[int, bytes]:
    """Through the proxy, over a connection of its own."""
    connection = http.client.HTTPConnection(HOST)
    connection.sock = connected(session)
    with contextlib.closing(connection):
        connection.request(method, f"http://{HOST}{path}", body)
        response = connection.getresponse()
        return response.status, response.read()


def error_of(record: Any) -> str | None:
    """Why the only call of the trial failed."""
    (seen,) = [one for step in trajectory_from(record.spans).steps for one in step.observations]
    return None if seen.error is None else seen.error.type
