"""AWS's binary event stream: length-prefixed frames with checksums, each with headers and a payload of JSON.

A prelude of 12 bytes has the frame's length, the headers' length and a checksum of both; a checksum of the whole frame
follows at its end.
"""

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from harness.values import JsonObject

_PRELUDE: Final = struct.Struct(">III")
_SUM: Final = struct.Struct(">I")
_LEAST: Final = _PRELUDE.size + _SUM.size
_MOST: Final = 16 * 1024 * 1024 + 128 * 1024 + _LEAST
"""The bytes of a frame: AWS allows 16 MiB of payload and 128 KiB of headers."""
_TEXT: Final = 7
_WITH_LENGTH: Final = frozenset({6, _TEXT})
_LENGTHS: Final = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""The size of a header's value, by its type."""


class BrokenFrame(ValueError):
    """Bytes that are not a frame."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One message of a stream."""

    headers: bytes
    payload: bytes

    @property
    def encoded(self) -> bytes:
        size = _LEAST + len(self.headers) + len(self.payload)
        lengths = struct.pack(">II", size, len(self.headers))
        content = lengths + _SUM.pack(zlib.crc32(lengths)) + self.headers + self.payload
        return content + _SUM.pack(zlib.crc32(content))


def next_frame(buffer: bytes | bytearray) -> tuple[Frame, int] | None:
    """The first frame and its length; None while it is incomplete. Raises BrokenFrame."""
    if len(buffer) < _PRELUDE.size:
        return None
    size, of_headers, checksum = _PRELUDE.unpack_from(buffer)
    if not _LEAST + of_headers <= size <= _MOST or checksum != zlib.crc32(bytes(buffer[:8])):
        raise BrokenFrame("the prelude of a frame is damaged")
    if len(buffer) < size:
        return None
    content = bytes(buffer[: size - _SUM.size])
    if _SUM.unpack_from(buffer, size - _SUM.size)[0] != zlib.crc32(content):
        raise BrokenFrame("the checksum of a frame is wrong")
    until = _PRELUDE.size + of_headers
    return Frame(headers=content[_PRELUDE.size : until], payload=content[until:]), size


def frames_of(body: bytes) -> Iterator[Frame]:
    """The whole frames at the beginning of a body, which may be truncated."""
    at = 0
    while True:
        try:
            found = next_frame(body[at:])
        except BrokenFrame:
            return
        if found is None:
            return
        frame, size = found
        yield frame
        at += size


def aws_events_of(body: bytes) -> list[JsonObject]:
    """Each event as an object with one member, its type; an exception of the service as `exception`."""
    found: list[JsonObject] = []
    for frame in frames_of(body):
        try:
            headers = dict(_headers(frame.headers))
            payload = json.loads(frame.payload or b"{}", parse_constant=lambda _: None)
        except (ValueError, RecursionError, struct.error):
            continue
        kind = headers.get(":event-type")
        found.append({"exception": payload} if kind is None else {kind: payload})
    return found


def with_payloads(body: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The stream with changed payloads; what follows the last whole frame is left out, since no reader could use it."""
    return b"".join(changed(frame, change) for frame in frames_of(body))


def changed(frame: Frame, change: Callable[[bytes], bytes]) -> bytes:
    """The bytes of a frame with a changed payload."""
    return Frame(headers=frame.headers, payload=change(frame.payload)).encoded


def _headers(raw: bytes) -> Iterator[tuple[str, str]]:
    """The headers that are texts. Raises ValueError or struct.error where they cannot be read."""
    at = 0
    while at < len(raw):
        until = at + 1 + raw[at]
        name, kind = raw[at + 1 : until], raw[until : until + 1]
        at = until + 1
        if not kind or (kind[0] not in _WITH_LENGTH and kind[0] not in _LENGTHS):
            raise ValueError("a header of an unknown type")
        length = _LENGTHS.get(kind[0], 0)
        if kind[0] in _WITH_LENGTH:
            (length,) = struct.unpack_from(">H", raw, at)
            at += 2
        if kind[0] == _TEXT:
            yield name.decode(), raw[at : at + length].decode()
        at += length
