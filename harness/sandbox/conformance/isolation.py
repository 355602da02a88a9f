"""Checks of sandboxes that isolate: what a program cannot see, reach, become, change or exhaust; its pinned clock."""

from concurrent.futures import ThreadPoolExecutor

from harness.errors import SandboxError
from harness.sandbox.conformance.provider_fixture import (
    Files,
    ProviderFixture,
    ProviderNotConforming,
    answer_of,
    await_file,
    expect,
    expect_raises,
    python,
    shell,
)
from harness.suite.cases import Limits

_SYSTEM_CALLS = """
import ctypes, errno, json, os, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
calls = {
    "unshare user": lambda: libc.unshare(0x10000000),
    "setns": lambda: libc.setns(os.open("/proc/self/ns/net", os.O_RDONLY), 0),
    "clone newuser": lambda: libc.syscall(56 if x86 else 220, 0x10000000 | 17, 0, 0, 0, 0),
    "clone3": lambda: libc.syscall(435, 0, 0),
    "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
    "ptrace": lambda: libc.ptrace(0, 0, 0, 0),
    "keyctl": lambda: libc.syscall(250 if x86 else 219, 0, -3, 0),
    "bpf": lambda: libc.syscall(321 if x86 else 280, 0, 0, 0),
    "io_uring_setup": lambda: libc.syscall(425, 8, ctypes.create_string_buffer(120)),
    "personality": lambda: libc.personality(0x0400000),
    "chroot": lambda: libc.chroot(b"/tmp"),
    "setuid": lambda: libc.setuid(0),
    "kill 1": lambda: libc.kill(1, 9),
    "vsock": lambda: libc.socket(40, 1, 0),
    "packet socket": lambda: libc.socket(17, 2, 0),
}
allowed = [n for n, call in calls.items() if not (call() == -1 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS))]
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
    socket.socket(family).close()
print(json.dumps(allowed))
"""
_FIRST_PROCESS = """
import json, os
opened = []
for name in ("mem", "environ", "maps", "auxv", "syscall", "stack", "io", "personality", "fd/0", "cwd", "root", "exe"):
    try:
        os.close(os.open("/proc/1/" + name, os.O_RDONLY))
        opened.append(name)
    except OSError:
        pass
try:
    open("/proc/1/oom_score_adj", "w").write("1000")
    opened.append("oom_score_adj")
except OSError:
    pass
print(json.dumps(opened))
"""
_CONTROL = """
import json, os, socket, stat
sockets = []
for at, folders, names in os.walk("/"):
    folders[:] = [f for f in folders if os.path.join(at, f) not in ("/proc", "/sys")]
    for name in names:
        path = os.path.join(at, name)
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            sockets.append(path)
reached = []
for line in open("/proc/net/unix").read().splitlines()[1:]:
    path = line.split()[-1]
    if path.startswith(("/", "@")):
        try:
            socket.socket(socket.AF_UNIX).connect(path.replace("@", "\\0", 1))
            reached.append(path)
        except OSError:
            pass
print(json.dumps([sockets, reached, [n for n in os.listdir("/proc/self/fd") if int(n) > 2 and
      os.path.exists("/proc/self/fd/" + n) and "socket" in os.readlink("/proc/self/fd/" + n)]]))
"""
_NETWORK = """
import json, os, socket
reached = []
for host in ("172.17.0.1", "169.254.169.254", "192.0.2.1", "10.0.0.1", "8.8.8.8"):
    for port in (22, 53, 80, 443, 2375):
        s = socket.socket()
        s.settimeout(0.3)
        try:
            s.connect((host, port))
            reached.append([host, port])
        except OSError as error:
            if isinstance(error, ConnectionRefusedError):
                reached.append([host, "refused"])
        s.close()
try:
    socket.getaddrinfo("example.com", 80)
    reached.append("name")
except OSError:
    pass
up = [n for n in os.listdir("/sys/class/net") if int(open(f"/sys/class/net/{n}/flags").read(), 16) & 1]
print(json.dumps([reached, up]))
"""
_RIGHTS = """
import json, os
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
names = ("CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs", "Seccomp")
ids = (os.getuid(), os.geteuid(), os.getgid(), *os.getgroups())
print(json.dumps([{n: status[n].strip() for n in names}, 0 in ids]))
"""
_WRITABLE = """
import json, os
free = []
for at, folders, names in os.walk("/"):
    folders[:] = [f for f in folders if os.path.join(at, f) not in ("/proc", "/sys", "/dev", "/work", "/tmp")]
    if os.access(at, os.W_OK):
        free.append(at)
for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/fs/cgroup/x", "/etc/passwd", "/x", "/dev/x",
             "/proc/sys/vm/drop_caches"):
    try:
        open(path, "w").write("1")
        free.append(path)
    except OSError:
        pass
print(json.dumps(free))
"""


def only_the_launcher_runs_beside_the_program(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    shell(sandbox, "setsid sh -c 'while :; do sleep 0.05; done' &")
    code = "import os, json; print(json.dumps(sorted(int(n) for n in os.listdir('/proc') if n.isdigit())[:-1]))"
    expect("other processes", answer_of("processes", python(sandbox, code)), [1])


def program_has_no_rights(stand: ProviderFixture) -> None:
    none = "0000000000000000"
    rights = {"CapInh": none, "CapPrm": none, "CapEff": none, "CapAmb": none, "NoNewPrivs": "1", "Seccomp": "2"}
    expect("rights, and root", answer_of("rights", python(stand.start(), _RIGHTS)), [rights, False])


def dangerous_system_calls_are_refused(stand: ProviderFixture) -> None:
    """A sample; all of them are allowed or refused by one filter."""
    answer = answer_of("system calls", python(stand.start(), _SYSTEM_CALLS))
    expect("allowed calls", answer, [])


def first_process_cannot_be_read(stand: ProviderFixture) -> None:
    expect("readable", answer_of("first process", python(stand.start(), _FIRST_PROCESS)), [])


def control_channel_cannot_be_reached(stand: ProviderFixture) -> None:
    expect("sockets", answer_of("sockets", python(stand.start(), _CONTROL)), [[], [], []])


def there_is_no_network(stand: ProviderFixture) -> None:
    expect("reached, and interfaces", answer_of("network", python(stand.start(), _NETWORK)), [[], ["lo"]])


def all_else_is_read_only(stand: ProviderFixture) -> None:
    expect("writable", answer_of("writable", python(stand.start(), _WRITABLE)), [])


def sandbox_has_no_name_of_its_own(stand: ProviderFixture) -> None:
    """A random host name would make two equal trials differ."""
    code = "import socket, json, os; print(json.dumps([socket.gethostname(), os.listdir('/work')]))"
    names = [answer_of("name", python(stand.start(), code)) for _ in range(2)]
    expect("names", names[0], names[1])


def gateway_cannot_be_replaced(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
import json, os, socket
path = os.environ["HARNESS_GATEWAY_SOCKET"]
port = int(os.environ["HARNESS_GATEWAY_URL"].rpartition(":")[2])
failed = []
for act in (lambda: os.unlink(path), lambda: os.chmod(path, 0), lambda: open(os.path.dirname(path) + "/x", "w"),
            lambda: socket.socket().bind(("127.0.0.1", port))):
    try:
        act()
    except OSError:
        failed.append(True)
print(json.dumps(len(failed)))
"""
    expect("refused", answer_of("refused", python(sandbox, code)), 4)


def agent_files_cannot_be_changed(stand: ProviderFixture) -> None:
    agent = stand.folder / "agent"
    agent.mkdir()
    (agent / "main.py").write_bytes(b"1")
    agent.chmod(0o777)
    (agent / "main.py").chmod(0o666)
    sandbox = stand.start(agent_files=agent)
    expect("status", shell(sandbox, "echo 2 > /agent/main.py").code == 0, False)
    expect("status", shell(sandbox, "echo 2 > /agent/new").code == 0, False)
    expect("files", [(p.name, p.read_bytes()) for p in agent.iterdir()], [("main.py", b"1")])


def files_of_root_stay_as_they_are(stand: ProviderFixture) -> None:
    files: Files = {
        "/work/deep/er/rules": {"content": b"rules", "owner": "root"},
        "/work/deep/mine": b"mine",
        "/work/deep": {"kind": "directory"},
    }
    sandbox = stand.start(stand.snapshot(files))
    for script in (
        "echo x > deep/er/rules",
        "rm -f deep/er/rules",
        "mv deep/er/rules deep/er/other",
        "mv deep/er deep/was",
        "mv deep was",
        "chmod 777 deep/er/rules",
    ):
        expect(script, shell(sandbox, script).code == 0, False)
    expect("the agent's own beside it", shell(sandbox, "echo x > deep/mine && touch deep/er/new && touch top").code, 0)
    expect("content", sandbox.read_file("deep/er/rules"), b"rules")


def full_disk_is_the_programs_failure(stand: ProviderFixture) -> None:
    sandbox = stand.start(limits=Limits(disk_mb=2))
    for place in (".", "/tmp"):
        expect("status", shell(sandbox, f"head -c 4000000 /dev/zero > {place}/big").code == 0, False)
    expect_raises("writing", SandboxError, lambda: sandbox.write_file("more", b"x" * 100_000))
    expect("the sandbox still works", shell(sandbox, "rm big && echo x > small").code, 0)


def snapshot_that_does_not_fit_is_refused(stand: ProviderFixture) -> None:
    large = stand.snapshot({"/work/large": b"x" * 3_000_000})
    expect_raises("start", SandboxError, lambda: stand.start(large, limits=Limits(disk_mb=2)))


_READS = 20
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


def program_cannot_hold_up_what_the_host_does(stand: ProviderFixture) -> None:
    """A program may stop processes of its own user, and none that acts for the host."""
    sandbox = stand.start(stand.snapshot({"/work/list": b"A"}))
    with ThreadPoolExecutor(1) as pool:
        program = pool.submit(python, sandbox, _HOLD_UP, timeout_s=60)
        await_file(sandbox, "begun", program)
        expect("read", {sandbox.read_file("list") for _ in range(_READS)}, {b"A"})
        sandbox.write_file("enough", b"")
        expect("status", program.result(60).code, 0)


# Limits: a program that exhausts its sandbox's resources harms only itself.

_SMALL = Limits(memory_mb=64, processes=24, disk_mb=4, output_kb=4)


def fork_bomb_is_ended(stand: ProviderFixture) -> None:
    sandbox = stand.start(limits=_SMALL)
    code = "import os\nwhile True:\n try: os.fork()\n except OSError: pass"
    expect("status", python(sandbox, code, timeout_s=1.5).timed_out, True)
    expect("the sandbox still works", shell(sandbox, "echo x > file").code, 0)
    expect("end state", stand.changed(sandbox), ["/work/file"])


def memory_hog_is_ended(stand: ProviderFixture) -> None:
    sandbox = stand.start(limits=_SMALL)
    ended = python(sandbox, "hog = [b'x' * (1 << 20) for _ in range(600)]", timeout_s=60)
    expect("status", (ended.code, ended.signal, ended.timed_out), (None, 9, False))
    expect("the sandbox still works", shell(sandbox, "echo x > file").code, 0)
    expect("end state", stand.changed(sandbox), ["/work/file"])


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


# The pinned clock. The image must hold the harness's clock library.

_NOW = "import time, datetime, json; print(json.dumps([time.time(), datetime.datetime.now().isoformat()]))"
_PINNED_INSTANT = "2024-02-29T12:00:00Z"
_PINNED_S = 1_709_208_000


def clock_starts_where_it_is_pinned_and_goes_on(stand: ProviderFixture) -> None:
    sandbox = stand.start(clock=_PINNED_INSTANT)
    first, text = answer_of("time", python(sandbox, _NOW + "; time.sleep(0.2)"))
    second = answer_of("time", python(sandbox, _NOW))[0]
    if not _PINNED_S <= first <= second - 0.2 < _PINNED_S + 60:
        raise ProviderNotConforming(f"the clock says {first}, then {second}, although it starts at {_PINNED_S}")
    expect("day", text[:10], "2024-02-29")
    expect("other programs", shell(sandbox, "date -u +%F").stdout, "2024-02-29\n")


def wrong_instant_is_refused(stand: ProviderFixture) -> None:
    expect_raises("start", SandboxError, lambda: stand.start(clock="yesterday"))
