"""The HTTP client that all trials of a run share towards real services."""

import aiohttp

from harness.cassette import Redactor


def header_text(value: str) -> str:
    """A server's header as text that can be stored: aiohttp represents bytes that are not UTF-8 as lone surrogates.

    Such a header is decoded as Latin-1, as in earlier versions of HTTP.
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogateescape").decode("latin-1")
    return value


def clean_header(value: str, redactor: Redactor) -> str:
    """A server's header without known secrets, also where one is folded over lines: a space stays of each fold."""
    clean = redactor.text(header_text(value))
    unfolded = "".join(clean.split())
    return clean if redactor.text(unfolded) == unfolded else redactor.text(unfolded)


async def open_client() -> aiohttp.ClientSession:
    """An HTTP client without cookies, proxy and retries; the caller closes it."""
    client = aiohttp.ClientSession(
        # A connection reset by a server that is closing a kept-alive connection cannot be distinguished from a lost
        # call, and such a call would be scored as the tool's failure. A handshake for each call costs less.
        connector=aiohttp.TCPConnector(limit=256, force_close=True),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        headers={"User-Agent": "trial-harness", "Accept": "application/json"},
        auto_decompress=True,
        trust_env=False,
    )
    # By default aiohttp would repeat a GET, and also a PUT or a DELETE, when the connection is lost before the answer.
    # There is no other switch; aiohttp's own test client sets the same switch.
    client._retry_connection = False
    return client
