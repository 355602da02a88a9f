"""Limits: a program that exhausts its sandbox's resources harms only itself."""

from harness.case import Limits
from harness.sandbox.conformance.provider_fixture import (
    ProviderFixture,
    ProviderNotConforming,
    check,
    expect,
    isolation_check,
    python,
    shell,
)

_SMALL = Limits(memory_mb=64, processes=24, disk_mb=4, output_kb=4)


def flood_of_output_is_one_exit(stand: ProviderFixture) -> None:
    ended = shell(stand.start(limits=_SMALL), "head -c 200000000 /dev/zero | tr '\\0' x; exit 3", timeout_s=60)
    expect("output", (ended.code, ended.stdout_bytes, len(ended.stdout)), (3, 200_000_000, 4096))


def endless_output_ends_at_the_time_limit(stand: ProviderFixture) -> None:
    ended = shell(stand.start(limits=_SMALL), "yes & exec yes >&2", timeout_s=2)
    expect("status", (ended.timed_out, len(ended.stdout), len(ended.stderr)), (True, 4096, 4096))


def fork_bomb_is_ended(stand: ProviderFixture) -> None:
    sandbox = stand.start(limits=_SMALL)
    code = "import os\nwhile True:\n try: os.fork()\n except OSError: pass"
    expect("status", python(sandbox, code, timeout_s=1.5).timed_out, True)
    expect("the sandbox still works", shell(sandbox, "echo x > file").code, 0)
    expect("end state", [c.path for c in sandbox.end_state(stand.archive()).changes], ["/work/file"])


def memory_hog_is_ended(stand: ProviderFixture) -> None:
    sandbox = stand.start(limits=_SMALL)
    ended = python(sandbox, "hog = [b'x' * (1 << 20) for _ in range(600)]", timeout_s=60)
    expect("status", (ended.code, ended.signal, ended.timed_out), (None, 9, False))
    expect("the sandbox still works", shell(sandbox, "echo x > file").code, 0)
    expect("end state", [c.path for c in sandbox.end_state(stand.archive()).changes], ["/work/file"])


def many_small_hogs_are_ended(stand: ProviderFixture) -> None:
    """Each process tries to make the launcher a likelier victim of the out-of-memory killer than itself."""
    code = """
import os, time
for _ in range(20):
    if os.fork() == 0:
        try:
            open("/proc/self/oom_score_adj", "w").write("0")
        except OSError:
            pass
        hog = []
        while True:
            hog.append(os.urandom(65536))
            time.sleep(0.0005)
time.sleep(20)
"""
    sandbox = stand.start(limits=_SMALL)
    python(sandbox, code, timeout_s=8)
    expect("the sandbox still works", shell(sandbox, "echo x > file").code, 0)


def full_disks_leave_memory_to_programs(stand: ProviderFixture) -> None:
    sandbox = stand.start(limits=Limits(memory_mb=48, disk_mb=64))
    fill = "for place in /work /tmp /dev/shm; do head -c 999999999 /dev/zero > $place/big; done 2>/dev/null; true"
    expect("filling", shell(sandbox, fill).code, 0)
    expect("a program with memory", python(sandbox, "print(len(bytes(24 << 20)))").code, 0)
    state = sandbox.end_state(stand.archive())
    expect("end state", [(c.path, c.size) for c in state.changes], [("/work/big", 64 << 20)])


def disk_has_a_limit(stand: ProviderFixture) -> None:
    sandbox = stand.start(limits=_SMALL)
    for place in ("/work", "/tmp"):
        ended = shell(sandbox, f"head -c 9000000 /dev/zero > {place}/big; wc -c < {place}/big")
        written = int(ended.stdout)
        if not 0 < written <= 4 << 20:
            raise ProviderNotConforming(f"{place}: {written} bytes were written where 4 MB is the limit")


def number_of_files_has_a_limit(stand: ProviderFixture) -> None:
    sandbox = stand.start(limits=_SMALL)
    ended = python(sandbox, "import os\nfor n in range(100_000): os.mknod(f'/work/{n}')")
    expect("files without end", (ended.code, "No space left" in ended.stderr), (1, True))


def processes_have_a_limit(stand: ProviderFixture) -> None:
    code = """
import os, time
count = 0
try:
    while count < 100:
        if os.fork() == 0:
            time.sleep(30)
        count += 1
except OSError:
    pass
print(count)
"""
    count = int(python(stand.start(limits=_SMALL), code).stdout)
    if not 16 <= count <= 26:
        raise ProviderNotConforming(f"{count} processes ran where 24 is the limit")


CHECKS = (
    *map(check, (flood_of_output_is_one_exit, endless_output_ends_at_the_time_limit)),
    *map(
        isolation_check,
        (
            fork_bomb_is_ended,
            memory_hog_is_ended,
            many_small_hogs_are_ended,
            full_disks_leave_memory_to_programs,
            disk_has_a_limit,
            number_of_files_has_a_limit,
            processes_have_a_limit,
        ),
    ),
)
