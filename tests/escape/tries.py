"""What a determined program tries from inside a sandbox. Run there: `python3 tries.py WORLD NAME`.

Each try returns what it achieved, or raises OSError where it was refused; nothing is done for good, so that the same
program can be run in a deliberately weak container, where it must succeed: otherwise its failing elsewhere says
nothing. WORLD is JSON: where the things are that it reaches for (addresses and names of the host).
"""

import contextlib
import ctypes
import errno
import json
import mmap
import os
import platform
import resource
import socket
import stat
import struct
import sys
import time

WORLD = {}
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"


TRIES = {}


def a_try(function):
    TRIES[function.__name__.replace("_", " ")] = function
    return function


def call(number, *arguments, reachable=()):
    """A system call by number; an errno in `reachable` says that only the arguments were wrong."""
    ctypes.set_errno(0)
    result = LIBC.syscall(number, *arguments)
    if result >= 0:
        return f"returned {result}"
    number = ctypes.get_errno()
    if number in reachable:
        return f"reached it: {errno.errorcode[number]}"
    raise OSError(number, os.strerror(number))


def libc(name, *arguments):
    ctypes.set_errno(0)
    if getattr(LIBC, name)(*arguments) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return f"{name} done"


def connected(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as link:
        link.settimeout(5)
        link.connect(address)
        link.sendall(b"escape")
        answer = link.recv(100)
    if not answer:
        raise OSError(errno.ECONNRESET, "closed without an answer")
    return f"was answered {answer!r}"


def opened(path, flags=os.O_RDONLY, read=0):
    fd = os.open(path, flags)
    try:
        if read:
            os.read(fd, read)
    finally:
        os.close(fd)
    return f"opened {path}"


# the network


@a_try
def tcp_to_the_host():
    return connected(socket.AF_INET, (WORLD["address"], WORLD["tcp"]))


@a_try
def tcp_to_the_loopback_of_the_host():
    return connected(socket.AF_INET, ("127.0.0.1", WORLD["tcp"]))


@a_try
def tcp_over_ipv6():
    return connected(socket.AF_INET6, ("::1", WORLD["tcp6"]))


@a_try
def udp_as_a_name_server_is_asked():
    return connected(socket.AF_INET, (WORLD["address"], WORLD["udp"]), socket.SOCK_DGRAM)


@a_try
def raw_ip():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
    return "made a raw socket"


@a_try
def packets():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    return "made a packet socket"


@a_try
def vsock():
    socket.socket(40, socket.SOCK_STREAM).close()
    return "made a socket to the hypervisor"


@a_try
def kernel_crypto():
    socket.socket(38, socket.SOCK_SEQPACKET).close()
    return "made an AF_ALG socket"


@a_try
def a_second_interface():
    names = sorted(name for _, name in socket.if_nameindex() if name != "lo")
    if not names:
        raise OSError(errno.ENODEV, "only the loopback")
    return f"sees {names}"


@a_try
def an_abstract_socket_of_the_host():
    return connected(socket.AF_UNIX, "\0" + WORLD["abstract"])


@a_try
def the_door_of_another_trial():
    return connected(socket.AF_UNIX, WORLD["door"])


@a_try
def the_container_engine():
    with socket.socket(socket.AF_UNIX) as link:
        link.connect("/var/run/docker.sock")
        link.sendall(b"GET /version HTTP/1.0\r\n\r\n")
        return f"was answered {link.recv(20)!r}"


# the kernel's files


def write_to(path):
    return lambda: opened(path, os.O_WRONLY)


def read_from(path):
    return lambda: opened(path, os.O_RDONLY | os.O_NONBLOCK, 8192)


@a_try
def control_groups():
    found = []
    for at, _, names in os.walk("/sys/fs/cgroup"):
        for name in names:
            if name in ("release_agent", "cgroup.procs", "notify_on_release", "memory.limit_in_bytes", "memory.max"):
                with contextlib.suppress(OSError):
                    found.append(opened(os.path.join(at, name), os.O_WRONLY))
    if not found:
        raise OSError(errno.EROFS, "no file of a control group can be written")
    return found[0]


@a_try
def write_to_the_root():
    path = "/usr/bin/harness-was-here"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
    os.unlink(path)
    return f"wrote {path}"


@a_try
def mapped_kernel_memory():
    refused = OSError(errno.ENOENT, "there is no such file")
    for path in ("/dev/mem", "/dev/kmem", "/proc/kcore"):
        try:
            return opened(path, os.O_RDONLY, 1)
        except OSError as error:
            refused = error
    raise refused


@a_try
def a_device_of_its_own():
    path = os.path.join(WORLD["writable"], "device")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.unlink(path)
    return "made a device"


# mounts and namespaces


@a_try
def mount_a_file_system():
    libc("mount", b"none", b"/mnt", b"tmpfs", ctypes.c_ulong(0), None)
    LIBC.umount2(b"/mnt", 2)
    return "mounted"


def namespace(flag):
    def tried():
        pid = os.fork()
        if pid == 0:
            os._exit(0 if LIBC.unshare(flag) == 0 else 1)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
            raise OSError(errno.EPERM, "unshare")
        return "made a namespace"

    return tried


@a_try
def the_namespaces_of_the_first_process():
    fd = os.open("/proc/1/ns/net", os.O_RDONLY)
    return libc("setns", fd, 0)


@a_try
def another_root():
    pid = os.fork()
    if pid == 0:
        os._exit(0 if LIBC.chroot(b"/tmp") == 0 else 1)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise OSError(errno.EPERM, "chroot")
    return "changed the root"


# other processes and other users


@a_try
def trace_the_first_process():
    libc("ptrace", 0x4206, 1, 0, 0)  # PTRACE_SEIZE
    LIBC.ptrace(17, 1, 0, 0)
    return "traces the first process"


@a_try
def signal_the_first_process():
    os.kill(1, 0)
    return "may signal the first process"


@a_try
def files_of_the_first_process():
    return f"sees {os.listdir('/proc/1/root')[:3]}"


@a_try
def read_the_memory_of_the_first_process():
    held = ctypes.create_string_buffer(8)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(held), 8)
    with open("/proc/1/maps") as stream:
        start = int(stream.readline().split("-")[0], 16)
    remote = (ctypes.c_void_p * 2)(start, 8)
    return libc("process_vm_readv", 1, local, 1, remote, 1, 0)


@a_try
def become_root():
    os.setresuid(0, 0, 0)
    if os.stat("/proc/self").st_uid != 0:
        raise OSError(errno.EPERM, "still somebody else")
    return "is root"


@a_try
def become_root_by_a_set_uid_program():
    path = os.path.join(WORLD["writable"], "set-uid")
    with open("/bin/sh", "rb") as source, open(path, "wb") as target:
        target.write(source.read())
    try:
        os.chown(path, 0, 0)
        os.chmod(path, 0o4755)
        return "made a program that runs as root"
    finally:
        os.unlink(path)


@a_try
def a_capability():
    with open("/proc/self/status") as stream:
        states = dict(line.rstrip("\n").split(":\t", 1) for line in stream if ":\t" in line)
    held = int(states["CapEff"], 16) | int(states["CapPrm"], 16) | int(states["CapAmb"], 16)
    if not held:
        raise OSError(errno.EPERM, "holds no capability")
    return f"holds {held:x}"


@a_try
def new_privileges():
    with open("/proc/self/status") as stream:
        if "NoNewPrivs:\t1" in stream.read():
            raise OSError(errno.EPERM, "no_new_privs is set")
    return "a program that it executes may gain privileges"


# the kernel's doors


@a_try
def set_the_clock():
    return call(227 if X86 else 112, 0, struct.pack("qq", 0, -1), reachable=(errno.EINVAL,))


@a_try
def load_a_module():
    return call(175 if X86 else 105, 0, 0, b"", reachable=(errno.ENOEXEC, errno.EFAULT, errno.EINVAL))


@a_try
def load_a_kernel():
    return call(246 if X86 else 104, 0, 17, 0, 0, reachable=(errno.EINVAL,))


@a_try
def restart_the_machine():
    return call(169 if X86 else 142, 1, 2, 3, 0, reachable=(errno.EINVAL,))


@a_try
def load_a_filter_program():
    return call(321 if X86 else 280, 9999, 0, 0, reachable=(errno.EINVAL, errno.E2BIG, errno.EFAULT))


@a_try
def watch_the_processor():
    return call(298 if X86 else 241, 0, 0, -1, -1, 0, reachable=(errno.EFAULT, errno.EINVAL))


@a_try
def queues_of_the_kernel():
    return call(425, 8, ctypes.create_string_buffer(120))


@a_try
def faults_of_memory():
    return call(323 if X86 else 282, 1)


@a_try
def keys_of_the_kernel():
    return call(250 if X86 else 219, 0, -3, 0)


@a_try
def a_file_by_handle():
    return call(
        304 if X86 else 265, 0, ctypes.create_string_buffer(8), 0, reachable=(errno.EINVAL, errno.ESTALE, errno.EBADF)
    )


@a_try
def another_personality():
    pid = os.fork()
    if pid == 0:
        os._exit(0 if LIBC.personality(ctypes.c_ulong(0x004_0000)) != -1 else 1)  # ADDR_NO_RANDOMIZE
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise OSError(errno.EPERM, "personality")
    return "is laid out in memory as it likes"


# what the machine has


@a_try
def memory():
    held = []
    for _ in range(WORLD["memory_mb"]):
        page = mmap.mmap(-1, 1 << 20)
        page.write(b"x" * (1 << 20))
        held.append(page)
    return f"took {len(held)} MB"


@a_try
def processes():
    children = []
    try:
        for _ in range(WORLD["processes"]):
            pid = os.fork()
            if pid == 0:
                time.sleep(60)
                os._exit(0)
            children.append(pid)
    finally:
        for pid in children:
            os.kill(pid, 9)
    return f"made {len(children)} processes"


@a_try
def disk():
    path, written = os.path.join(WORLD["writable"], "full"), 0
    try:
        with open(path, "wb") as stream:
            for _ in range(WORLD["disk_mb"]):
                written += stream.write(b"x" * (1 << 20))
                stream.flush()
    finally:
        os.unlink(path)
    return f"wrote {written >> 20} MB"


@a_try
def many_files():
    made = 0
    folder = os.path.join(WORLD["writable"], "many")
    os.mkdir(folder)
    try:
        for number in range(WORLD["files"]):
            os.close(os.open(f"{folder}/{number}", os.O_CREAT | os.O_WRONLY))
            made += 1
    finally:
        for number in range(made):
            os.unlink(f"{folder}/{number}")
        os.rmdir(folder)
    return f"made {made} files"


@a_try
def open_files():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held = []
    try:
        for _ in range(WORLD["descriptors"]):
            held.append(os.open("/dev/null", os.O_RDONLY))
    finally:
        for fd in held:
            os.close(fd)
    return f"opened {len(held)} files"


TRIES |= {
    "write where crashed programs are dumped": write_to("/proc/sys/kernel/core_pattern"),
    "write the name of the machine": write_to("/proc/sys/kernel/hostname"),
    "press the kernel's keys": write_to("/proc/sysrq-trigger"),
    "drop the kernel's caches": write_to("/proc/sys/vm/drop_caches"),
    "write into the memory of the first process": write_to("/proc/1/mem"),
    "read the environment of the first process": read_from("/proc/1/environ"),
    "read the kernel's log": read_from("/dev/kmsg"),
    "a namespace of users": namespace(0x1000_0000),
    "a namespace of the network": namespace(0x4000_0000),
    "a namespace of mounts": namespace(0x0002_0000),
}


def main():
    WORLD.update(json.loads(sys.argv[1]))
    try:
        achieved = TRIES[sys.argv[2]]()
    except (OSError, MemoryError, AttributeError) as refused:
        print(json.dumps({"escaped": False, "what": f"{type(refused).__name__}: {refused}"}))
    else:
        print(json.dumps({"escaped": True, "what": achieved}))


if __name__ == "__main__":
    main()
