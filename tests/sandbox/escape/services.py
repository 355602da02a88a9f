"""A service that tries what the machine of the engine serves at the address of their network's bridge."""

import socket

import docker

from harness.sandbox.service_container import open_network

_CONNECTS = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 2)"


def machine_reached(client: docker.DockerClient, image: str, *, guarded: bool) -> bool:
    """Whether a connection was made; `guarded` False: the control, in a network without the rule."""
    network = open_network(client, "escape", published=False, guarded=guarded)
    container = None
    try:
        (pool,) = client.api.inspect_network(network.id)["IPAM"]["Config"]
        with socket.create_server(("0.0.0.0", 0)) as listening:
            place = [pool["Gateway"], str(listening.getsockname()[1])]
            command = ["python3", "-c", _CONNECTS, *place]
            container = client.containers.run(image, command, detach=True, **network.attached("service"))
            return int(container.wait(timeout=60)["StatusCode"]) == 0
    finally:
        if container is not None:
            container.remove(force=True)
        network.remove()
