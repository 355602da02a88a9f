"""Server-sent events of a run in flight: its figures whenever a trial ends, until it is complete or the reader goes."""

import asyncio
import json
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from harness.errors import HarnessError
from harness.values import JsonObject
from harness.view.asking import Project
from harness.view.progress import live_state

_EVERY_S: Final = 1.0
_BEAT_S: Final = 15.0
"""A comment as often as this finds out that the reader is gone, and keeps the connection."""


async def live_events(
    request: web.Request, project: Project, run: str, ending: asyncio.Event, headers: Mapping[str, str]
) -> web.StreamResponse:
    """Holds only the last state that was sent, however long the run is watched."""
    answer = web.StreamResponse(headers={**headers, "Content-Type": "text/event-stream"})
    await answer.prepare(request)
    sent: JsonObject | None = None
    quiet = 0.0
    try:
        while not ending.is_set():
            state = await asyncio.to_thread(_state, project, run)
            if state != sent:
                await answer.write(f"data: {json.dumps(state)}\n\n".encode())
                sent, quiet = state, 0.0
            elif quiet >= _BEAT_S:
                await answer.write(b": still here\n\n")
                quiet = 0.0
            if not state.get("running"):
                await answer.write(b"event: end\ndata: {}\n\n")
                break
            quiet += _EVERY_S
            await _pause(ending)
    except (ConnectionError, asyncio.CancelledError):
        pass  # the reader has gone
    return answer


def _state(project: Project, run: str) -> JsonObject:
    try:
        return live_state(project, run)
    except HarnessError as error:
        return {"running": False, "problem": error.message}


async def _pause(ending: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(_EVERY_S):
            await ending.wait()
    except TimeoutError:
        pass
