"""A container's configuration in the form that one engine accepts."""

import json
import os
import resource
import tempfile
from collections.abc import Mapping
from pathlib import Path

import docker
from docker.types import Ulimit

from harness.sandbox.engines.facts import EngineFacts
from harness.values import digest_of

_UNKNOWN_TO_PODMAN = ("nr_inodes=", "uid=", "gid=", "mode=")
"""Its runtime sets the mode of a place to that of the image's folder, whatever `mode` says."""

_CLOSED_BY_PODMAN = {"/var/tmp": "ro,noexec,nosuid,nodev,size=4k"}
"""It makes this folder of a read-only container writable unless another file system is mounted there."""

_PROCESSES_OF_A_USER = 32_768
"""The limit that Podman sets for itself: a container can have no higher one where the host refuses to raise limits."""


def seccomp_option(engine: EngineFacts, profile: str) -> str:
    """The security option of a system call filter: its text, or for Podman the path of a file with it."""
    if not engine.is_podman:
        return f"seccomp={profile}"
    return f"seccomp={_profile_file(profile)}"


def tmpfs_options(engine: EngineFacts, places: Mapping[str, str]) -> dict[str, str]:
    """Mount options by place. Podman refuses owners and file limits, and would copy the image's files into a place.

    The owners are set by the launcher: `launcher_owns_places`.
    """
    if not engine.is_podman:
        return dict(places)
    return {**_CLOSED_BY_PODMAN, **{place: _podman_options(options) for place, options in places.items()}}


def launcher_owns_places(engine: EngineFacts) -> bool:
    """Whether the launcher has to set owner and mode of writable places, for which it needs the capability CHOWN."""
    return engine.is_podman


def more_ulimits(engine: EngineFacts) -> list[Ulimit]:
    """Podman would raise the process limit of a user above this machine's own, which a restricted host refuses."""
    if not engine.is_podman:
        return []
    _, mine = resource.getrlimit(resource.RLIMIT_NPROC)
    highest = _PROCESSES_OF_A_USER if mine == resource.RLIM_INFINITY else min(mine, _PROCESSES_OF_A_USER)
    return [Ulimit(name="nproc", soft=highest, hard=highest)]


def name_imported(client: docker.DockerClient, answer: str, repository: str, tag: str) -> None:
    """Gives an imported image its tag: Podman ignores the tag that was asked for, and answers with the image's id."""
    try:
        said = json.loads(answer)
    except ValueError:  # Docker answers with several lines
        return
    if isinstance(said, dict) and isinstance(identity := said.get("id"), str):
        client.api.tag(identity, repository, tag)


def _podman_options(options: str) -> str:
    kept = [option for option in options.split(",") if not option.startswith(_UNKNOWN_TO_PODMAN)]
    return ",".join([*kept, "notmpcopyup"])


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
