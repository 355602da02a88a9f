"""The clock shim of the base image: the wall clock moves, nothing else does."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.sandbox.images.store import ImageStore

pytestmark = pytest.mark.docker

PROGRAM = """
import ctypes, datetime, json, queue, subprocess, sys, threading, time
c = ctypes.CDLL(None, use_errno=True)
c.time.restype = ctypes.c_long

class Time(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]

def lasted(action):
    started = time.monotonic()
    action()
    return round(time.monotonic() - started, 1)

def wait_until(function, *before):
    at = time.time() + 0.3
    until = Time(int(at), int(at % 1 * 1e9))
    function(*before, ctypes.byref(until))

def empty():
    try:
        queue.Queue().get(timeout=0.3)
    except queue.Empty:
        pass

semaphore = ctypes.create_string_buffer(64)
c.sem_init(semaphore, 0, 0)
mutex, condition = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
c.pthread_mutex_lock(mutex)
ctypes.set_errno(42)
c.time(None)
untouched = ctypes.get_errno()
now = Time()
c.timespec_get(ctypes.byref(now), 1)
with open("/proc/uptime") as uptime:
    monotonic = abs(float(uptime.read().split()[0]) - time.monotonic()) < 5
print(json.dumps({
    "year": datetime.datetime.now(datetime.UTC).year,
    "time": int(c.time(None)) // 60,
    "timespec_get": now.s // 60,
    "coarse": int(time.clock_gettime(5)) // 60,
    "child": int(subprocess.run(["date", "+%s"], capture_output=True, check=True).stdout) // 60,
    "shell": int(subprocess.run(["bash", "-c", "echo $EPOCHSECONDS"], capture_output=True, check=True).stdout) // 60,
    "monotonic": monotonic,
    "errno": untouched,
    "sleep": lasted(lambda: time.sleep(0.3)),
    "queue": lasted(empty),
    "event": lasted(lambda: threading.Event().wait(0.3)),
    "semaphore": lasted(lambda: wait_until(c.sem_timedwait, semaphore)),
    "condition": lasted(lambda: wait_until(c.pthread_cond_timedwait, condition, mutex)),
    "nanosleep": lasted(lambda: wait_until(lambda until: c.clock_nanosleep(0, 1, until, None))),
}))
"""


@pytest.mark.parametrize("offset_s", [-800_000_000, pytest.param(1_000_000_000, marks=pytest.mark.slow)])
def test_programs_see_the_moved_wall_clock_and_wait_as_long_as_ever(base: str, tmp_path: Path, offset_s: int) -> None:
    client = ImageStore(tmp_path).client
    environment = {
        "LD_PRELOAD": "/usr/local/lib/harness-clock.so",
        "HARNESS_CLOCK_OFFSET_NS": str(offset_s * 1_000_000_000),
    }
    output = client.containers.run(
        base, ["python3", "-c", PROGRAM], environment=environment, remove=True, network_disabled=True
    )
    seen = json.loads(output)

    minutes = {seen.pop(name) for name in ("time", "timespec_get", "coarse", "child", "shell")}
    assert max(minutes) - min(minutes) <= 1
    waits = ("sleep", "queue", "event", "semaphore", "condition", "nanosleep")
    assert dict.fromkeys(waits, True) == {name: 0.3 <= seen.pop(name) < 30 for name in waits}
    year = datetime.fromtimestamp(time.time() + offset_s, UTC).year
    assert {"year": year, "monotonic": True, "errno": 42} == seen
    client.close()


@pytest.mark.slow
@pytest.mark.parametrize("offset", ["", "tomorrow", "12h", "99999999999999999999999"])
def test_an_offset_that_is_no_number_moves_nothing(base: str, tmp_path: Path, offset: str) -> None:
    client = ImageStore(tmp_path).client
    environment = {"LD_PRELOAD": "/usr/local/lib/harness-clock.so", "HARNESS_CLOCK_OFFSET_NS": offset}
    both = client.containers.run(
        base,
        ["sh", "-c", "date +%s; unset LD_PRELOAD; date +%s"],
        environment=environment,
        remove=True,
        network_disabled=True,
    )
    moved, real = map(int, both.split())

    assert abs(real - moved) <= 2
    client.close()
