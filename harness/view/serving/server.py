"""The app's server: one event loop in a thread of its own; pages are made in worker threads, which read files."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from aiohttp import web

from harness.errors import ServiceError
from harness.view.annotation.annotations import Annotations
from harness.view.asking import PageSet, Project
from harness.view.index.run_index import RunIndex
from harness.view.serving.answering import Answering
from harness.view.serving.guard import Guard
from harness.view.workbench.tries import RunningTries

_HOST: Final = "127.0.0.1"
_WORKERS: Final = 4
_MAX_BODY: Final = 256 * 1024


class ViewServer:
    """Serves while the context is entered."""

    def __init__(self, project: Path, pages: Sequence[PageSet], port: int = 0, start: str = "/") -> None:
        """`pages` in the order of the navigation. `port` 0: a free one. `start`: the address within the app to which
        the one-time links lead.
        """
        self._pages = pages
        self._start = start
        self._wanted = port
        self._guard = Guard()
        self._index = RunIndex(project / "runs")
        self._annotations = Annotations(project)
        self._project = Project(
            path=project, index=self._index, annotations=self._annotations, tries=RunningTries(project)
        )
        self._loop = asyncio.new_event_loop()
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="view")
        self._thread = threading.Thread(target=self._serve, name="view", daemon=True)
        self._begun = threading.Event()
        self._ending: asyncio.Event | None = None
        self._refused: OSError | None = None

    @property
    def port(self) -> int:
        return self._guard.port

    @property
    def address(self) -> str:
        """Of the app, for a browser that has a session."""
        return f"http://{_HOST}:{self.port}"

    @property
    def url(self) -> str:
        """The one-time link that opens a session."""
        return f"{self.address}/enter?token={self._guard.token}"

    def another_link(self) -> str:
        """A further one-time link; the earlier one, where it was not used, is worthless then."""
        return f"{self.address}/enter?token={self._guard.renew()}"

    def __enter__(self) -> Self:
        """Raises ServiceError where the port is taken."""
        self._thread.start()
        self._begun.wait()
        if self._refused is not None:
            self._thread.join()
            reason = self._refused.strerror or self._refused
            raise ServiceError(
                f"port {self._wanted} of {_HOST} cannot be listened on: {reason}", remedy="choose another --port"
            )
        self._index.warm()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._index.close()
        self._annotations.close()
        ending = self._ending
        if ending is not None:
            self._loop.call_soon_threadsafe(ending.set)
        self._thread.join()
        self._workers.shutdown(cancel_futures=True)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._until_ended())
        finally:
            self._begun.set()
            self._loop.close()

    async def _until_ended(self) -> None:
        self._ending = asyncio.Event()
        self._loop.set_default_executor(self._workers)
        answering = Answering(self._project, self._guard, self._ending, self._start, self._pages)
        app = web.Application(middlewares=[answering.guarded], client_max_size=_MAX_BODY)
        app.router.add_route("*", "/{path:.*}", answering.answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            site = web.TCPSite(runner, _HOST, self._wanted)
            await site.start()
            self._guard.port = int(runner.addresses[0][1])
            self._begun.set()
            await self._ending.wait()
        except OSError as error:
            self._refused = error
        finally:
            await runner.cleanup()
