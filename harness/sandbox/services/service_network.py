"""The network that the services of one trial share: they find each other by name, and no route leads out of it.

It is reached by the containers' own addresses, which works only on the engine's machine, and publishes no ports. Where
the engine runs elsewhere (a virtual machine, a rootless daemon), the alternative is a network without address
translation, with ports published on the loopback address.

A rule of the machine's packet filter blocks services from servers of the machine itself (`host_guard`). Where no rule
can be set, they can reach servers that listen on all of its addresses: `guarded` and `harness doctor` report that.
"""

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import docker
import requests
from docker.errors import APIError, DockerException, NotFound

from harness.errors import ServiceError
from harness.sandbox.engines.facts import facts_of
from harness.sandbox.host_guard import guard, interface_of, unguard
from harness.sandbox.ownership import owner_labels

_NO_MASQUERADE = {"com.docker.network.bridge.enable_ip_masquerade": "false"}
_ALL_TAKEN = "non-overlapping"


@dataclass(frozen=True, kw_only=True)
class ServiceNetwork:
    """A network that exists until it is removed."""

    client: docker.DockerClient
    id: str
    name: str
    published: bool
    """Ports are published on the loopback address; else the containers' own addresses are used."""
    guarded: bool
    """Whether the services cannot reach servers of the engine's machine."""

    def attached(self, alias: str) -> dict[str, Any]:
        """The settings that attach a container to it under that name."""
        endpoint = self.client.api.create_endpoint_config(aliases=[alias])
        return {
            "network": self.name,
            "networking_config": {self.name: endpoint},
            # The engine would ask the machine's resolver for external names: data could leave in such names.
            "dns": ["127.0.0.1"],
            "dns_opt": ["timeout:1", "attempts:1"],
        }

    def let_out(self, container: str) -> None:
        """Connects a container to the default network, too."""
        self.client.api.connect_container_to_network(container, "bridge")

    def address_of(self, container: str) -> str:
        found: str = self.client.api.inspect_container(container)["NetworkSettings"]["Networks"][self.name]["IPAddress"]
        return found

    def remove(self) -> None:
        """Removes the network; a missing one is not an error, and one with remaining containers is left to
        the reaper.
        """
        with suppress(NotFound):
            try:
                self.client.api.remove_network(self.id)
            except APIError as error:
                if error.status_code != requests.codes.forbidden:  # endpoints are just being removed
                    raise
                return
        if self.guarded:
            unguard(interface_of(self.id))


def open_network(
    client: docker.DockerClient, run: str, *, published: bool | None = None, guarded: bool = True
) -> ServiceNetwork:
    """A new network of this process. With `published` None, the engine's needs decide. `guarded` is applied where
    possible.

    Raises ServiceError where the engine has no free addresses.
    """
    name = f"harness-{uuid4().hex[:16]}"
    chosen = is_elsewhere(client) if published is None else published
    try:
        made = client.api.create_network(
            name,
            driver="bridge",
            internal=not chosen,
            options=_NO_MASQUERADE if chosen else None,
            labels=owner_labels(run),
            check_duplicate=True,
        )
    except (DockerException, requests.RequestException) as error:
        remedy = "`docker info` must answer"
        if _ALL_TAKEN in str(error):
            remedy = (
                "run fewer trials at once (--jobs), or give the engine more: `default-address-pools` in daemon.json"
            )
        raise ServiceError(f"the container engine makes no network for the services: {error}", remedy=remedy) from None
    stands = guarded and not chosen and guard(interface_of(made["Id"]))
    return ServiceNetwork(client=client, id=made["Id"], name=name, published=chosen, guarded=stands)


def is_elsewhere(client: docker.DockerClient) -> bool:
    """Whether the engine's containers have addresses that this process cannot reach."""
    if sys.platform != "linux" or not str(client.api.base_url).startswith("http+docker://"):
        return True
    info = client.info()
    return facts_of(client.version(), info).rootless or "Docker Desktop" in str(info.get("OperatingSystem"))
