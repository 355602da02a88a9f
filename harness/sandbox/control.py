"""The host's end of a sandbox's control channel: one socket, one connection, one request at a time."""

import itertools
import os
import queue
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from harness.errors import SandboxError
from harness.sandbox.inside.wire import CHUNK, Channel

_LOOK_EVERY_S = 0.25


class LauncherRefusal(Exception):
    """The launcher could not perform a request, for a reason with an errno."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(problem)
        self.number = number
        self.problem = problem


class LauncherLost(SandboxError):
    """The launcher sent no answer, and will send none. `has_ended`: it closed the connection."""

    has_ended = False


class ControlListener:
    """Waits for the launcher; accepts exactly one connection and is removed before any program runs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "control.sock"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(os.fspath(self.path))
            self.path.chmod(0o666)
            self._socket.listen(1)
        except BaseException:
            self._socket.close()
            raise

    def accept(self, within_s: float, death: Callable[[], str | None]) -> "Control":
        """Accepts the launcher's connection. `death` is called at intervals and returns why there is no launcher, or
        None while there still may be one.
        """
        return Control(self.accept_connection(within_s, death))

    def accept_connection(self, within_s: float, death: Callable[[], str | None]) -> socket.socket:
        """The same, for a caller with another protocol on the connection."""
        deadline = time.monotonic() + within_s
        while True:
            if is_readable(self._socket, _LOOK_EVERY_S):
                connection, _ = self._socket.accept()
                self.close()
                return connection
            reason = death()
            if reason is None and time.monotonic() > deadline:
                reason = f"its launcher did not report within {within_s:g} s"
            if reason is not None:
                raise SandboxError(
                    f"the sandbox did not start: {reason}",
                    remedy="the image needs python3 (3.10 or later); its memory limit may be too small",
                )

    def close(self) -> None:
        self._socket.close()
        self.path.unlink(missing_ok=True)


class Control:
    """Requests to the launcher. After any SandboxError the sandbox is unusable."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._channel = Channel(connection)
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._runs = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}

    def ask(self, message: dict[str, Any], within_s: float) -> dict[str, Any]:
        """The launcher's answer. Raises LauncherRefusal or SandboxError.

        Requests during a program are performed in parallel to it: programs, reading and writing files.
        """
        if self._runs.locked():
            return self._ask_meanwhile(message, within_s)
        with self._runs if message["do"] == "run" else nullcontext(), self._lock:
            return self._ask(message, (), within_s)

    def ask_running(self, message: dict[str, Any], within_s: float) -> None:
        """Sends a request that concerns the running program; does nothing if none runs."""
        if self._runs.locked():
            with suppress(LauncherRefusal):  # it has just ended
                self._ask_meanwhile(message, within_s)

    def ask_with_content(self, message: dict[str, Any], content: Iterable[bytes], within_s: float) -> None:
        """Sends a request followed by `content`: frames, and the bytes that they announce."""
        with self._lock:
            self._ask(message, content, within_s)

    def ask_for_stream(self, message: dict[str, Any], within_s: float) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Yields frames up to and including the one with `end`, each with the bytes that it announces."""
        with self._lock:
            frame = self._ask(message, (), within_s)
            try:
                while "end" not in frame:
                    yield frame, self._received_content(frame["size"]) if "content" in frame else b""
                    frame = self._receive()
                yield frame, b""
            finally:
                if "end" not in frame:
                    self.close()  # the rest would be read as the answer to the next request

    def ask_for_changes(self, message: dict[str, Any], within_s: float) -> Iterator[tuple[dict[str, Any], bytes]]:
        """The same; if the agent removed a place itself, the stream ends with a problem."""
        try:
            yield from self.ask_for_stream(message, within_s)
        except LauncherRefusal as refused:
            yield {"end": 1, "gone": [], "problem": f"a folder cannot be read: {refused.problem}".encode()}, b""

    def close(self) -> None:
        """Closes the connection, upon which the launcher ends everything; a request that waits in another thread
        fails.
        """
        with suppress(OSError):  # the launcher has closed it already
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _ask_meanwhile(self, message: dict[str, Any], within_s: float) -> dict[str, Any]:
        number = next(self._numbers)
        box = self._waiting[number] = queue.SimpleQueue()
        deadline = time.monotonic() + within_s
        try:
            with self._sending:
                self._channel.send(message | {"beside": number})
            while time.monotonic() < deadline:
                with suppress(queue.Empty):
                    return _checked_answer(box.get(timeout=_LOOK_EVERY_S))
                self._receive_for(box)
        except OSError as error:
            raise _lost(error) from None
        finally:
            del self._waiting[number]
        raise _lost(TimeoutError())

    def _receive_for(self, box: queue.SimpleQueue[dict[str, Any]]) -> None:
        """Receives in place of the program's thread, which has just ended."""
        if self._lock.acquire(blocking=False):
            try:
                while box.empty():
                    self._deliver(self._channel.receive())
            except (EOFError, ValueError) as error:
                raise _lost(error) from None
            finally:
                self._lock.release()

    def _deliver(self, answer: dict[str, Any]) -> None:
        waiting = self._waiting.get(answer.get("beside", 0))
        if waiting is not None:
            waiting.put(answer)

    def _ask(self, message: dict[str, Any], content: Iterable[bytes], within_s: float) -> dict[str, Any]:
        try:
            self._connection.settimeout(within_s)
            with self._sending:
                self._channel.send(message)
                for chunk in _joined_parts(content):
                    self._channel.send_content(chunk)
        except OSError as error:
            raise _lost(error) from None
        return self._receive()

    def _receive(self) -> dict[str, Any]:
        try:
            answer = self._channel.receive()
            while "beside" in answer:
                self._deliver(answer)
                answer = self._channel.receive()
        except (OSError, EOFError, ValueError) as error:
            raise _lost(error) from None
        return _checked_answer(answer)

    def _received_content(self, size: int) -> bytes:
        try:
            return self._channel.receive_content(size)
        except (OSError, EOFError) as error:
            raise _lost(error) from None


def is_readable(connection: socket.socket, within_s: float) -> bool:
    """Waits at most `within_s`. Does not use select(), which supports no descriptor above 1023: a run with many jobs
    has more.
    """
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    return bool(waiting.poll(within_s * 1000))


def file_content(path: Path, size: int) -> Iterator[bytes]:
    """The bytes of a file in parts; exactly `size`, or SandboxError."""
    left = size
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            while part := os.read(handle, CHUNK):
                left -= len(part)
                if left < 0:
                    break
                yield part
        finally:
            os.close(handle)
    except OSError as error:
        raise SandboxError(f"{path} cannot be read: {error.strerror}", remedy="verify the snapshot") from None
    if left != 0:
        raise SandboxError(f"{path} changed while it was read", remedy="verify the snapshot")


def _joined_parts(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Joins many small parts into few calls."""
    held: list[bytes] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part)
        if size >= CHUNK:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _checked_answer(answer: dict[str, Any]) -> dict[str, Any]:
    if "failed" in answer:
        raise SandboxError(f"the sandbox failed: {_text_of(answer['failed'])}")
    if "errno" in answer:
        raise LauncherRefusal(answer["errno"], _text_of(answer.get("problem")))
    return answer


def _text_of(said: object) -> str:
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else "it does not say why"


def _lost(error: Exception) -> LauncherLost:
    match error:
        case TimeoutError():
            return LauncherLost("the sandbox did not answer in time")
        case ValueError():
            return LauncherLost(f"the sandbox answered with something else: {error}")
        case _:
            lost = LauncherLost("the sandbox is gone: its launcher closed the connection")
            lost.has_ended = True
            return lost
