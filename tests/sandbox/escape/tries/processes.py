"""Other processes, their memory and their signals."""

import ctypes
import errno
import os
import resource
import signal

from attempt import LIBC, X86, a_try, call, libc, named, read_from, write_to


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
def write_the_memory_of_the_first_process_by_a_call():
    held = ctypes.create_string_buffer(8)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(held), 8)
    nowhere = (ctypes.c_void_p * 2)(8, 8)
    number = 311 if X86 else 271
    return call(number, 1, local, 1, nowhere, 1, 0, reachable=(errno.EFAULT,))


@a_try
def descriptors_of_the_first_process():
    return f"sees {len(os.listdir('/proc/1/fd'))} descriptors"


@a_try
def take_a_descriptor_of_the_first_process():
    return call(438, os.pidfd_open(1), 0, 0)  # pidfd_getfd


@a_try
def signal_the_first_process_by_its_descriptor():
    signal.pidfd_send_signal(os.pidfd_open(1), 0)
    return "may signal it"


@a_try
def signal_everybody_else():
    os.kill(-1, 0)
    return "there is somebody who may be signalled"


@a_try
def compare_with_the_first_process():
    return call(312 if X86 else 272, os.getpid(), 1, 2, 0, 0)  # kcmp, KCMP_FILES


@a_try
def limits_of_the_first_process():
    return f"reads them: {resource.prlimit(1, resource.RLIMIT_NOFILE)}"


@a_try
def who_is_served_first():
    os.sched_setscheduler(1, os.SCHED_OTHER, os.sched_param(0))
    return "sets how the first process is scheduled"


named("write into the memory of the first process", write_to("/proc/1/mem"))
named("who is ended where memory is short", write_to("/proc/1/oom_score_adj"))
named("read the environment of the first process", read_from("/proc/1/environ"))
