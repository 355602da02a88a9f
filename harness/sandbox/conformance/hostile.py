"""Programs that try to hide what they did, or to make the host appear to have failed."""

from concurrent.futures import ThreadPoolExecutor

from harness.case import Limits
from harness.sandbox.conformance.provider_fixture import (
    ProviderFixture,
    await_file,
    check,
    expect,
    isolation_check,
    python,
    shell,
)
from harness.sandbox.state.endstate import read_changed_file

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


CHECKS = (
    check(what_is_written_through_a_mapping_is_reported),
    check(links_and_holes_that_are_more_than_the_disk_are_laid_again),
    check(paths_that_no_program_can_name_are_said_to_be_left_out),
    isolation_check(program_cannot_hold_up_what_the_host_does),
)
