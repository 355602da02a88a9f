"""Sends an answer slowly: the whole body, in pieces over a time."""

import asyncio

from aiohttp import web

from harness.gateway.tool_calls import ToolReply

_PIECES = 10


async def trickle(request: web.BaseRequest, reply: ToolReply) -> web.StreamResponse:
    """Sends the reply in at most ten pieces; stops where the client disconnects."""
    response = web.StreamResponse(status=reply.status, headers=reply.headers)
    response.content_type = "application/json"
    response.content_length = len(reply.body)
    await response.prepare(request)
    size = max(1, -(-len(reply.body) // _PIECES))
    pieces = [reply.body[start : start + size] for start in range(0, len(reply.body), size)]
    for piece in pieces:
        await asyncio.sleep(reply.pace_s / len(pieces))
        await response.write(piece)
    await response.write_eof()
    return response
