"""A container's configuration in the form that one engine accepts."""

import os
import resource
import tempfile
from collections.abc import Mapping
from pathlib import Path

from docker.types import Ulimit

from harness.sandbox.engines.facts import EngineFacts
from harness.values import digest_of

_UNKNOWN_TO_PODMAN = ("nr_inodes=", "uid=", "gid=", "mode=")


def seccomp_option(engine: EngineFacts, profile: str) -> str:
    """The security option of a system call filter: its text, or for Podman the path of a file with it."""
    if not engine.is_podman:
        return f"seccomp={profile}"
    return f"seccomp={_profile_file(profile)}"


def tmpfs_options(engine: EngineFacts, places: Mapping[str, str]) -> dict[str, str]:
    """Mount options by place. Podman refuses owners and file limits, and would copy the image's files into a place."""
    if not engine.is_podman:
        return dict(places)
    return {place: _podman_options(options) for place, options in places.items()}


def more_ulimits(engine: EngineFacts) -> list[Ulimit]:
    """Podman would raise the process limit of a user above this machine's own, which a restricted host refuses."""
    if not engine.is_podman:
        return []
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    return [Ulimit(name="nproc", soft=soft, hard=hard)]


def _podman_options(options: str) -> str:
    said = options.split(",")
    kept = [option for option in said if not option.startswith(_UNKNOWN_TO_PODMAN)]
    mode = next((option for option in said if option.startswith("mode=")), "mode=0755")
    owned = any(option.startswith("uid=") for option in said)
    return ",".join([*kept, "mode=0777" if owned else mode, "notmpcopyup"])


def _profile_file(profile: str) -> Path:
    """A file that only this user can write, found again by its content; the engine reads it at each creation."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "harness" / "seccomp"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{digest_of(profile)[:16]}.json"
    if not file.is_file() or file.read_text() != profile:
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as stream:
            stream.write(profile)
        Path(stream.name).chmod(0o644)
        Path(stream.name).replace(file)
    return file
