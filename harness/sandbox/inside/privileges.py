"""The privileges that a trial's launcher keeps: its capabilities, the second filter of system calls, and its end.

After `give_up_capabilities` and `forbid_what_built_this` the process has the rights of a container's first process.
"""

from __future__ import annotations

import ctypes
import platform
import struct

from harness.sandbox.inside.second_filter import second_filter
from harness.sandbox.inside.system_calls import libc, prctl, system_error

_KEPT_CAPABILITIES = (2, 5, 6, 7)
"""DAC_READ_SEARCH, KILL, SETGID, SETUID: the capabilities of a container's launcher."""
_LAST_CAPABILITY = 63
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_CAP_AMBIENT = 1, 22, 24, 47
_CAP_AMBIENT_CLEAR_ALL = 4
_SIGKILL = 9


def die_with_parent() -> None:
    """Kills this process when the supervisor ends."""
    prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def give_up_capabilities() -> None:
    for number in range(_LAST_CAPABILITY + 1):
        if number not in _KEPT_CAPABILITIES and libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0) != 0:
            if ctypes.get_errno() == 22:  # beyond the last capability of this kernel
                break
            raise system_error(f"dropping capability {number}")
    prctl(_PR_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL)
    kept = sum(1 << number for number in _KEPT_CAPABILITIES)
    header = struct.pack("Ii", 0x2008_0522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    low = struct.pack("III", kept, kept, 0)  # effective, permitted, inheritable
    if libc.capset(header, low + struct.pack("III", 0, 0, 0)) != 0:
        raise system_error("capset")


def forbid_what_built_this() -> None:
    """Refuses the calls that only the supervisor's filter allows: the result equals a sandbox's own filter."""
    program = second_filter(platform.machine())
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    held = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("H6xP", len(program), ctypes.addressof(held))
    if libc.prctl(_PR_SET_SECCOMP, 2, described, 0, 0) != 0:
        raise system_error("the second filter")
