"""What every try is made with. A try returns what it achieved, or raises OSError where it was refused."""

import ctypes
import errno
import os
import platform
import socket

WORLD = {}
"""Where the things are that are reached for: addresses and names of the host, and how much is taken."""
TRIES = {}
"""Name -> what is done."""
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"


def a_try(function):
    """Named by the function, in the words of its name."""
    return named(function.__name__.replace("_", " "), function)


def named(name, function):
    TRIES[name] = function
    return function


def call(number, *arguments, reachable=()):
    """A system call by number; an errno in `reachable` says that only the arguments were wrong."""
    ctypes.set_errno(0)
    wide = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result = LIBC.syscall(ctypes.c_long(number), *wide)
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


def write_to(path):
    return lambda: opened(path, os.O_WRONLY)


def read_from(path):
    return lambda: opened(path, os.O_RDONLY | os.O_NONBLOCK, 8192)


def in_a_child(work, what):
    """What changes the process that does it, `work` -> whether it could, is done in a child."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if work() else 1)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise OSError(errno.EPERM, what)
    return f"{what} done"
