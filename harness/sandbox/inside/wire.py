"""The protocol between host and launcher: bencode frames, each preceded by its length in eight hexadecimal digits.

If a frame says how many, raw bytes follow it (a file's content), so that no content is in memory twice.
"""

from __future__ import annotations

import _socket
import sys

TYPE_CHECKING = False  # this starts many times, and does without `typing`


if TYPE_CHECKING:
    from typing import Any, Protocol

    class Stream(Protocol):
        """A connected socket; the launcher's is no `socket.socket`."""

        def sendall(self, data: bytes, /) -> object: ...
        def recv(self, size: int, /) -> bytes: ...

    Ancillary = list[tuple[int, int, bytes]]

    class UnixStream(Stream, Protocol):
        """A socket whose messages can carry descriptors."""

        def sendmsg(self, parts: list[bytes], ancillary: Ancillary, /) -> int: ...
        def recvmsg(self, size: int, room: int, flags: int, /) -> tuple[bytes, Ancillary, int, object]: ...


FRAME_MAX = 0x1000_0000
CHUNK = 1 << 18
_FD = 4


class Channel:
    """Both directions of one connection."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def send(self, message: dict[str, Any]) -> None:
        self._stream.sendall(frame(message))

    def send_content(self, content: bytes) -> None:
        self._stream.sendall(content)

    def receive(self) -> dict[str, Any]:
        """The next frame. Raises EOFError when the peer has closed, ValueError for a malformed frame."""
        size = int(self.receive_content(8), 16)
        if not 0 <= size <= FRAME_MAX:
            raise ValueError("the frame is too long")
        message = unpack(self.receive_content(size))
        if not isinstance(message, dict):
            raise ValueError("the frame is not a dictionary")
        return message

    def receive_content(self, size: int) -> bytes:
        parts = []
        while size > 0:
            part = self._stream.recv(min(size, CHUNK))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


class BufferedReader:
    """A stream that reads ahead: only usable if no other reader follows on the connection."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._taken = b""
        self._at = 0
        self.sendall = stream.sendall

    def recv(self, size: int, /) -> bytes:
        if self._at == len(self._taken):
            self._taken, self._at = self._stream.recv(CHUNK), 0
        part = self._taken[self._at : self._at + size]
        self._at += len(part)
        return part


class FdReceiver:
    """A stream that also receives the descriptors sent along with its bytes."""

    def __init__(self, stream: UnixStream) -> None:
        self._stream = stream
        self._taken: list[int] = []
        self.sendall = stream.sendall

    def recv(self, size: int, /) -> bytes:
        part, ancillary, _, _ = self._stream.recvmsg(size, _socket.CMSG_SPACE(_FD), _socket.MSG_CMSG_CLOEXEC)
        for level, kind, content in ancillary:
            if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
                self._taken.append(int.from_bytes(content[:_FD], sys.byteorder))
        return part

    def taken(self) -> int:
        """The oldest received descriptor that was not returned yet. Raises ValueError if there is none."""
        if not self._taken:
            raise ValueError("no descriptor came along")
        return self._taken.pop(0)


def send_with_fd(stream: UnixStream, message: dict[str, Any], descriptor: int) -> None:
    """Sends the message, and with its first byte a copy of the descriptor."""
    whole = frame(message)
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptor.to_bytes(_FD, sys.byteorder))
    sent = stream.sendmsg([whole], [rights])
    stream.sendall(whole[sent:])


def frame(message: dict[str, Any]) -> bytes:
    """A message in its encoded form."""
    body = pack(message)
    return b"%08x" % len(body) + body


def pack(value: Any) -> bytes:
    """Whole numbers, bytes, text (as UTF-8), lists and dictionaries; a dictionary's None values are left out."""
    parts: list[bytes] = []
    _pack(value, parts)
    return b"".join(parts)


def unpack(data: bytes) -> Any:
    """The decoded value; all text is bytes, except keys of dictionaries. Raises ValueError for anything else."""
    try:
        value, end = _decoded_value(data, 0)
    except RecursionError:
        raise ValueError("the frame is nested too deeply") from None
    if end != len(data):
        raise ValueError("the frame has more than one value")
    return value


def _pack(value: Any, parts: list[bytes]) -> None:
    """The most frequent types first: a request to run a program has a hundred texts."""
    if isinstance(value, str):
        content = value.encode("utf-8", "surrogateescape")
        parts.append(b"%d:%b" % (len(content), content))
    elif isinstance(value, bytes):
        parts += (b"%d:" % len(value), value)
    elif isinstance(value, int):
        parts.append(b"i%de" % value)
    elif isinstance(value, dict):
        parts.append(b"d")
        for key, item in value.items():
            if item is not None:
                _pack(key, parts)
                _pack(item, parts)
        parts.append(b"e")
    else:
        parts.append(b"l")
        for item in value:
            _pack(item, parts)
        parts.append(b"e")


def _decoded_value(data: bytes, at: int) -> tuple[Any, int]:
    kind = data[at : at + 1]
    if kind == b"i":
        end = data.index(b"e", at)
        return int(data[at + 1 : end]), end + 1
    if kind == b"l":
        return _unpack_items(data, at + 1)
    if kind == b"d":
        flat, end = _unpack_items(data, at + 1)
        if not all(isinstance(key, bytes) for key in flat[::2]):
            raise ValueError("a key of the frame is not text")
        return {key.decode(): item for key, item in zip(flat[::2], flat[1::2], strict=True)}, end
    colon = data.index(b":", at)
    end = colon + 1 + int(data[at:colon])
    if not colon < end <= len(data):  # a negative length would loop forever
        raise ValueError("the frame ends too early")
    return data[colon + 1 : end], end


def _unpack_items(data: bytes, at: int) -> tuple[list[Any], int]:
    items = []
    while data[at : at + 1] != b"e":
        item, at = _decoded_value(data, at)
        items.append(item)
    return items, at + 1
