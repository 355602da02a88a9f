"""System calls that reach what is the machine's: its modules, filters, queues."""

import ctypes
import errno
import os

from attempt import LIBC, X86, a_try, call


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
