"""The system calls of a sandbox: an own allow-list, because the engine's leaves AF_VSOCK open in many versions.

Calls that are not listed return EPERM. Omitted on purpose: namespaces, mounts, modules, tracing (ptrace, process_vm_*,
perf), bpf, keyrings, io_uring, userfaultfd, file handles, clock setting; also message queues (mq_*) and asynchronous
input and output (io_*), whose limits all sandboxes would share. No 32-bit sub-architecture is declared: their
`socketcall` passes by every rule about socket families.
"""

import json
from functools import cache

_FILES = """
access chdir chmod chown chown32 close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64
fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fremovexattr
fsetxattr fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr inotify_add_watch inotify_init
inotify_init1 inotify_rm_watch lchown lgetxattr link linkat listxattr llistxattr lremovexattr lseek lsetxattr lstat
mkdir mkdirat mknod mknodat newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read
readahead readlink readlinkat readv removexattr rename renameat renameat2 rmdir sendfile setxattr splice stat statfs
statx symlink symlinkat sync sync_file_range syncfs tee truncate umask unlink unlinkat utime utimensat utimes vmsplice
write writev
"""
_MEMORY = """
brk cachestat madvise memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap msync munlock munlockall munmap
pkey_alloc pkey_free pkey_mprotect remap_file_pages
"""
_PROCESSES = """
alarm arch_prctl capget capset execve execveat exit exit_group fork futex futex_waitv futex_wait futex_wake
futex_requeue get_robust_list get_thread_area getcpu getegid geteuid getgid getgroups getitimer getpgid getpgrp getpid
getppid getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid ioprio_get ioprio_set kill
landlock_add_rule landlock_create_ruleset landlock_restrict_self map_shadow_stack membarrier nanosleep pause pidfd_open
pidfd_send_signal prctl prlimit64 restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo
rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr
sched_setparam sched_setscheduler sched_yield seccomp set_robust_list set_thread_area set_tid_address setfsgid setfsuid
setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setuid sigaltstack
sysinfo tgkill time times tkill uname vfork wait4 waitid
"""
_TALKING = """
accept accept4 bind connect epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait
epoll_wait_old eventfd eventfd2 getpeername getrandom getsockname getsockopt ioctl listen msgctl msgget msgrcv msgsnd
pipe pipe2 poll ppoll pselect6 recvfrom recvmmsg recvmsg select semctl semget semop semtimedop sendmmsg sendmsg sendto
setsockopt shmat shmctl shmdt shmget shutdown signalfd signalfd4
"""
_TIME = """
clock_getres clock_gettime clock_nanosleep gettimeofday timer_create timer_delete timer_getoverrun timer_gettime
timer_settime timerfd_create timerfd_gettime timerfd_settime
"""

_SOCKET_FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
_PERSONALITIES = (0, 0xFFFFFFFF)
"""The default personality, and the query of the current one."""
_NEW_NAMESPACES = 0x7E020080
"""CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
_ENOSYS = 38

_Rule = dict[str, object]

MAKES_SANDBOXES = ("mount", "pivot_root", "sethostname", "umount2", "unshare")
"""Further calls for the supervisor of a warm container; a second filter refuses them to its trials."""


@cache
def seccomp_profile(more: tuple[str, ...] = ()) -> str:
    """The profile in the engine's form: `seccomp=<this>`. `more`: system calls that are allowed in addition."""
    plain = sorted([*" ".join((_FILES, _MEMORY, _PROCESSES, _TALKING, _TIME)).split(), *more])
    rules = [
        {"names": plain, "action": "SCMP_ACT_ALLOW"},
        *(_allow("socket", _argument_equals(0, family)) for family in _SOCKET_FAMILIES.values()),
        _allow("socketpair", _argument_equals(0, _SOCKET_FAMILIES["AF_UNIX"])),
        *(_allow("personality", _argument_equals(0, value)) for value in _PERSONALITIES),
        _allow("clone", {"index": 0, "value": _NEW_NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}),
        # clone3: its flags are in memory, where a filter cannot read them; without it, C libraries use clone
        {"names": ["clone3", "io_setup", "mq_open"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
    ]
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "archMap": [
                {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []},
                {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
            ],
            "syscalls": rules,
        },
        separators=(",", ":"),
    )


def _allow(name: str, argument: _Rule) -> _Rule:
    return {"names": [name], "action": "SCMP_ACT_ALLOW", "args": [argument]}


def _argument_equals(index: int, value: int) -> _Rule:
    return {"index": index, "value": value, "op": "SCMP_CMP_EQ"}
