"""Checks of limits and of hostile programs: they harm only themselves, and hide nothing."""

from concurrent.futures import ThreadPoolExecutor

from harness.sandbox.conformance.provider_fixture import (
    ProviderFixture,
    ProviderNotConforming,
    await_file,
    check,
    expect,
    isolation_check,
    python,
    shell,
)
from harness.sandbox.endstate import read_changed_file
from harness.suite.cases import Limits

# Limits: a program that exhausts its sandbox's resources harms only itself.

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
            raise ProviderNotConforming(f"{place}: {written} bytes were written, although 4 MB is the limit")


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
        raise ProviderNotConforming(f"{count} processes ran, although 24 is the limit")


LIMIT_CHECKS = (
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


# Programs that try to hide what they did, or to make the host appear to have failed.

_THROUGH_A_MAPPING = """
import mmap, os
mapped = mmap.mmap(os.open("list", os.O_RDWR), 0)
mapped[0]  # read first: what is written then reaches the kernel by no call and no fault
mapped[0:1] = b"B"
"""
_HOLD_UP = """
import os, signal, sys, time
open("begun", "w").close()
end = time.monotonic() + 20
while time.monotonic() < end and not os.path.exists("enough"):
    try:
        os.kill(-1, signal.SIGSTOP)
    except OSError:
        pass
"""
_TOO_DEEP = """
import os
for _ in range(30):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
open("end", "w").close()
"""
_READS = 20


def what_is_written_through_a_mapping_is_reported(stand: ProviderFixture) -> None:
    sandbox = stand.start(stand.snapshot({"/work/list": b"A, C", "/work/other": b"1"}))
    expect("status", python(sandbox, _THROUGH_A_MAPPING).code, 0)
    archive = stand.archive()
    found = [(change.path, change.change) for change in sandbox.end_state(archive).changes]
    expect("changes", found, [("/work/list", "modified")])
    expect("content", read_changed_file(archive, "/work/list"), b"B, C")


def links_and_holes_that_are_more_than_the_disk_are_laid_again(stand: ProviderFixture) -> None:
    limits = Limits(disk_mb=8)
    sandbox = stand.start(limits=limits)
    script = "head -c 4194304 /dev/zero > a; ln a b; ln a c; truncate -s 20M hole; echo end >> hole"
    expect("status", shell(sandbox, script).code, 0)
    archive = stand.archive()
    left = sandbox.end_state(archive)
    sandbox.close()
    again = stand.start(limits=limits, end_state_from=archive)
    expect("the end of a hole", shell(again, "tail -c 4 hole; echo more > more").stdout, "end\n")
    expect("paths", [change.path for change in left.changes], [f"/work/{name}" for name in ("a", "b", "c", "hole")])


def paths_that_no_program_can_name_are_said_to_be_left_out(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    expect("status", python(sandbox, _TOO_DEEP).code, 0)
    archive = stand.archive()
    left = sandbox.end_state(archive)
    expect("complete", (left.complete, left.problem is None), (False, False))
    sandbox.close()
    expect("restored again", shell(stand.start(end_state_from=archive), "true").code, 0)


def program_cannot_hold_up_what_the_host_does(stand: ProviderFixture) -> None:
    """A program may stop processes of its own user, and none that acts for the host."""
    sandbox = stand.start(stand.snapshot({"/work/list": b"A"}))
    with ThreadPoolExecutor(1) as pool:
        program = pool.submit(python, sandbox, _HOLD_UP, timeout_s=60)
        await_file(sandbox, "begun", program)
        expect("read", {sandbox.read_file("list") for _ in range(_READS)}, {b"A"})
        sandbox.write_file("enough", b"")
        expect("status", program.result(60).code, 0)


HOSTILE_CHECKS = (
    check(what_is_written_through_a_mapping_is_reported),
    check(links_and_holes_that_are_more_than_the_disk_are_laid_again),
    check(paths_that_no_program_can_name_are_said_to_be_left_out),
    isolation_check(program_cannot_hold_up_what_the_host_does),
)
