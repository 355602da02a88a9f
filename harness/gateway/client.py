"""The HTTP client that all trials of a run share towards real services."""

import aiohttp


def header_text(value: str) -> str:
    """A server's header as text that can be stored: aiohttp leaves bytes that are no UTF-8 as lone surrogates.

    Such a header is read as Latin-1, as HTTP once had them.
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogateescape").decode("latin-1")
    return value


async def open_client() -> aiohttp.ClientSession:
    """A client that keeps no cookies, uses no proxy and sends nothing twice; to be closed."""
    client = aiohttp.ClientSession(
        # A kept connection that the server is just closing cannot be told from a lost call, and a call that was lost
        # by us would be scored as the tool's failure: a handshake for each call is the cheaper of the two.
        connector=aiohttp.TCPConnector(limit=256, force_close=True),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        headers={"User-Agent": "trial-harness", "Accept": "application/json"},
        auto_decompress=True,
        trust_env=False,
    )
    # By itself aiohttp would send a GET, and a PUT and a DELETE too, once more when the connection is lost before the
    # answer. There is no other switch; its own test client turns the same one.
    client._retry_connection = False
    return client
