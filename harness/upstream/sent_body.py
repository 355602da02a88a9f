"""The body of a request as aiohttp sends it without a warning."""

from io import BytesIO
from typing import Final

_LARGE: Final = 1024 * 1024
"""Bytes above which aiohttp warns of a body in one piece: an error in test suites whose warnings are errors."""


def sent_body(body: bytes | None) -> bytes | BytesIO | None:
    """What to pass as `data`; an empty body is none. A large one is new for each call, since sending reads it."""
    if not body:
        return None
    return BytesIO(body) if len(body) > _LARGE else body
