"""How many records a request in protobuf holds, counted before it is parsed: an empty span takes 170 bytes then."""

from collections.abc import Iterator
from typing import Final

_RECORDS: Final = (1, 2, 2)
"""Field numbers from the request to its records, of spans and of logs alike."""


def has_more_records(body: bytes, most: int) -> bool:
    """Whether there are more than `most` records, or fields above them. What is malformed is left to the parser."""
    return any(count > most for count, _ in enumerate(_fields(body, 0, len(body), _RECORDS), 1))


def _fields(body: bytes, start: int, end: int, path: tuple[int, ...]) -> Iterator[None]:
    while start < end:
        tag, start = _varint(body, start, end)
        match tag & 7:
            case 0:
                _, start = _varint(body, start, end)
            case 1:
                start += 8
            case 2:
                length, start = _varint(body, start, end)
                if len(path) > 1 and tag >> 3 == path[0]:
                    yield from _fields(body, start, min(end, start + length), path[1:])
                start += length
            case 5:
                start += 4
            case _:
                return
        yield None


def _varint(body: bytes, start: int, end: int) -> tuple[int, int]:
    """The number and where it ends; past the end for a number that is cut off or longer than 64 bits."""
    value = 0
    for shift, place in enumerate(range(start, min(end, start + 10))):
        value |= (body[place] & 0x7F) << 7 * shift
        if body[place] < 0x80:
            return value, place + 1
    return 0, end
