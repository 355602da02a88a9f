"""Checks of programs: how they start, what they see, how they end, beside one another, and their pinned clock."""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from harness.errors import SandboxError
from harness.sandbox.conformance.provider_fixture import (
    ProviderFixture,
    ProviderNotConforming,
    answer_of,
    await_file,
    check,
    expect,
    expect_raises,
    isolation_check,
    python,
    shell,
)
from harness.sandbox.provider import Sandbox
from harness.suite.cases import Limits
from harness.traces.trial import ProgramExit

_PINNED_VARIABLES = {
    "TZ": "UTC",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "USER": "agent",
}
_DAEMON = """
import os, sys, time, signal
if os.fork():
    time.sleep(float(sys.argv[2])); sys.exit(7)
os.setsid()
if os.fork():
    os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
while True:
    with open(sys.argv[1], "a") as ticks:
        ticks.write(".")
    time.sleep(0.01)
"""


def status_and_both_outputs_are_reported(stand: ProviderFixture) -> None:
    ended = shell(stand.start(), "echo out; echo err >&2; exit 3")
    expect("status", (ended.code, ended.signal, ended.timed_out), (3, None, False))
    expect("output", (ended.stdout, ended.stderr, ended.stdout_bytes, ended.stderr_bytes), ("out\n", "err\n", 4, 4))
    if ended.duration_s is None or ended.duration_s <= 0:
        raise ProviderNotConforming(f"duration: {ended.duration_s!r}")


def signal_is_reported(stand: ProviderFixture) -> None:
    ended = shell(stand.start(), "kill -ABRT $$")
    expect("status", (ended.code, ended.signal, ended.timed_out), (None, 6, False))


def missing_program_is_127(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    ended = sandbox.exec(["there-is-no-such-program", "x"], {}, 10)
    expect("status", (ended.code, "there-is-no-such-program" in ended.stderr), (127, True))
    expect("by path", sandbox.exec(["/no/such/program"], {}, 10).code, 127)
    expect("the sandbox still works", shell(sandbox, "exit 4").code, 4)


def program_that_may_not_run_is_126(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    sandbox.write_file("plain.txt", b"no program")
    expect("status", sandbox.exec(["./plain.txt"], {}, 10).code, 126)


def working_directory_is_the_home(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    answer = answer_of(
        "directory", python(sandbox, "import os, json; print(json.dumps([os.getcwd(), os.environ['HOME']]))")
    )
    expect("directory and HOME", answer, [sandbox.places.work, sandbox.places.work])


def environment_is_pinned(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    answer = answer_of("environment", shell(sandbox, "exec env -0 | python3 -c '" + _READ_ENV + "'"))
    free = {"PATH", "HOME", "TMPDIR", "PWD", "SHLVL", "_", "OLDPWD", "LC_CTYPE"}
    expect("environment", {name: value for name, value in answer.items() if name not in free}, _PINNED_VARIABLES)


_READ_ENV = 'import sys, json; print(json.dumps(dict(i.split("=", 1) for i in sys.stdin.read().split("\\0") if i)))'


def given_environment_wins_over_the_snapshot(stand: ProviderFixture) -> None:
    sandbox = stand.start(stand.snapshot(env={"SEALED": "sealed", "BOTH": "sealed", "TZ": "Europe/Oslo"}))
    code = "import os, json; print(json.dumps([os.environ[n] for n in ('SEALED', 'BOTH', 'TZ', 'ODD')]))"
    answer = answer_of("environment", python(sandbox, code, env={"BOTH": "given", "ODD": "a=b\nc"}))
    expect("environment", answer, ["sealed", "given", "Europe/Oslo", "a=b\nc"])


def standard_input_is_empty(stand: ProviderFixture) -> None:
    expect("input", python(stand.start(), "import sys; print(repr(sys.stdin.read()))").stdout, "''\n")


def broken_pipe_ends_a_program_as_usual(stand: ProviderFixture) -> None:
    ended = shell(stand.start(), "(yes; echo $? >&2) | head -n 1")
    expect("status of yes", (ended.stdout, ended.stderr), ("y\n", "141\n"))


def output_past_the_cap_is_counted(stand: ProviderFixture) -> None:
    sandbox = stand.start(limits=Limits(output_kb=8))
    code = "import os\nfor _ in range(512): os.write(1, b'x' * 65536)\nos.write(2, b'y' * 8192)"
    ended = python(sandbox, code)
    expect("kept", (len(ended.stdout), len(ended.stderr)), (8192, 8192))
    expect("counted", (ended.stdout_bytes, ended.stderr_bytes, ended.code), (512 * 65536, 8192, 0))


def output_that_is_not_utf_8_is_replaced(stand: ProviderFixture) -> None:
    ended = python(stand.start(), "import os; os.write(1, b'a\\xff\\xc3(\\x00z\\xe2\\x82')")
    expect("output", (ended.stdout, ended.stdout_bytes), ("a\ufffd\ufffd(\x00z\ufffd", 8))


def cap_cuts_no_character_in_two(stand: ProviderFixture) -> None:
    ended = python(stand.start(limits=Limits(output_kb=1)), "print('x' + '\u20ac' * 1000)")
    expect("output", ended.stdout, "x" + "\u20ac" * 341)


def closed_output_is_no_end(stand: ProviderFixture) -> None:
    ended = python(stand.start(), "import os, time; os.close(1); os.close(2); time.sleep(0.2); os._exit(5)")
    expect("status", (ended.code, ended.timed_out), (5, False))


def time_limit_ends_the_whole_tree(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    ended = python(sandbox, _DAEMON, "ticks", "60", timeout_s=3.0)
    expect("status", (ended.code, ended.signal, ended.timed_out), (None, 9, True))
    _expect_still(sandbox)


def what_a_program_leaves_running_ends_with_it(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    ended = python(sandbox, _DAEMON, "ticks", "0.5")
    expect("status", (ended.code, ended.timed_out), (7, False))
    _expect_still(sandbox)


def _expect_still(sandbox: Sandbox) -> None:
    before = sandbox.read_file("ticks")
    shell(sandbox, "sleep 0.2")
    expect("the daemon's file", (len(before) > 0, sandbox.read_file("ticks")), (True, before))


def many_orphans_are_reaped(stand: ProviderFixture) -> None:
    """Starts more than `limits.processes` processes in total: each that has ended must be reaped."""
    script = (
        "i=0; while [ $i -lt 100 ]; do (sh -c 'exit 0' &) || exit 9; sleep 0.002; i=$((i+1)); done; sleep 0.2; echo ok"
    )
    ended = shell(stand.start(limits=Limits(processes=32)), script)
    expect("status", (ended.code, ended.stdout), (0, "ok\n"))


def programs_follow_each_other(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    codes = [shell(sandbox, f"echo {n} >> log; exit {n}").code for n in range(3)]
    expect("statuses and file", (codes, sandbox.read_file("log")), ([0, 1, 2], b"0\n1\n2\n"))


def arguments_arrive_as_they_are(stand: ProviderFixture) -> None:
    arguments = ["", " ", "a\nb", "$HOME", "\u20ac", "\udcff"]
    code = "import sys, json; print(json.dumps(sys.argv[1:]))"
    expect("arguments", json.loads(python(stand.start(), code, *arguments).stdout), arguments)


def closed_sandbox_says_so(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    sandbox.close()
    sandbox.close()
    expect_raises("exec", SandboxError, lambda: sandbox.exec(["true"], {}, 5))
    expect_raises("read_file", SandboxError, lambda: sandbox.read_file("x"))
    expect_raises("end_state", SandboxError, lambda: sandbox.end_state(stand.archive()))


PROGRAM_CHECKS = tuple(
    check(run)
    for run in (
        status_and_both_outputs_are_reported,
        signal_is_reported,
        missing_program_is_127,
        program_that_may_not_run_is_126,
        working_directory_is_the_home,
        environment_is_pinned,
        given_environment_wins_over_the_snapshot,
        standard_input_is_empty,
        broken_pipe_ends_a_program_as_usual,
        output_past_the_cap_is_counted,
        output_that_is_not_utf_8_is_replaced,
        cap_cuts_no_character_in_two,
        closed_output_is_no_end,
        time_limit_ends_the_whole_tree,
        what_a_program_leaves_running_ends_with_it,
        many_orphans_are_reaped,
        programs_follow_each_other,
        arguments_arrive_as_they_are,
        closed_sandbox_says_so,
    )
)


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


BESIDE_CHECKS = tuple(
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


# The pinned clock. The image must hold the harness's clock library.

_NOW = "import time, datetime, json; print(json.dumps([time.time(), datetime.datetime.now().isoformat()]))"
_PINNED_INSTANT = "2024-02-29T12:00:00Z"
_PINNED_S = 1_709_208_000


def clock_starts_where_it_is_pinned(stand: ProviderFixture) -> None:
    sandbox = stand.start(clock=_PINNED_INSTANT)
    seconds, text = answer_of("time", python(sandbox, _NOW))
    if not 0 <= seconds - _PINNED_S < 30:
        raise ProviderNotConforming(f"the clock says {seconds}, although it starts at {_PINNED_S}")
    expect("day", text[:10], "2024-02-29")
    expect("other programs", shell(sandbox, "date -u +%F").stdout, "2024-02-29\n")


def pinned_clock_goes_on(stand: ProviderFixture) -> None:
    sandbox = stand.start(clock="2024-02-29T12:00:00+00:00")
    first = answer_of("time", python(sandbox, _NOW + "; time.sleep(0.2)"))[0]
    second = answer_of("time", python(sandbox, _NOW))[0]
    if not 0.2 <= second - first < 30:
        raise ProviderNotConforming(f"the clock went from {first} to {second}")


def pinned_clock_moves_no_timer(stand: ProviderFixture) -> None:
    code = """
import json, queue, time
began = time.monotonic()
try:
    queue.Queue().get(timeout=0.2)
except queue.Empty:
    pass
time.sleep(0.1)
print(json.dumps(0.3 <= time.monotonic() - began < 5))
"""
    expect(
        "sleeps and timeouts", answer_of("timers", python(stand.start(clock=_PINNED_INSTANT), code, timeout_s=15)), True
    )


def wrong_instant_is_refused(stand: ProviderFixture) -> None:
    expect_raises("start", SandboxError, lambda: stand.start(clock="yesterday"))


CLOCK_CHECKS = tuple(
    isolation_check(run)
    for run in (
        clock_starts_where_it_is_pinned,
        pinned_clock_goes_on,
        pinned_clock_moves_no_timer,
        wrong_instant_is_refused,
    )
)
