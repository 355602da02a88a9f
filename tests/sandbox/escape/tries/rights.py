"""Devices, other users, rights and keys."""

import contextlib
import errno
import os
import resource
import stat

from attempt import WORLD, X86, a_try, call


@a_try
def a_device_of_its_own():
    path = os.path.join(WORLD["writable"], "device")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.unlink(path)
    return "made a device"


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
def marks_that_lead_an_overlay_elsewhere():
    path = os.path.join(WORLD["writable"], "marked")
    os.mkdir(path)
    try:
        os.setxattr(path, "trusted.overlay.redirect", b"/")
        return "marked a folder as moved from the root"
    finally:
        os.rmdir(path)


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


@a_try
def keys_of_the_kernel():
    return call(250 if X86 else 219, 0, -3, 0)


@a_try
def a_key_of_its_own():
    return call(248 if X86 else 217, b"user", b"harness-escape", b"x", 1, -3)  # add_key, to the session's ring


@a_try
def devices_of_the_machine():
    usual = {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"}
    for name in sorted(set(os.listdir("/dev")) - usual):
        path = f"/dev/{name}"
        if stat.S_ISCHR(os.lstat(path).st_mode) or stat.S_ISBLK(os.lstat(path).st_mode):
            with contextlib.suppress(OSError):
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
                return f"opened {path}"
    raise OSError(errno.ENOENT, "there is no other device")


@a_try
def a_dump_of_a_crash():
    resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))
    return "may leave a dump"
