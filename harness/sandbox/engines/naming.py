"""The name of an engine, from its answer to `GET /version`; imports no client library."""

from collections.abc import Mapping
from typing import Any

DOCKER = "Docker"
PODMAN = "Podman"


def engine_name(version: Mapping[str, Any]) -> str:
    """`Docker`, `Podman`, or the name that an unknown engine gives to its first component."""
    names = [str(component.get("Name", "")) for component in version.get("Components") or ()]
    if any(name.startswith(PODMAN) for name in names):
        return PODMAN
    return DOCKER if not names or names[0] == "Engine" else names[0]


def lacks_by_name(name: str) -> tuple[str, ...]:
    """What an engine of this name cannot do for a sandbox, each as a clause with its consequence."""
    return _LACKS.get(name, ())


_LACKS = {PODMAN: ("no limit on the number of files in a writable place (its memory limit holds)",)}
