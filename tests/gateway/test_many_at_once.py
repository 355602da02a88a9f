"""What one trial's agent holds at once is bounded, so that nothing is left wanting for the other trials."""

import ctypes
import gc
import resource
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from harness.gateway.bodies import BODIES_MAX_BYTES
from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.listener import CONNECTIONS_MAX
from harness.gateway.session import TrialSession
from harness.suite.cases import Case
from harness.suite.suites import Suite
from tests.gateway.conftest import Agent

_HEAD = b"POST /thought HTTP/1.1\r\nHost: g\r\nContent-Length: %d\r\n\r\n"
_LARGE = 1_000_000


@pytest.fixture
def sessions(suite: Suite, case: Case, shop, tmp_path: Path) -> Iterator[list[TrialSession]]:
    """Two trials of one gateway."""
    with Gateway(suite, "live", cassettes=tmp_path, services=shop) as gateway, ExitStack() as stack:
        yield [
            stack.enter_context(gateway.open(SessionRequest(trial_id=name, case=case, attempt=1, agent="a")))
            for name in ("greedy", "modest")
        ]


def test_connections_of_one_trial_leave_the_others_their_descriptors(
    sessions: list[TrialSession], agent: Callable[[Path], Agent]
) -> None:
    greedy, modest = sessions
    before = _descriptors()
    with ExitStack() as stack:
        mine = [stack.enter_context(_connected(greedy.socket)) for _ in range(CONNECTIONS_MAX + 300)]
        assert 200 == agent(modest.socket).ask("GET", "/turn")[0]
        assert CONNECTIONS_MAX + 3 >= _descriptors() - before - len(mine)
        for one in mine[:-1]:
            one.close()
        # the last one had to wait for its turn, and has it now
        mine[-1].sendall(b"GET /turn HTTP/1.1\r\nHost: g\r\n\r\n")
        assert mine[-1].recv(15).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_bodies_that_one_trial_sends_at_once_are_bounded_and_the_memory_is_given_back(
    sessions: list[TrialSession], agent: Callable[[Path], Agent]
) -> None:
    greedy, modest = sessions
    told: list[bytes] = []
    with ExitStack() as stack:
        mine = [stack.enter_context(_connected(greedy.socket)) for _ in range(2 * BODIES_MAX_BYTES // _LARGE)]
        all_sent = threading.Barrier(len(mine), timeout=60)

        def send(connection: socket.socket) -> None:
            answer = b""
            with suppress(ConnectionError):
                connection.sendall(_HEAD % _LARGE + b"x" * (_LARGE - 1))
            all_sent.wait()
            with suppress(ConnectionError):
                connection.sendall(b"x")
            with suppress(ConnectionError):
                answer = connection.recv(65536)
            told.append(answer)

        senders = [threading.Thread(target=send, args=(one,)) for one in mine]
        for sender in senders:
            sender.start()
        assert 200 == agent(modest.socket).ask("GET", "/turn")[0]
        for sender in senders:
            sender.join()
    refused = [answer for answer in told if answer.startswith(b"HTTP/1.1 503")]
    assert refused
    assert all(b"too_much_at_once" in answer for answer in refused)
    assert 204 == agent(greedy.socket).ask("POST", "/thought", {"text": "x" * 900_000})[0]


@pytest.mark.slow
def test_memory_that_one_trial_took_is_given_back_when_it_ends(
    sessions: list[TrialSession], agent: Callable[[Path], Agent]
) -> None:
    greedy, modest = sessions
    assert 200 == agent(modest.socket).ask("GET", "/turn")[0]
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what other tests have left is not to be taken again unseen
    before = _resident_mb()
    with ExitStack() as stack:
        for _ in range(CONNECTIONS_MAX):
            connection = stack.enter_context(_connected(greedy.socket))
            connection.sendall(_HEAD % _LARGE + b"x" * 300_000)
        deadline = time.monotonic() + 60
        while _resident_mb() < before + 60 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert _resident_mb() >= before + 60
        greedy.close()
    deadline = time.monotonic() + 60
    while _resident_mb() > before + 30 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _resident_mb() <= before + 30


@pytest.mark.slow
def test_what_trials_threads_took_at_once_is_not_kept_for_the_rest_of_the_run(sessions: list[TrialSession]) -> None:
    del sessions  # the gateway is entered, which is what this is about
    for size_mb in (30, 1):
        _allocated(size_mb)  # by the first one an allocator that learns learns to keep even that much
    before = _resident_mb()
    together = threading.Barrier(6, timeout=60)

    def score() -> None:
        held = [b"x" * 300_000 for _ in range(80)]
        together.wait()
        del held

    threads = [threading.Thread(target=score) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _resident_mb() <= before + 30


def test_a_client_that_breaks_off_keeps_no_spans_of_a_trial_that_has_ended(
    suite: Suite, case: Case, shop, tmp_path: Path, agent: Callable[[Path], Agent]
) -> None:
    request = SessionRequest(trial_id="t", case=case, attempt=1, agent="a")
    with Gateway(suite, "live", cassettes=tmp_path, services=shop) as gateway:
        gc.collect()
        gc.disable()
        try:
            with gateway.open(request) as session, _connected(session.socket) as connection:
                assert 204 == agent(session.socket).ask("POST", "/reply", {"message": "said"})[0]
                connection.sendall(_HEAD % _LARGE + b"x" * 1000)
                time.sleep(0.1)
                held = [weakref.ref(span) for span in session.end().spans]
            del session
            assert [None] * 4 == [span() for span in held]  # the root, the turn, what was said, the probe
        finally:
            gc.enable()


@pytest.mark.slow
def test_nothing_is_printed_about_clients_that_break_off_while_a_session_ends(
    sessions: list[TrialSession], caplog: pytest.LogCaptureFixture
) -> None:
    greedy, _ = sessions
    with ExitStack() as stack:
        mine = [stack.enter_context(_connected(greedy.socket)) for _ in range(CONNECTIONS_MAX)]
        for connection in mine:
            connection.sendall(_HEAD % _LARGE + b"x" * 1000)
        ending = threading.Thread(target=greedy.close)
        ending.start()
        for connection in mine:  # over the second that the gateway gives them
            time.sleep(0.007)
            connection.close()
        ending.join()
    assert [] == [record.getMessage() for record in caplog.records if record.name.startswith("aiohttp")]


def test_a_low_soft_limit_of_open_files_is_raised(suite: Suite, case: Case, shop, tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        resource.setrlimit(resource.RLIMIT_NOFILE, (_descriptors() + 50, before[1]))
        gateway = stack.enter_context(Gateway(suite, "live", cassettes=tmp_path, services=shop))
        request = SessionRequest(trial_id="t", case=case, attempt=1, agent="a")
        session = stack.enter_context(gateway.open(request))
        for _ in range(100):
            connection = stack.enter_context(_connected(session.socket))
        connection.sendall(b"GET /turn HTTP/1.1\r\nHost: g\r\n\r\n")
        assert connection.recv(15).startswith(b"HTTP/1.1 200")


def _allocated(size_mb: int) -> int:
    return len(b"x" * (size_mb * 1_048_576))


def _connected(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(str(path))
    return connection


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1_048_576
