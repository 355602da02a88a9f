"""Checks of programs: how they start, what they see, how they end, beside one another, and the gateway."""

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from harness.errors import SandboxError
from harness.sandbox.conformance.provider_fixture import (
    ProviderFixture,
    ProviderNotConforming,
    answer_of,
    await_file,
    expect,
    expect_raises,
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


_SMALL = Limits(memory_mb=64, processes=24, disk_mb=4, output_kb=4)


def flood_of_output_is_one_exit(stand: ProviderFixture) -> None:
    ended = shell(stand.start(limits=_SMALL), "head -c 200000000 /dev/zero | tr '\\0' x; exit 3", timeout_s=60)
    expect("output", (ended.code, ended.stdout_bytes, len(ended.stdout)), (3, 200_000_000, 4096))


def endless_output_ends_at_the_time_limit(stand: ProviderFixture) -> None:
    ended = shell(stand.start(limits=_SMALL), "yes & exec yes >&2", timeout_s=2)
    expect("status", (ended.timed_out, len(ended.stdout), len(ended.stderr)), (True, 4096, 4096))


# The gateway, the only way out.

_ASK = """
import http.client, json, os, socket, urllib.parse
where = urllib.parse.urlsplit(os.environ["HARNESS_GATEWAY_URL"])
http_connection = http.client.HTTPConnection(where.hostname, where.port, timeout=20)
def connected(request):
    s = socket.create_connection((where.hostname, where.port), timeout=30)
    s.sendall(request + b"\\r\\n\\r\\n")
    return s
"""


def _asked(stand: ProviderFixture, code: str) -> Any:
    """The JSON that a program prints, in a sandbox with a gateway of its own."""
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    return answer_of("the program", python(sandbox, _ASK + code, timeout_s=60))


def gateway_answers_by_url(stand: ProviderFixture) -> None:
    code = """
paths = []
for n in range(3):
    http_connection.request("POST", f"/tools/{n}", b"x" * n)
    paths.append(json.loads(http_connection.getresponse().read())["path"])
print(json.dumps(paths))
"""
    expect("paths", _asked(stand, code), ["/tools/0", "/tools/1", "/tools/2"])


def gateway_answers_by_socket(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["HARNESS_GATEWAY_SOCKET"])
s.sendall(b"GET /turn HTTP/1.0\\r\\n\\r\\n")
names = ("HARNESS_GATEWAY_URL", "HARNESS_GATEWAY_SOCKET")
print(json.dumps([s.makefile().readline().split()[1], *map(os.environ.get, names)]))
"""
    expected = ["200", sandbox.places.gateway_url, sandbox.places.gateway_socket]
    expect("status, URL and socket", answer_of("answer", python(sandbox, _ASK + code)), expected)


def without_a_gateway_none_is_named(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    expect("places", (sandbox.places.gateway_url, sandbox.places.gateway_socket), (None, None))
    expect("environment", shell(sandbox, "env | grep GATEWAY").stdout, "")


def large_bodies_pass_both_ways(stand: ProviderFixture) -> None:
    code = """
http_connection.request("POST", "/in", bytes(range(256)) * 40000)
up = json.loads(http_connection.getresponse().read())["sha256"]
http_connection.request("GET", "/out?bytes=9000000")
print(json.dumps([up, len(http_connection.getresponse().read())]))
"""
    digest = hashlib.sha256(bytes(range(256)) * 40000).hexdigest()
    expect("bodies", _asked(stand, code), [digest, 9_000_000])


def many_connections_at_once_are_served(stand: ProviderFixture) -> None:
    code = """
ends = [connected(b"GET /turn HTTP/1.1\\r\\nhost: x\\r\\nconnection: close") for n in range(1000)]
print(json.dumps(sum(s.makefile("rb").read().startswith(b"HTTP/1.1 200") for s in ends)))
"""
    expect("answers", _asked(stand, code), 1000)


def last_words_arrive(stand: ProviderFixture) -> None:
    """The message of a program that ends without waiting for the answer still arrives."""
    gateway = stand.gateway()
    sandbox = stand.start(gateway_socket=gateway.socket)
    code = """
s = connected(b"POST /reply HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: 300000")
s.sendall(b"x" * 300000)
os._exit(0)
"""
    expect("status", python(sandbox, _ASK + code).code, 0)
    expect("status", python(sandbox, "import time; time.sleep(0.3)").code, 0)
    expect("requests", gateway.requests, ["/reply"])


def half_closed_connection_gets_its_answer(stand: ProviderFixture) -> None:
    code = """
s = connected(b"GET /turn HTTP/1.1\\r\\nhost: x")
s.shutdown(socket.SHUT_WR)
print(json.dumps(s.makefile("rb").readline().decode().split()[1]))
"""
    expect("status", _asked(stand, code), "200")


def dead_gateway_is_a_closed_connection(stand: ProviderFixture) -> None:
    gateway = stand.gateway()
    sandbox = stand.start(gateway_socket=gateway.socket)
    gateway.close()
    code = """
try:
    http_connection.request("GET", "/turn")
    http_connection.getresponse()
except (http.client.HTTPException, OSError):
    print("closed")
"""
    expect("answer", python(sandbox, _ASK + code).stdout, "closed\n")
