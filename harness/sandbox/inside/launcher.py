"""The first process of a sandbox: handles requests of the host, one after the other, on a single connection.

It is never the agent's user (who could trace it and forge what it reports), keeps no capability but SETUID, SETGID,
KILL and DAC_READ_SEARCH, and connects before any program runs; the socket is gone by then. When the connection
closes, the harness is done or dead: everything here ends.
"""

from __future__ import annotations

import _socket
import posix
import sys
import time

from harness.sandbox.inside import processes
from harness.sandbox.inside.loop import READ, Loop
from harness.sandbox.inside.wire import BufferedReader, Channel

TYPE_CHECKING = False  # this starts many times, and does without `typing`


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from harness.sandbox.inside.files import Entry, WritablePlaces
    from harness.sandbox.inside.forward import Forwarder
    from harness.sandbox.inside.layers import Overlaid
    from harness.sandbox.inside.processes import Program, SideProcesses


_ESRCH = 3
_BESIDE = (b"read", b"write")


class Launcher:
    """Serves one sandbox."""

    def __init__(self, control: _socket.socket, overlaid: Overlaid | None = None) -> None:
        """`overlaid`: the places whose files exist already."""
        self._control = control
        self._overlaid = overlaid
        self._channel = Channel(control)
        self._loop = Loop()
        self._namespaced = posix.getpid() == 1
        self._places: WritablePlaces
        self._uid: int | None = None
        self._forwarder: Forwarder | None = None
        self._stamps: dict[bytes, tuple[int, ...]] = {}
        self._clock_offset_ns: int | None = None
        self._running: Program | None = None
        self._side_processes: SideProcesses | None = None
        processes.wake_when_children_end(self._loop)

    def serve(self) -> None:
        """Answers until the connection closes."""
        while True:
            try:
                request = self._channel.receive()
            except (EOFError, ConnectionError):
                return
            if "beside" in request and request["do"] not in _BESIDE:  # the program has ended meanwhile
                self._send_answer(request, {"errno": _ESRCH, "problem": "no program runs any more"})
                continue
            try:
                getattr(self, "_do_" + request["do"].decode())(request)
            except OSError as error:
                self._refuse(request, error)
            except processes.CannotBeKilled:
                self._channel.send({"failed": "processes are left that cannot be killed"})

    def end(self) -> None:
        processes.end_all(namespaced=self._namespaced)

    def _do_setup(self, request: dict[str, Any]) -> None:
        from harness.sandbox.inside.files import WritablePlaces

        if not self._namespaced:
            processes.adopt_orphans()
        posix.umask(0)
        self._uid = request.get("uid")
        self._places = WritablePlaces(request["places"], confined=not self._namespaced)
        for place, uid, mode in request["own"]:
            posix.chmod(self._places.real(place), mode)  # before it is another user's
            posix.chown(self._places.real(place), uid, uid)
        port = None
        if "gateway" in request:
            from harness.sandbox.inside.forward import Forwarder

            self._forwarder = Forwarder(self._loop, request["gateway"], request["port"])
            port = self._forwarder.port
        self._channel.send({"port": port})

    def _do_create(self, request: dict[str, Any]) -> None:
        from harness.sandbox.inside.files import create

        def work() -> None:  # the host sends nothing after the entries before it has an answer
            create(Channel(BufferedReader(self._control)), request["count"], self._places)
            self._channel.send({})

        self._run_as_user(None if request["owner"] == b"root" else self._uid, work, request)

    def _do_stamp(self, request: dict[str, Any]) -> None:
        from harness.sandbox.inside.files import stamps

        self._stamps = stamps(self._places)
        for path in request["overlaid"]:
            self._stamps.pop(path, None)
        self._channel.send({})

    def _do_run(self, request: dict[str, Any]) -> None:
        from harness.sandbox.inside.processes import Program, SideProcesses

        self._pin_clock(request)
        side_processes = self._side_processes = SideProcesses(self._loop, self._uid, self._send_answer)
        self._loop.watch(self._control.fileno(), READ, self._handle_request)
        program = self._running = Program(self._loop, request, self._uid, self._wait_s, side_processes.note)
        result = program.run(self._namespaced)
        self._running = self._side_processes = None
        side_processes.finish()
        if self._forwarder is not None:
            self._forwarder.finish()
        self._loop.forget(self._control.fileno())
        self._channel.send(result)

    def _do_read(self, request: dict[str, Any]) -> None:
        from harness.sandbox.inside.files import read

        def work() -> None:
            self._send_answer(request, {"content": read(request["path"], request["limit"], self._places)})

        self._run_as_user(self._uid, work, request)

    def _do_write(self, request: dict[str, Any]) -> None:
        from harness.sandbox.inside.files import write

        def work() -> None:
            write(request["path"], request["content"], self._places)
            self._send_answer(request, {})

        self._run_as_user(self._uid, work, request)

    def _do_changes(self, request: dict[str, Any]) -> None:
        from harness.sandbox.inside.files import Changes

        gone: dict[bytes, None] = {}
        Changes(self._channel, request).send(self._changed_entries(dict(request["sums"]), gone), gone)

    def _changed_entries(self, sums: dict[bytes, bytes], gone: dict[bytes, None]) -> Iterator[Entry]:
        from harness.sandbox.inside.files import changed

        places, overlaid = self._places, self._overlaid
        if overlaid is not None:
            for place, real in self._places.tracked():
                if overlaid.has(place):
                    yield from overlaid.changed(place, real, gone)
            places = self._places.without(overlaid.has)
        yield from changed(places, self._stamps, sums, gone)

    def _run_as_user(self, uid: int | None, work: Callable[[], None], request: dict[str, Any]) -> None:
        """Does the work and sends its answer as that user, so that the kernel enforces the user's permissions."""
        if uid is None:
            work()
            return
        pid = posix.fork()
        if pid == 0:
            status = 1
            try:
                processes.act_as(uid)
                work()
                status = 0
            except OSError as error:
                self._refuse(request, error)
                status = 0
            finally:
                posix._exit(status)
        _, status = posix.waitpid(pid, 0)
        if status != 0:
            self._send_answer(request, {"failed": f"a part of the launcher ended with status {status}"})

    def _refuse(self, request: dict[str, Any], error: OSError) -> None:
        self._send_answer(request, {"errno": error.errno or 5, "problem": error.strerror or str(error)})

    def _send_answer(self, request: dict[str, Any], answer: dict[str, Any]) -> None:
        """An answer to a request made while a program runs carries the number of the request."""
        self._channel.send(answer | {"beside": request["beside"]} if "beside" in request else answer)

    def _wait_s(self) -> float:
        forwarder_s = 3600.0 if self._forwarder is None else self._forwarder.tick()
        return forwarder_s if self._side_processes is None else min(forwarder_s, self._side_processes.tick())

    def _handle_request(self) -> None:
        """Handles a request that arrives while a program runs, or a closed connection."""
        try:
            request = self._channel.receive()
        except (EOFError, ConnectionError):
            return self._handle_disconnect()
        try:
            if request["do"] == b"run" and self._side_processes is not None:
                self._pin_clock(request)
                self._side_processes.start(request)
            elif request["do"] == b"expire" and self._running is not None:
                self._running.expire()
                self._send_answer(request, {})
            elif request["do"] in _BESIDE:
                getattr(self, "_do_" + request["do"].decode())(request)
            else:
                self._send_answer(request, {"errno": _ESRCH, "problem": "not while a program runs"})
        except OSError as error:
            self._refuse(request, error)

    def _pin_clock(self, request: dict[str, Any]) -> None:
        """Starts the clock at the instant with the first program; it continues for later programs."""
        if "clock_ns" not in request:
            return
        posix.stat(request["clock_library"])
        if self._clock_offset_ns is None:
            self._clock_offset_ns = request["clock_ns"] - time.time_ns()
        request["env"].append(b"HARNESS_CLOCK_OFFSET_NS=%d" % self._clock_offset_ns)

    def _handle_disconnect(self) -> None:
        """Handles that the host closed the connection while a program runs."""
        self.end()
        posix._exit(0)


def main(path: str) -> None:
    """Connects to the host's socket at `path` and serves."""
    control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        control.connect(path)
    except OSError:
        posix._exit(1)  # the host has stopped waiting, and reports the reason
    serve(control)


def serve(control: _socket.socket, overlaid: Overlaid | None = None) -> None:
    """Serves the host at the other end of the connection until it closes, and ends everything."""
    launcher = Launcher(control, overlaid)
    try:
        launcher.serve()
    except ConnectionError:
        pass  # the host has disconnected in the middle of an answer
    finally:
        launcher.end()
        sys.stderr.flush()
