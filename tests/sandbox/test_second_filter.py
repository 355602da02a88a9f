"""The second filter of warm sandboxes, run as the kernel runs it, for each machine that it is written for."""

import ctypes
from ctypes.util import find_library

import pytest

from harness.sandbox.inside.confinement import pivot_root_number, second_filter

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The kernel's audit architectures, which libseccomp takes for names too."""
ALLOWED, REFUSED = 0x7FFF0000, 0x00050001
EQUAL, AT_LEAST, MASKED = 0x15, 0x35, 0x45


def number(machine: str, name: str) -> int:
    """As libseccomp, which engines filter with, knows it."""
    library = ctypes.CDLL(find_library("seccomp") or "libseccomp.so.2")
    found = library.seccomp_syscall_resolve_name_arch(ctypes.c_uint32(ARCHITECTURES[machine]), name.encode())
    assert isinstance(found, int)
    return found


def answer(machine: str, call: int, *, architecture: int | None = None, first: int = 0) -> int:
    """What the filter gives for a call with that first argument."""
    seen = {0: call, 4: ARCHITECTURES[machine] if architecture is None else architecture, 16: first}
    program, at, value = second_filter(machine), 0, 0
    while True:
        code, if_true, if_false, operand = program[at]
        at += 1
        match code:
            case 0x20:
                value = seen[operand]
            case 0x06:
                return operand
            case _:
                held = {EQUAL: value == operand, AT_LEAST: value >= operand, MASKED: bool(value & operand)}[code]
                at += if_true if held else if_false


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_what_built_the_environment_is_refused(machine: str) -> None:
    for name in ("pivot_root", "mount", "umount2", "sethostname", "unshare"):
        assert REFUSED == answer(machine, number(machine, name)), name
    for name in ("read", "write", "openat", "execve", "exit_group", "umask", "fchmod"):
        assert ALLOWED == answer(machine, number(machine, name)), name
    assert number(machine, "pivot_root") == pivot_root_number(machine)


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_a_process_may_be_cloned_and_no_namespace(machine: str) -> None:
    clone = number(machine, "clone")
    assert ALLOWED == answer(machine, clone, first=17)
    for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x80):
        assert REFUSED == answer(machine, clone, first=flag | 17), hex(flag)


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_calls_of_another_table_are_refused(machine: str) -> None:
    for other in ({*ARCHITECTURES.values()} | {0x40000003}) - {ARCHITECTURES[machine]}:
        assert REFUSED == answer(machine, number(machine, "read"), architecture=other)
    assert REFUSED == answer(machine, number(machine, "read") | 0x40000000)


def test_a_machine_whose_numbers_are_not_known_is_named() -> None:
    for known in (second_filter, pivot_root_number):
        with pytest.raises(OSError, match="riscv64"):
            known("riscv64")
