"""Streams as they are passed on, on a clock of the test's own."""

from collections.abc import Iterable

from harness.cassettes.redacted_streams import RedactedStream


def passed(stream: RedactedStream, pieces: Iterable[bytes]) -> bytes:
    """All that comes out of a stream of these pieces, which come at once."""
    for piece in pieces:
        stream.feed(piece, 0.0)
    return b"".join(stream.finish())


def cut(text: bytes, size: int) -> list[bytes]:
    """The text in pieces of this size."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def paced(
    stream: RedactedStream, pieces: Iterable[tuple[float, bytes]], until: float, *, broken: bool
) -> list[tuple[float, bytes]]:
    """What comes out when, if the pieces come at these times, and the stream ends or is broken off at `until`."""
    out: list[tuple[float, bytes]] = []
    for now, piece in [*pieces, (until, b"")]:
        while stream.due is not None and stream.due <= now:
            due = stream.due
            out += [(due, clean) for clean in stream.release(due)]
        if piece:
            stream.feed(piece, now)
    return out + [(until, clean) for clean in stream.finish(broken=broken)]
