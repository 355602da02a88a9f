import ctypes
import json
from ctypes.util import find_library

from harness.sandbox.containers.configuration import seccomp_profile


def _allowed() -> set[str]:
    rules = json.loads(seccomp_profile())["syscalls"]
    return {
        name for rule in rules if rule["action"] == "SCMP_ACT_ALLOW" and "args" not in rule for name in rule["names"]
    }


def test_nothing_is_allowed_that_is_not_listed() -> None:
    assert json.loads(seccomp_profile())["defaultAction"] == "SCMP_ACT_ERRNO"


def test_no_32_bit_architecture_opens_a_second_way() -> None:
    assert [arch["subArchitectures"] for arch in json.loads(seccomp_profile())["archMap"]] == [[], []]


def test_calls_that_reach_the_host_are_not_allowed() -> None:
    dangerous = {
        "add_key", "bpf", "chroot", "clock_settime", "clone", "clone3", "delete_module", "fanotify_init",
        "finit_module", "fsopen", "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm",
        "iopl", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "mount", "mount_setattr", "move_mount",
        "name_to_handle_at", "open_by_handle_at", "open_tree", "perf_event_open", "personality", "pidfd_getfd",
        "pivot_root", "process_madvise", "process_vm_readv", "process_vm_writev", "ptrace", "quotactl", "reboot",
        "request_key", "setns", "settimeofday", "socket", "socketcall", "socketpair", "swapon", "syslog", "umount2",
        "unshare", "userfaultfd",
    }  # fmt: skip
    assert dangerous & _allowed() == set()


def test_only_four_families_of_sockets_are_allowed() -> None:
    rules = json.loads(seccomp_profile())["syscalls"]
    families = [rule["args"] for rule in rules if rule["names"] == ["socket"]]
    assert families == [[{"index": 0, "value": value, "op": "SCMP_CMP_EQ"}] for value in (1, 2, 10, 16)]


def test_programs_of_aarch64_find_what_they_call() -> None:
    """That machine has no `open`, `stat` or `fork`: its C libraries call others, all of which the filter must know."""
    instead = {
        "clone", "dup3", "epoll_create1", "epoll_pwait", "eventfd2", "execve", "faccessat", "faccessat2", "fadvise64",
        "fchmodat", "fchownat", "getdents64", "inotify_init1", "linkat", "mkdirat", "newfstatat", "openat", "pipe2",
        "ppoll", "pselect6", "readlinkat", "renameat", "renameat2", "rseq", "signalfd4", "statx", "symlinkat",
        "unlinkat", "utimensat", "wait4", "waitid",
    }  # fmt: skip
    assert instead - {"clone"} <= _allowed()
    library = ctypes.CDLL(find_library("seccomp") or "libseccomp.so.2")
    aarch64 = ctypes.c_uint32(0xC00000B7)
    assert not {name for name in instead if library.seccomp_syscall_resolve_name_arch(aarch64, name.encode()) < 0}
    named = {name for rule in json.loads(seccomp_profile())["syscalls"] for name in rule["names"]}
    unknown = {name for name in named if library.seccomp_syscall_resolve_name_arch(aarch64, name.encode()) == -1}
    assert set() == unknown
