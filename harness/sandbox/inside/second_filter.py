"""System calls by number, which differ between machines: those that build a trial's environment, and the filter that
refuses them afterwards.

The filter is classic BPF, as `(code, jump if true, jump if false, operand)`. It sees number, architecture, arguments.
"""

from __future__ import annotations

import errno

_CALLS = {
    "x86_64": (0xC000_003E, {"pivot_root": 155, "mount": 165, "umount2": 166, "sethostname": 170, "unshare": 272}, 56),
    "aarch64": (0xC000_00B7, {"pivot_root": 41, "mount": 40, "umount2": 39, "sethostname": 161, "unshare": 97}, 220),
}
"""Audit architecture, the system calls that only the supervisor may make, and `clone`."""
_CLONE_NAMESPACES = 0x7E02_0080
_LOAD, _EQUAL, _AT_LEAST, _MASKED, _GIVE = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = (_GIVE, 0, 0, 0x7FFF_0000), (_GIVE, 0, 0, 0x0005_0001)
"""SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM."""
_X32 = 0x4000_0000
"""Set in the numbers of x86-64's second table."""


def pivot_root_number(machine: str) -> int:
    """Raises OSError for a machine whose numbers are not known."""
    return _of(machine)[1]["pivot_root"]


def second_filter(machine: str) -> list[tuple[int, int, int, int]]:
    """Refuses the calls that only the supervisor's filter allows: the result equals a sandbox's own filter.

    Raises OSError for a machine whose numbers are not known.
    """
    architecture, denied, clone = _of(machine)
    numbers = list(denied.values())
    # behind these: [clone's flags: load, test], allow, refuse
    rest = len(numbers) + 1  # comparisons of call numbers
    program = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 0, rest + 5, architecture),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, rest + 3, 0, _X32),
    ]
    for done, number in enumerate(numbers):
        program.append((_EQUAL, rest - done + 2, 0, number))
    return [*program, (_EQUAL, 0, 2, clone), (_LOAD, 0, 0, 16), (_MASKED, 1, 0, _CLONE_NAMESPACES), _ALLOW, _REFUSE]


def _of(machine: str) -> tuple[int, dict[str, int], int]:
    found = _CALLS.get(machine)
    if found is None:
        known = " and ".join(_CALLS)
        raise OSError(errno.ENOSYS, f"warm sandboxes need {known}, and this machine is {machine}: use --sandbox docker")
    return found
