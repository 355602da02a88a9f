"""Mounts, namespaces and roots: another world than the one that was given."""

import ctypes
import errno
import os
import struct

from attempt import LIBC, X86, a_try, call, in_a_child, libc, named


@a_try
def mount_a_file_system():
    libc("mount", b"none", b"/mnt", b"tmpfs", ctypes.c_ulong(0), None)
    LIBC.umount2(b"/mnt", 2)
    return "mounted"


def namespace(flag):
    return lambda: in_a_child(lambda: LIBC.unshare(flag) == 0, "unshare")


@a_try
def the_namespaces_of_the_first_process():
    fd = os.open("/proc/1/ns/net", os.O_RDONLY)
    return libc("setns", fd, 0)


@a_try
def another_root():
    return in_a_child(lambda: LIBC.chroot(b"/tmp") == 0, "chroot")


@a_try
def a_root_in_place_of_another():
    return call(155 if X86 else 41, b"/", b"/", reachable=(errno.EINVAL, errno.EBUSY))


@a_try
def a_mount_by_the_newer_calls():
    return call(430, b"tmpfs", 0)


@a_try
def a_copy_of_the_mounts():
    return call(428, -100, b"/", 1)  # AT_FDCWD, OPEN_TREE_CLONE


@a_try
def uncover_what_is_mounted_over():
    return libc_reaching("umount2", b"/proc/sys", 2, reachable=errno.EINVAL)


@a_try
def a_namespace_by_clone3():
    arguments = ctypes.create_string_buffer(struct.pack("QQQQQ24x", 0x0400_0000, 0, 0, 0, 17), 64)  # CLONE_NEWUTS

    def work():
        pid = LIBC.syscall(435, arguments, 64)
        if pid == 0:
            os._exit(0)
        return pid > 0

    return in_a_child(work, "clone3")


@a_try
def the_namespaces_of_a_process_by_its_descriptor():
    fd = os.pidfd_open(1)
    return in_a_child(lambda: LIBC.setns(fd, 0x0400_0000) == 0, "setns")


def libc_reaching(name, *arguments, reachable):
    try:
        return libc(name, *arguments)
    except OSError as error:
        if error.errno != reachable:
            raise
        return "reached it"


NAMESPACES = {
    "users": 0x1000_0000,
    "the network": 0x4000_0000,
    "mounts": 0x0002_0000,
    "processes": 0x2000_0000,
    "the names of the machine": 0x0400_0000,
    "shared memory": 0x0800_0000,
    "control groups": 0x0200_0000,
    "time": 0x80,
}
for _of, _flag in NAMESPACES.items():
    named(f"a namespace of {_of}", namespace(_flag))
