"""Checks of isolation and of the gateway: what a program cannot see, reach or become, and its only way out."""

import hashlib

from harness.sandbox.conformance.provider_fixture import (
    ProviderFixture,
    answer_of,
    check,
    expect,
    isolation_check,
    python,
    shell,
)

_SPOIL = """
import os, subprocess, time
places = ["/", "/work", "/tmp", "/dev/shm", "/run", "/var/tmp", "/etc", "/usr", "/agent", "/home", "/root", "/var"]
for place in [*places, os.environ["HOME"], os.environ["TMPDIR"]]:
    try:
        open(place + "/harness-was-here", "w").write("x")
    except OSError:
        pass
open(os.path.expanduser("~/.profile"), "w").write("export SPOILED=1")
os.environ["SPOILED"] = "1"
for _ in range(3):
    subprocess.Popen(["sh", "-c", "while :; do sleep 0.05; done"], start_new_session=True)
try:
    with open(os.path.expanduser("~/full"), "wb") as stream:
        for _ in range(200):
            stream.write(bytes(1 << 20))
except OSError:
    pass
"""
_LOOK = """
import os, json, sys
found = []
for place in ("/", "/work", "/tmp", "/dev/shm", "/run", "/var/tmp", "/etc", "/usr", "/agent", "/home", "/root", "/var",
              os.environ["HOME"], os.environ["TMPDIR"]):
    try:
        names = os.listdir(place)
    except OSError:
        continue
    found += [place + "/" + name for name in names if name in ("harness-was-here", ".profile", "full")]
found += [name for name in os.environ if name == "SPOILED"]
print(json.dumps(found))
"""
_PROCESSES = "import os, json; print(json.dumps(sorted(int(n) for n in os.listdir('/proc') if n.isdigit())[:-1]))"
_SYSTEM_CALLS = """
import ctypes, errno, json, os, socket, platform
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
calls = {
    "unshare user": (lambda: libc.unshare(0x10000000)),
    "unshare net": (lambda: libc.unshare(0x40000000)),
    "setns": (lambda: libc.setns(os.open("/proc/self/ns/net", os.O_RDONLY), 0)),
    "clone newuser": (lambda: libc.syscall(56 if x86 else 220, 0x10000000 | 17, 0, 0, 0, 0)),
    "clone3": (lambda: libc.syscall(435, 0, 0)),
    "mount": (lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)),
    "ptrace 1": (lambda: libc.ptrace(0x4206, 1, 0, 0)),
    "ptrace me": (lambda: libc.ptrace(0, 0, 0, 0)),
    "process_vm_readv": (lambda: libc.process_vm_readv(1, None, 0, None, 0, 0)),
    "keyctl": (lambda: libc.syscall(250 if x86 else 219, 0, -3, 0)),
    "add_key": (lambda: libc.syscall(248 if x86 else 217, b"user", b"a", b"b", 1, -3)),
    "bpf": (lambda: libc.syscall(321 if x86 else 280, 0, 0, 0)),
    "perf_event_open": (lambda: libc.syscall(298 if x86 else 241, 0, 0, -1, -1, 0)),
    "io_uring_setup": (lambda: libc.syscall(425, 8, ctypes.create_string_buffer(120))),
    "userfaultfd": (lambda: libc.syscall(323 if x86 else 282, 0)),
    "personality 32": (lambda: libc.personality(0x0400000)),
    "kexec_load": (lambda: libc.syscall(246 if x86 else 104, 0, 0, 0, 0)),
    "init_module": (lambda: libc.syscall(175 if x86 else 105, 0, 0, 0)),
    "chroot": (lambda: libc.chroot(b"/tmp")),
    "setuid 0": (lambda: libc.setuid(0)),
    "setgroups": (lambda: libc.setgroups(0, None)),
    "chown": (lambda: libc.chown(b"/work", 0, 0)),
    "sethostname": (lambda: libc.sethostname(b"x", 1)),
    "mknod device": (lambda: libc.mknod(b"/work/device", 0o20666, 0x101)),
    "kill 1": (lambda: libc.kill(1, 9)),
}
for name, family in {"vsock": 40, "alg": 38, "packet": 17, "bluetooth": 31, "can": 29, "tipc": 30, "xdp": 44}.items():
    calls["socket " + name] = lambda family=family: libc.socket(family, 2, 0)
calls["socketpair tipc"] = lambda: libc.socketpair(30, 1, 0, (ctypes.c_int * 2)())
allowed = [n for n, call in calls.items() if not (call() == -1 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS))]
families = []
for family in ("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK"):
    try:
        socket.socket(getattr(socket, family), socket.SOCK_RAW if family == "AF_NETLINK" else socket.SOCK_STREAM)
    except OSError:
        families.append(family)
print(json.dumps([allowed, families]))
"""
_FIRST_PROCESS = """
import json, os
opened = []
for name in ("mem", "environ", "maps", "auxv", "syscall", "stack", "io", "personality"):
    try:
        with open("/proc/1/" + name, "rb") as stream:
            stream.read(1)
        opened.append(name)
    except OSError:
        pass
for name in ("fd", "cwd", "root", "map_files", "ns/net"):
    try:
        os.listdir("/proc/1/" + name) if name in ("fd", "map_files") else os.readlink("/proc/1/" + name)
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


def nothing_survives_into_the_next_sandbox(stand: ProviderFixture) -> None:
    snapshot = stand.snapshot({"/work/start": b"start"})
    first = stand.start(snapshot)
    expect("spoiling", python(first, _SPOIL).code, 0)
    first.close()
    second = stand.start(snapshot)
    expect("left over", answer_of("left over", python(second, _LOOK)), [])
    expect("file", second.read_file("start"), b"start")
    expect("end state", second.end_state(stand.archive()).changes, ())


def next_sandbox_starts_from_the_snapshot(stand: ProviderFixture) -> None:
    snapshot = stand.snapshot({"/work/start": b"start"})
    first = stand.start(snapshot)
    expect("changing", shell(first, "echo x > new; echo x > $TMPDIR/new; echo x > start").code, 0)
    first.close()
    second = stand.start(snapshot)
    ended = shell(second, "ls -A . $TMPDIR | grep new; cat start")
    expect("files", ended.stdout, "start")


def sandboxes_at_the_same_time_do_not_meet(stand: ProviderFixture) -> None:
    boxes = [stand.start(stand.snapshot({"/work/name": str(n).encode()})) for n in range(3)]
    for box in boxes:
        shell(box, "printf %s $(cat name) >> name")
    expect("files", [box.read_file("name") for box in boxes], [b"00", b"11", b"22"])


def only_the_launcher_runs_beside_the_program(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    python(sandbox, _SPOIL)
    expect("other processes", answer_of("processes", python(sandbox, _PROCESSES)), [1])


def program_has_no_rights(stand: ProviderFixture) -> None:
    none = "0000000000000000"
    rights = {"CapInh": none, "CapPrm": none, "CapEff": none, "CapAmb": none, "NoNewPrivs": "1", "Seccomp": "2"}
    expect("rights, and root", answer_of("rights", python(stand.start(), _RIGHTS)), [rights, False])


def dangerous_system_calls_are_refused(stand: ProviderFixture) -> None:
    answer = answer_of("system calls", python(stand.start(), _SYSTEM_CALLS))
    expect("allowed calls, and missing families", answer, [[], []])


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


ISOLATION_CHECKS = (
    *map(check, (next_sandbox_starts_from_the_snapshot, sandboxes_at_the_same_time_do_not_meet)),
    *map(
        isolation_check,
        (
            nothing_survives_into_the_next_sandbox,
            only_the_launcher_runs_beside_the_program,
            program_has_no_rights,
            dangerous_system_calls_are_refused,
            first_process_cannot_be_read,
            control_channel_cannot_be_reached,
            there_is_no_network,
            all_else_is_read_only,
            sandbox_has_no_name_of_its_own,
        ),
    ),
)


_ASK = """
import http.client, json, os, sys, urllib.parse
where = urllib.parse.urlsplit(os.environ["HARNESS_GATEWAY_URL"])
def connect():
    return http.client.HTTPConnection(where.hostname, where.port, timeout=20)
"""


def gateway_answers_by_url(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
c = connect()
answers = []
for n in range(3):
    c.request("POST", f"/tools/{n}", b"x" * n)
    answers.append(json.loads(c.getresponse().read()))
print(json.dumps([[a["path"] for a in answers], os.environ["HARNESS_GATEWAY_URL"]]))
"""
    answers = answer_of("answers", python(sandbox, _ASK + code))
    expect("paths and URL", answers, [["/tools/0", "/tools/1", "/tools/2"], sandbox.places.gateway_url])


def gateway_answers_by_socket(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
import socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["HARNESS_GATEWAY_SOCKET"])
s.sendall(b"GET /turn HTTP/1.0\\r\\n\\r\\n")
print(json.dumps([s.makefile().readline().split()[1], os.environ["HARNESS_GATEWAY_SOCKET"]]))
"""
    answer = answer_of("answer", python(sandbox, _ASK + code))
    expect("status and socket", answer, ["200", sandbox.places.gateway_socket])


def without_a_gateway_none_is_named(stand: ProviderFixture) -> None:
    sandbox = stand.start()
    expect("places", (sandbox.places.gateway_url, sandbox.places.gateway_socket), (None, None))
    code = "import os, json; print(json.dumps([n for n in os.environ if 'GATEWAY' in n]))"
    expect("environment", answer_of("environment", python(sandbox, code)), [])


def large_bodies_pass_both_ways(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
c = connect()
body = bytes(range(256)) * 40000
c.request("POST", "/in", body)
up = json.loads(c.getresponse().read())["sha256"]
c.request("GET", "/out?bytes=9000000")
print(json.dumps([up, len(c.getresponse().read())]))
"""
    digest = hashlib.sha256(bytes(range(256)) * 40000).hexdigest()
    expect("bodies", answer_of("bodies", python(sandbox, _ASK + code)), [digest, 9_000_000])


def many_connections_at_once_are_served(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
import socket
ends = []
for n in range(1000):
    s = socket.create_connection((where.hostname, where.port), timeout=30)
    s.sendall(b"GET /turn HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n")
    ends.append(s)
print(json.dumps(sum(s.makefile("rb").read().startswith(b"HTTP/1.1 200") for s in ends)))
"""
    expect("answers", answer_of("answers", python(sandbox, _ASK + code, timeout_s=60)), 1000)


def last_words_arrive(stand: ProviderFixture) -> None:
    """The message of a program that ends without waiting for the answer still arrives."""
    gateway = stand.gateway()
    sandbox = stand.start(gateway_socket=gateway.socket)
    code = """
import socket
s = socket.create_connection((where.hostname, where.port))
s.sendall(b"POST /reply HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: 300000\\r\\n\\r\\n" + b"x" * 300000)
os._exit(0)
"""
    expect("status", python(sandbox, _ASK + code).code, 0)
    shell_again = python(sandbox, "import time; time.sleep(0.3)")
    expect("status", shell_again.code, 0)
    expect("requests", gateway.requests, ["/reply"])


def half_closed_connection_gets_its_answer(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
import socket
s = socket.create_connection((where.hostname, where.port))
s.sendall(b"GET /turn HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n")
s.shutdown(socket.SHUT_WR)
print(json.dumps(s.makefile("rb").read().decode().splitlines()[0].split()[1]))
"""
    expect("status", answer_of("answer", python(sandbox, _ASK + code)), "200")


def dead_gateway_is_a_closed_connection(stand: ProviderFixture) -> None:
    gateway = stand.gateway()
    sandbox = stand.start(gateway_socket=gateway.socket)
    gateway.close()
    code = """
c = connect()
try:
    c.request("GET", "/turn")
    c.getresponse()
except (http.client.HTTPException, OSError) as error:
    print(json.dumps("closed"))
"""
    expect("answer", answer_of("answer", python(sandbox, _ASK + code)), "closed")


def gateway_cannot_be_replaced(stand: ProviderFixture) -> None:
    sandbox = stand.start(gateway_socket=stand.gateway().socket)
    code = """
import socket
path = os.environ["HARNESS_GATEWAY_SOCKET"]
failed = []
for act in (lambda: os.unlink(path), lambda: os.chmod(path, 0), lambda: open(os.path.dirname(path) + "/x", "w"),
            lambda: socket.socket().bind((where.hostname, where.port))):
    try:
        act()
    except OSError:
        failed.append(True)
print(json.dumps(len(failed)))
"""
    expect("refused", answer_of("refused", python(sandbox, _ASK + code)), 4)


GATEWAY_CHECKS = (
    *map(
        check,
        (
            gateway_answers_by_url,
            gateway_answers_by_socket,
            without_a_gateway_none_is_named,
            large_bodies_pass_both_ways,
            many_connections_at_once_are_served,
            last_words_arrive,
            half_closed_connection_gets_its_answer,
            dead_gateway_is_a_closed_connection,
        ),
    ),
    isolation_check(gateway_cannot_be_replaced),
)
