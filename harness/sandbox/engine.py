"""The container engine: how it is reached, and how what dead runs left in it is removed."""

from collections.abc import Callable
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, NotFound

from harness.errors import EngineUnavailable
from harness.sandbox.owner import OWNER_LABEL, Owner, owner_labels, reap_private_folders

__all__ = ["connect", "owner_labels", "reap"]

_ANSWER_WITHIN_S = 5
_REQUEST_WITHIN_S = 120
_CONNECTIONS = 32

_REMEDY = "start Docker (`docker info` must answer), set DOCKER_HOST, or run with `--sandbox local` (no isolation)"


def connect() -> docker.DockerClient:
    """A client of the engine that DOCKER_HOST or the usual socket leads to; safe to use from many threads.

    Raises EngineUnavailable where none answers within a few seconds.
    """
    try:
        client = docker.from_env(timeout=_ANSWER_WITHIN_S, max_pool_size=_CONNECTIONS)
        client.ping()
    except (DockerException, requests.RequestException) as error:
        raise EngineUnavailable(f"no container engine answers: {error}", remedy=_REMEDY) from None
    client.api.timeout = _REQUEST_WITHIN_S
    return client


def reap(client: docker.DockerClient) -> list[str]:
    """Removes the containers, networks, volumes and private folders of owners that are dead; says what it removed."""
    try:
        removed = _reap_engine(client)
    except (DockerException, requests.RequestException) as error:
        raise EngineUnavailable(f"what dead runs left cannot be removed: {error}", remedy=_REMEDY) from error
    return removed + reap_private_folders()


def _reap_engine(client: docker.DockerClient) -> list[str]:
    found = {"label": OWNER_LABEL}
    removed = []
    for container in client.api.containers(all=True, filters=found):
        if _is_left(container) and _gone(client.api.remove_container, container["Id"], force=True, v=True):
            removed.append(f"container {container['Id'][:12]}")
    for network in client.api.networks(filters=found):
        if _is_left(network) and _gone(client.api.remove_network, network["Id"]):
            removed.append(f"network {network['Name']}")
    for volume in client.api.volumes(filters=found)["Volumes"] or ():
        if _is_left(volume) and _gone(client.api.remove_volume, volume["Name"], force=True):
            removed.append(f"volume {volume['Name']}")
    return removed


def _is_left(thing: dict[str, Any]) -> bool:
    owner = Owner.parse((thing["Labels"] or {}).get(OWNER_LABEL, ""))
    return owner is not None and not owner.is_alive()


def _gone(remove: Callable[..., object], name: str, **options: bool) -> bool:
    """Whether this call removed it: another run may reap at the same time."""
    try:
        remove(name, **options)
    except NotFound:
        return False
    except APIError as error:
        if error.status_code == requests.codes.conflict:
            return False  # its removal is already under way
        raise
    return True
