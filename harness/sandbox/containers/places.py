"""How the writable places of a sandbox are mounted: size, number of files, owner."""

from harness.sandbox.launch.layout import Layout
from harness.sandbox.provider import SandboxSpec

AGENT_UID = 10001

_INODES_PER_MB = 256
_INODES_MAX = 65_536
_INODES_MIN = 4096
_MORE_MB = 4
"""Megabytes that a check's command may write in addition to an end state that is larger than its disk."""


def place_options(place: str, spec: SandboxSpec, layout: Layout) -> str:
    """How a writable place is mounted."""
    return f"rw,exec,nosuid,nodev,{place_size(place, spec, layout)}"


def place_size(place: str, spec: SandboxSpec, layout: Layout) -> str:
    """The tmpfs options of a writable place: its size and its owner."""
    size_mb = spec.limits.disk_mb
    if spec.end_state_from is not None:  # sparse files and hard links of the end state have become full files
        size_mb = max(size_mb, layout.size_mb(place) + _MORE_MB)
    inodes = min(max(size_mb * _INODES_PER_MB, _INODES_MIN), _INODES_MAX)
    uid, mode = owner_and_mode(place, layout)
    owner = f",uid={uid},gid={uid}" if uid else ""
    return f"size={size_mb}m,nr_inodes={inodes},mode={mode:04o}{owner}"


def owner_and_mode(place: str, layout: Layout) -> tuple[int, int]:
    """The user and the mode of a writable place."""
    shared = place == "/tmp" or layout.place_owner(place) == "root"
    return (0, 0o1777) if shared else (AGENT_UID, 0o755)
