"""Programs and files while another program runs: what a tool does in the sandbox while the agent waits for it."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from harness.sandbox.conformance.provider_fixture import (
    ProviderFixture,
    ProviderNotConforming,
    await_file,
    check,
    expect,
    expect_raises,
    shell,
)
from harness.sandbox.provider import Sandbox
from harness.trace import ProgramExit

_UNTIL_GO = "echo begun > begun; while [ ! -e go ]; do sleep 0.02; done; cat go; echo done"
_MANY = 20


@contextmanager
def _running(sandbox: Sandbox) -> Iterator[Future[ProgramExit]]:
    """Runs a program that continues until the file `go` exists."""
    with ThreadPoolExecutor(1) as pool:
        program = pool.submit(shell, sandbox, _UNTIL_GO)
        await_file(sandbox, "begun", program)
        try:
            yield program
        finally:
            if not program.done():
                sandbox.write_file("go", b"on\n")


def program_runs_beside_another(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    with _running(sandbox) as program:
        other = shell(sandbox, "echo here; pwd; echo err >&2; exit 3")
        expect("status", (other.code, other.timed_out, other.stderr), (3, False, "err\n"))
        expect("output", other.stdout, f"here\n{sandbox.places.work}\n")
        expect("the other one goes on", program.done(), False)
        sandbox.write_file("go", b"on\n")
        ended = program.result(30)
    expect("the other one", (ended.code, ended.stdout), (0, "on\ndone\n"))


def files_are_read_and_written_beside_a_program(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    with _running(sandbox):
        sandbox.write_file("notes/a.txt", b"text")
        expect("read", sandbox.read_file("notes/a.txt"), b"text")
        expect_raises("no such file", FileNotFoundError, lambda: sandbox.read_file("nothing"))
        expect_raises("a folder", IsADirectoryError, lambda: sandbox.read_file("notes"))
        expect("seen by programs", shell(sandbox, "cat notes/a.txt").stdout, "text")


def slow_program_beside_is_ended_alone(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    with _running(sandbox) as program:
        slow = sandbox.exec(["sh", "-c", "echo a; sleep 60 & sleep 60"], {}, 2)
        expect("status", (slow.timed_out, slow.code, slow.signal, slow.stdout), (True, None, 9, "a\n"))
        expect("the other one goes on", program.done(), False)
        expect("what a program leaves does not hold it up", shell(sandbox, "sleep 60 & echo b").stdout, "b\n")


def many_programs_run_beside_at_once(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    with _running(sandbox), ThreadPoolExecutor(8) as pool:
        printed = list(pool.map(lambda number: shell(sandbox, f"echo {number}").stdout, range(_MANY)))
        expect("answers", printed, [f"{number}\n" for number in range(_MANY)])


def programs_beside_end_with_the_program(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    with ThreadPoolExecutor(1) as pool:
        with _running(sandbox) as program:
            other = pool.submit(shell, sandbox, "echo up > up; sleep 60")
            await_file(sandbox, "up", program)
        expect("the program", program.result(30).code, 0)
        expect("the one beside", (other.result(30).signal, other.result().timed_out), (9, False))
    left = shell(sandbox, "ls /proc | grep -c '^[0-9]'" if stand.provider.isolates else "echo 0")
    if int(left.stdout) > 4:
        raise ProviderNotConforming(f"{left.stdout.strip()} processes are left")


def program_is_ended_before_its_time(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    sandbox.expire()  # nothing runs
    with ThreadPoolExecutor(1) as pool:
        program = pool.submit(sandbox.exec, ["sh", "-c", "echo a; : > begun; sleep 60 & sleep 60"], {}, 60)
        await_file(sandbox, "begun", program)
        sandbox.expire()
        ended = program.result(30)
    expect("status", (ended.timed_out, ended.signal, ended.stdout), (True, 9, "a\n"))
    expect("the sandbox is still of use", shell(sandbox, "echo b").stdout, "b\n")


CHECKS = tuple(
    check(run)
    for run in (
        program_runs_beside_another,
        files_are_read_and_written_beside_a_program,
        slow_program_beside_is_ended_alone,
        many_programs_run_beside_at_once,
        programs_beside_end_with_the_program,
        program_is_ended_before_its_time,
    )
)
