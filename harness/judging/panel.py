"""Judges concurrently, with a limited number of requests in flight and of trials in memory."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock, Thread

from harness.errors import HarnessError
from harness.gateway.budgets import OutOfBudget
from harness.gateway.models.recordings import ModelCassette
from harness.judging.judge import Judge, JudgedTrial
from harness.judging.rubrics import Criterion
from harness.judging.verdicts import Judgement

_AHEAD = 2
"""The number of prepared questions per question in flight, so that the judge never waits for a trial to be read."""


@dataclass(frozen=True, kw_only=True)
class PanelTask:
    """A trial, and its criteria without a judgement."""

    subject: JudgedTrial
    criteria: tuple[Criterion, ...]


@dataclass(kw_only=True, eq=False)
class _Opened:
    """A trial whose questions are in progress."""

    subject: JudgedTrial
    cassettes: list[ModelCassette]
    left: int


@dataclass(kw_only=True)
class Panel:
    """Judges a row of trials."""

    judge: Judge
    in_flight: int
    keep: Callable[[Judgement], None]
    """Called with each new judgement."""
    stopped: str | None = None
    """Why not everything was judged; None: everything was."""
    _questions: "asyncio.Queue[tuple[_Opened, Criterion] | None]" = field(init=False)
    _open_loop: list[_Opened] = field(default_factory=list)
    _closing: set["asyncio.Task[None]"] = field(default_factory=set)

    async def sit(self, tasks: Iterator[PanelTask]) -> None:
        """Judges everything; stops if the budget is spent. Raises errors of the harness."""
        self._questions = asyncio.Queue(maxsize=self.in_flight * _AHEAD)
        try:
            async with asyncio.TaskGroup() as group:
                workers = [group.create_task(self._work()) for _ in range(self.in_flight)]
                await self._ask_all(tasks)
                for _ in workers:
                    await self._questions.put(None)
            await asyncio.gather(*self._closing)
        finally:  # also after an interruption, so that answers are kept
            await asyncio.gather(*self._closing, return_exceptions=True)
            for opened in self._open_loop:
                _close_all(opened.cassettes)

    async def _ask_all(self, tasks: Iterator[PanelTask]) -> None:
        while self.stopped is None:
            # Trials are read and prepared in a thread: the event loop continues to process other answers.
            ready = await asyncio.to_thread(self._next, tasks)
            if ready is None:
                return
            await self._put(*ready)

    def _next(self, tasks: Iterator[PanelTask]) -> tuple[PanelTask, list[Judgement]] | None:
        """The next trial with the criteria that need a model, whose evidence is built; and what code has decided."""
        task = next(tasks, None)
        if task is None:
            return None
        found = [(criterion, self.judge.decided(task.subject, criterion)) for criterion in task.criteria]
        left = tuple(criterion for criterion, decided in found if decided is None)
        for criterion in left:
            task.subject.shown(criterion)
        return replace(task, criteria=left), [decided for _, decided in found if decided is not None]

    async def _put(self, task: PanelTask, decided: list[Judgement]) -> None:
        for judgement in decided:
            self.keep(judgement)
        if not task.criteria:
            return
        case = task.subject.trial.case_id
        names = [case, *(f"{case}~{number}" for number in range(2, self.judge.settings.samples + 1))]
        cassettes = [self.judge.asker.open_cassette(name) for name in names]
        opened = _Opened(subject=task.subject, cassettes=cassettes, left=len(task.criteria))
        self._open_loop.append(opened)
        for criterion in task.criteria:
            await self._questions.put((opened, criterion))

    async def _work(self) -> None:
        while (question := await self._questions.get()) is not None:
            opened, criterion = question
            try:
                if self.stopped is None:
                    self.keep(await self.judge.ask(opened.subject, criterion, opened.cassettes))
            except OutOfBudget as error:
                self.stopped = str(error)
            finally:
                opened.left -= 1
                if not opened.left:
                    self._close(opened)

    def _close(self, opened: _Opened) -> None:
        """Writes the cassettes while other questions are in progress, so that no request waits for the disk."""
        self._open_loop.remove(opened)
        closing = asyncio.create_task(asyncio.to_thread(_close_all, opened.cassettes))
        self._closing.add(closing)
        closing.add_done_callback(self._on_closed)

    def _on_closed(self, closing: "asyncio.Task[None]") -> None:
        if not closing.cancelled() and closing.exception() is None:
            self._closing.discard(closing)


def _close_all(cassettes: list[ModelCassette]) -> None:
    for cassette in cassettes:
        cassette.close()


def run_panel(panel: Panel, tasks: Iterator[PanelTask]) -> None:
    """Judges all tasks and then returns; for callers without an event loop. Raises HarnessError."""

    async def session() -> None:
        async with panel.judge.asker:
            await panel.sit(tasks)

    try:
        asyncio.run(session())
    except* HarnessError as group:
        raise _first_harness_error(group) from None


def _first_harness_error(group: BaseExceptionGroup[HarnessError]) -> HarnessError:
    """The first error of a group, however deeply it is nested in groups."""
    error = group.exceptions[0]
    return _first_harness_error(error) if isinstance(error, BaseExceptionGroup) else error


class ConcurrentPanels:
    """Runs panels of one judge; no panel waits for another."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._running = 0

    def run(self, panel: Panel, tasks: Iterator[PanelTask]) -> None:
        """Judges all tasks and then returns; safe to call from several threads. Raises HarnessError."""
        with self._open_loop() as loop:
            try:
                asyncio.run_coroutine_threadsafe(panel.sit(tasks), loop).result()
            except* HarnessError as group:
                raise _first_harness_error(group) from None

    @contextmanager
    def _open_loop(self) -> Iterator[asyncio.AbstractEventLoop]:
        """The event loop, which is open while at least one panel runs."""
        with self._lock:
            loop = self._loop or self._open()
            self._running += 1
        try:
            yield loop
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._close(loop)

    def _open(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        self._thread = Thread(target=loop.run_forever, name="judge", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._judge.asker.__aenter__(), loop).result()
        except BaseException:
            self._close_loop(loop)
            raise
        self._loop = loop
        return loop

    def _close(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = None
        try:
            asyncio.run_coroutine_threadsafe(self._judge.asker.__aexit__(None, None, None), loop).result()
        finally:
            self._close_loop(loop)

    def _close_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.run_coroutine_threadsafe(loop.shutdown_default_executor(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        if self._thread is not None:
            self._thread.join()
        loop.close()
