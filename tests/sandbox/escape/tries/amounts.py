"""All that the machine has."""

import ctypes
import errno
import mmap
import os
import resource
import time

from attempt import LIBC, WORLD, a_try


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


@a_try
def memory_in_files_without_a_name():
    fd = os.memfd_create("held")
    for _ in range(WORLD["memory_mb"]):
        os.write(fd, b"x" * (1 << 20))
    return f"took {os.fstat(fd).st_size >> 20} MB"


@a_try
def shared_memory():
    path = "/dev/shm/full"
    try:
        with open(path, "wb", buffering=0) as stream:
            for _ in range(WORLD["shared_mb"]):
                if stream.write(b"x" * (1 << 20)) < 1 << 20:
                    raise OSError(errno.ENOSPC, "written in part")
    finally:
        os.unlink(path)
    return f"wrote {WORLD['shared_mb']} MB"


@a_try
def segments_of_shared_memory():
    size = WORLD["memory_mb"] << 20
    segment = LIBC.shmget(0, ctypes.c_size_t(size), 0o600)
    if segment < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    try:
        LIBC.shmat.restype = ctypes.c_void_p
        ctypes.memset(LIBC.shmat(segment, None, 0), 120, size)
    finally:
        LIBC.shmctl(segment, 0, None)  # IPC_RMID
    return f"took {size >> 20} MB"


@a_try
def messages_in_queues():
    held, text = [], ctypes.create_string_buffer(8 + 1)
    ctypes.c_long.from_buffer(text).value = 1
    try:
        while len(held) < 64:
            queue = LIBC.msgget(0, 0o600)
            if queue < 0:
                raise OSError(ctypes.get_errno(), "msgget")
            held.append(queue)
            while LIBC.msgsnd(queue, text, 1, 0o4000) == 0:  # IPC_NOWAIT
                pass
    finally:
        for queue in held:
            LIBC.msgctl(queue, 0, None)
    return f"filled {len(held)} queues"


@a_try
def sets_of_semaphores():
    held = []
    try:
        while len(held) < 1000:
            found = LIBC.semget(0, 250, 0o600)
            if found < 0:
                raise OSError(ctypes.get_errno(), "semget")
            held.append(found)
    finally:
        for found in held:
            LIBC.semctl(found, 0, 0)
    return f"made {len(held)} sets"


@a_try
def segments_that_nobody_uses():
    """Their memory stays when the process has ended, of whatever size each is."""
    LIBC.shmat.restype = ctypes.c_void_p
    taken, size = 0, 8 << 20
    while taken < WORLD["memory_mb"] << 20:
        segment = LIBC.shmget(0, ctypes.c_size_t(size), 0o600)
        if segment < 0:
            raise OSError(ctypes.get_errno(), "shmget")
        place = LIBC.shmat(segment, None, 0)
        ctypes.memset(place, 120, size)
        LIBC.shmdt(ctypes.c_void_p(place))
        taken += size
    return f"left {taken >> 20} MB"


@a_try
def message_queues_of_the_machine():
    name = b"/taken"
    queue = LIBC.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, None)
    if queue < 0:
        raise OSError(ctypes.get_errno(), "mq_open")
    LIBC.mq_unlink(name)
    return "opened one"


@a_try
def contexts_of_asynchronous_input():
    """The kernel has 65,536 events for all processes of the machine."""
    context = ctypes.c_ulong(0)
    if LIBC.syscall({"x86_64": 206, "aarch64": 0}[os.uname().machine], 128, ctypes.byref(context)) != 0:
        raise OSError(ctypes.get_errno(), "io_setup")
    return "reserved 128 events"


@a_try
def pseudo_terminals():
    held = []
    try:
        while len(held) < 2 * 100:
            held += os.openpty()
    finally:
        for fd in held:
            os.close(fd)
    return f"opened {len(held) // 2}"
