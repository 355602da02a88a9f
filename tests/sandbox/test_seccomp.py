import json

from harness.sandbox.containers.seccomp import seccomp_profile


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
