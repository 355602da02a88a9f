"""Many connections over one stream of bytes, for engines into which no socket of the host can be mounted.

Both ends use it. A frame is its kind (one byte), the number of a connection and the length of the content (four bytes
each), and the content. At most `WINDOW` bytes of a connection are on the way in one direction until the receiver has
delivered them, so that a connection that nobody reads neither delays the others nor takes memory without a limit.
"""

from __future__ import annotations

import posix

TYPE_CHECKING = False  # this starts many times, and does without `typing`


if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Connection(Protocol):
        """A socket that does not block; the sandbox's is no `socket.socket`."""

        def fileno(self) -> int: ...
        def recv(self, size: int, /) -> bytes: ...
        def send(self, data: bytearray, /) -> int: ...
        def shutdown(self, how: int, /) -> None: ...
        def close(self) -> None: ...

    Watch = Callable[[int, bool, bool, Callable[[], None]], None]
    """Replaces the events of a descriptor: whether to wait until it can be read, and until it can be written."""

CONTROL = b"control"
GATEWAY = b"gateway"
READY = b"ready"
"""The services that a relay opens connections to; the last says that it listens."""

WINDOW = 1 << 16
READ_AT_ONCE = 1 << 17
_REPORT_FROM = WINDOW // 4
_HEADER = 9
_SHUT_WR = 1

_OPEN = b"o"
_DATA = b"d"
_END = b"e"
_DELIVERED = b"t"
_CLOSED = b"c"


class _Stream:
    """One connection at this end."""

    def __init__(self, number: int, connection: Connection) -> None:
        self.number = number
        self.connection = connection
        self.connected = False
        self.allowed = WINDOW
        """How many bytes may be sent until the other end reports that it has delivered some."""
        self.waiting = bytearray()
        self.unreported = 0
        self.read_all = False
        self.received_all = False
        self.shut = False
        self.handler: Callable[[], None] = _do_nothing


class Multiplexer:
    """One end of the stream."""

    def __init__(self, watch: Watch, sink: int, opened: Callable[[int, bytes], None]) -> None:
        """`sink` is the descriptor that the stream is written to; it must not block. `opened` is told of each
        connection that the other end opens, with the name of its service.
        """
        self._watch = watch
        self._sink = sink
        self._opened = opened
        self._streams: dict[int, _Stream] = {}
        self._received = bytearray()
        self._unsent = bytearray()
        self._opened_count = 0

    @property
    def count(self) -> int:
        return len(self._streams)

    def open(self, service: bytes, connection: Connection | None = None, *, after_others: bool = False) -> None:
        """Opens a connection to a service of the other end; None: only its name is sent.

        With `after_others`, what the other connections have sent is forwarded before what this one sends.
        """
        self._opened_count += 1
        self._send(_OPEN, self._opened_count, service)
        if connection is not None:
            self.join(self._opened_count, connection, after_others=after_others)
            self.connected(self._opened_count)

    def join(self, number: int, connection: Connection, *, after_others: bool = False) -> None:
        """Takes the socket of a connection that the other end has opened; it need not be connected yet."""
        stream = self._streams[number] = _Stream(number, connection)
        stream.handler = (lambda: self._pump_after_others(stream)) if after_others else (lambda: self._pump(stream))

    def connected(self, number: int) -> None:
        """Starts to forward in both directions."""
        stream = self._streams[number]
        stream.connected = True
        self._pump(stream)

    def refuse(self, number: int) -> None:
        """Closes a connection that the other end has opened, and which cannot be connected."""
        self._drop(self._streams[number])
        self._send(_CLOSED, number)

    def close(self) -> None:
        """Closes all connections; the stream itself is its owner's."""
        for stream in list(self._streams.values()):
            self._drop(stream)

    def receive(self, data: bytes) -> None:
        """Handles bytes of the stream. Raises ValueError if they are none of this protocol's."""
        self._received += data
        at = 0
        while len(self._received) >= at + _HEADER:
            kind = bytes(self._received[at : at + 1])
            number = int.from_bytes(self._received[at + 1 : at + 5], "big")
            end = at + _HEADER + int.from_bytes(self._received[at + 5 : at + _HEADER], "big")
            if end - at > _HEADER + WINDOW:
                raise ValueError("a frame is too long")
            if len(self._received) < end:
                break
            self._handle(kind, number, bytes(self._received[at + _HEADER : end]))
            at = end
        del self._received[:at]

    def flush(self) -> None:
        """Writes as much as can be written without blocking."""
        try:
            while self._unsent:
                del self._unsent[: posix.write(self._sink, self._unsent)]
        except BlockingIOError:
            pass
        except OSError:  # the end of the stream is seen where it is read
            self._unsent.clear()

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    def _handle(self, kind: bytes, number: int, content: bytes) -> None:
        if kind == _OPEN:
            self._opened(number, content)
            return
        if kind not in (_DATA, _END, _DELIVERED, _CLOSED):
            raise ValueError(f"a frame is of the unknown kind {kind!r}")
        stream = self._streams.get(number)
        if stream is None:  # closed meanwhile
            return
        if kind == _DATA and stream.shut:  # nobody reads it any more
            self._report(stream, len(content))
        elif kind == _DATA:
            stream.waiting += content
        elif kind == _DELIVERED:
            stream.allowed += int.from_bytes(content, "big")
        else:
            stream.received_all = True
            stream.read_all = stream.read_all or kind == _CLOSED
        self._pump(stream)

    def _pump_after_others(self, stream: _Stream) -> None:
        for other in list(self._streams.values()):
            if other is not stream:
                self._pump(other)
        self._pump(stream)

    def _pump(self, stream: _Stream) -> None:
        """Moves as much as can be read and written without blocking."""
        if not stream.connected or stream.number not in self._streams:
            return
        self._receive_from(stream)
        self._send_to(stream)
        if stream.read_all and stream.shut:
            self._drop(stream)
            if not stream.received_all:
                self._send(_CLOSED, stream.number)
            return
        reads = not stream.read_all and stream.allowed > 0
        self._watch(stream.connection.fileno(), reads, bool(stream.waiting), stream.handler)

    def _receive_from(self, stream: _Stream) -> None:
        while not stream.read_all and stream.allowed > 0:
            try:
                data = stream.connection.recv(stream.allowed)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if data:
                stream.allowed -= len(data)
                self._send(_DATA, stream.number, data)
            else:
                stream.read_all = True
                self._send(_END, stream.number)

    def _send_to(self, stream: _Stream) -> None:
        try:
            while stream.waiting:
                sent = stream.connection.send(stream.waiting)
                del stream.waiting[:sent]
                self._report(stream, sent)
            if stream.received_all and not stream.shut:
                stream.shut = True
                stream.connection.shutdown(_SHUT_WR)
        except BlockingIOError:
            pass
        except OSError:  # the program has closed its end; the other direction may still have data
            self._report(stream, len(stream.waiting))
            stream.waiting.clear()
            stream.shut = True

    def _report(self, stream: _Stream, size: int) -> None:
        stream.unreported += size
        if stream.unreported >= _REPORT_FROM:
            self._send(_DELIVERED, stream.number, stream.unreported.to_bytes(4, "big"))
            stream.unreported = 0

    def _send(self, kind: bytes, number: int, content: bytes = b"") -> None:
        self._unsent += kind + number.to_bytes(4, "big") + len(content).to_bytes(4, "big") + content

    def _drop(self, stream: _Stream) -> None:
        self._streams.pop(stream.number, None)
        self._watch(stream.connection.fileno(), False, False, _do_nothing)
        stream.connection.close()


def _do_nothing() -> None:
    pass
