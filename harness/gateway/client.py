"""The HTTP client that all trials of a run share towards real services."""

import aiohttp


async def open_client() -> aiohttp.ClientSession:
    """A client that keeps no cookies and uses no proxy; to be closed."""
    return aiohttp.ClientSession(
        # A connection that the server may have closed meanwhile cannot be told from a lost call, so few are kept.
        connector=aiohttp.TCPConnector(limit=256, keepalive_timeout=1.0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        headers={"User-Agent": "agent-harness", "Accept": "application/json"},
        auto_decompress=True,
        trust_env=False,
    )
