"""Files through which the kernel is set, and its memory is read."""

import contextlib
import ctypes
import errno
import os

from attempt import WORLD, a_try, libc, named, opened, read_from, write_to


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
def settings_below_sys():
    places = ("/sys/kernel/mm", "/sys/module", "/sys/power", "/sys/block", "/sys/kernel/debug", "/sys/class/net/lo")
    with contextlib.suppress(OSError):
        libc("mount", b"none", b"/sys", None, ctypes.c_ulong(32), None)  # MS_REMOUNT, writable
    for place in places:
        for at, _, names in os.walk(place):
            for name in names:
                with contextlib.suppress(OSError):
                    return opened(os.path.join(at, name), os.O_WRONLY | os.O_NONBLOCK)
    raise OSError(errno.EROFS, "no setting can be written")


@a_try
def what_the_engine_hides():
    hidden = ("keys", "timer_list", "sched_debug", "latency_stats", "interrupts", "kcore", "acpi", "scsi/scsi")
    for name in hidden:
        with contextlib.suppress(OSError), open(f"/proc/{name}", "rb") as stream:
            if stream.read(10):
                return f"reads /proc/{name}"
    raise OSError(errno.ENOENT, "nothing of it can be read")


@a_try
def overwrite_the_program_of_the_first_process():
    """As CVE-2019-5736 did; "text file busy" says that only its running is in the way."""
    try:
        return opened("/proc/1/exe", os.O_WRONLY)
    except OSError as error:
        if error.errno != errno.ETXTBSY:
            raise
        return "may write it when it has ended"


@a_try
def where_crashed_programs_are_dumped_by_a_new_proc():
    folder = os.path.join(WORLD["writable"], "proc")
    os.makedirs(folder, exist_ok=True)
    libc("mount", b"proc", folder.encode(), b"proc", ctypes.c_ulong(0), None)
    try:
        return opened(f"{folder}/sys/kernel/core_pattern", os.O_WRONLY)
    finally:
        libc("umount2", folder.encode(), 2)


named("write where crashed programs are dumped", write_to("/proc/sys/kernel/core_pattern"))
named("write the name of the machine", write_to("/proc/sys/kernel/hostname"))
named("press the kernel's keys", write_to("/proc/sysrq-trigger"))
named("drop the kernel's caches", write_to("/proc/sys/vm/drop_caches"))
named("read the kernel's log", read_from("/dev/kmsg"))
