"""A rule of this machine's packet filter: services of a network cannot open connections to the machine itself.

A bridge gives the machine an address among its containers, so that it can reach them; whatever it serves on all of its
addresses would be reached from there too. The rule passes only answers. It needs root privileges and
the program `iptables`, on the machine whose engine makes the network.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from harness.processes import subprocess_environment

_COMMENT = "harness services"
_WITHIN_S = 20.0
_WAITS_S = "10"
_INTERFACES = Path("/sys/class/net")
_PROGRAMS = ("iptables", "ip6tables")


def interface_of(network: str) -> str:
    """The bridge of a network that the engine made, by its id."""
    return f"br-{network[:12]}"


def why_unguarded() -> str | None:
    """Why this process cannot set a rule; None: it can."""
    if sys.platform != "linux":
        return "this system is not Linux"
    if os.geteuid() != 0:
        return "the harness does not run as root"
    if _program("iptables") is None:
        return "there is no program `iptables`"
    return None


def guard(interface: str) -> bool:
    """Drops connections from the interface to this machine; returns whether the rule was set."""
    if why_unguarded() is not None or not (_INTERFACES / interface).exists():
        return False
    done = [_change_rules(program, "-I", interface) for program in _PROGRAMS if _program(program) is not None]
    return bool(done) and done[0]


def unguard(interface: str) -> None:
    """Removes the rules of an interface; safe to call if it has none."""
    if why_unguarded() is None:
        for program in _PROGRAMS:
            while interface in _guarded(program) and _change_rules(program, "-D", interface):
                pass


def guards_left() -> list[str]:
    """The interfaces that have a rule and no longer exist."""
    if why_unguarded() is not None:
        return []
    found = {interface for program in _PROGRAMS for interface in _guarded(program)}
    return sorted(interface for interface in found if not (_INTERFACES / interface).exists())


def _change_rules(program: str, how: str, interface: str) -> bool:
    rule = ["-i", interface, "-m", "conntrack", "!", "--ctstate", "ESTABLISHED,RELATED"]
    return _output_of(program, how, "INPUT", *rule, "-m", "comment", "--comment", _COMMENT, "-j", "DROP") is not None


def _guarded(program: str) -> list[str]:
    """The interfaces that have a rule of the harness."""
    lines = (_output_of(program, "-S", "INPUT") or "").splitlines()
    words = [shlex.split(line) for line in lines if _COMMENT in line]
    return [one[one.index("-i") + 1] for one in words if "-i" in one and re.match(r"br-", one[one.index("-i") + 1])]


def _output_of(program: str, *arguments: str) -> str | None:
    """The output of the program; None: it is missing, or refuses."""
    path = _program(program)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, "-w", _WAITS_S, *arguments],
            capture_output=True,
            text=True,
            timeout=_WITHIN_S,
            env=subprocess_environment(),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
