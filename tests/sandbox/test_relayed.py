"""Every promise of the seam without a socket of this machine in a container, as on engines in a virtual machine."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from harness.errors import UsageError
from harness.sandbox.conformance import checks
from harness.sandbox.conformance.provider_fixture import Check, ProviderFixture, answer_of, python
from harness.sandbox.containers.docker import DockerSandboxProvider
from harness.sandbox.containers.warm import WarmDockerSandboxProvider

pytestmark = pytest.mark.docker

_ALWAYS = ("gateway_answers_by_socket", "last_words_arrive")
_BY_SOCKET = re.compile("gateway|bodies|connection|beside|output|end_state|time_limit")
"""What passes the relay of the gateway or that of the launcher; the rest is the same container as without one."""

_UNREAD_AND_READ = """
import http.client, json, os, socket, urllib.parse
where = urllib.parse.urlsplit(os.environ["HARNESS_GATEWAY_URL"])
unread = socket.create_connection((where.hostname, where.port))
unread.sendall(b"GET /out?bytes=9000000 HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n")
read = http.client.HTTPConnection(where.hostname, where.port, timeout=20)
read.request("GET", "/out?bytes=3000000")
print(json.dumps(len(read.getresponse().read())))
"""


class _DesktopClient(docker.DockerClient):
    """This machine's engine, which says of itself what Docker Desktop says."""

    def info(self, *args: Any, **kwargs: Any) -> Any:
        return {**super().info(*args, **kwargs), "OperatingSystem": "Docker Desktop"}


@pytest.fixture(scope="module")
def provider(client: docker.DockerClient) -> Iterator[DockerSandboxProvider]:
    provider = DockerSandboxProvider(run="relayed", client=client, relayed=True)
    yield provider
    provider.close()


@pytest.fixture
def desktop() -> Iterator[docker.DockerClient]:
    client = _DesktopClient.from_env()
    yield client
    client.close()


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=check.name, marks=() if check.name in _ALWAYS else pytest.mark.slow)
        for check in checks(isolates=True)
        if check.name in _ALWAYS or check.needs_isolation or _BY_SOCKET.search(check.name)
    ],
)
def test_the_promise_is_kept_through_a_relay(
    check: Check, provider: DockerSandboxProvider, base_image: str, tmp_path: Path
) -> None:
    with ProviderFixture(provider, base_image, tmp_path) as stand:
        check.run(stand)


@pytest.mark.slow
def test_a_connection_that_nobody_reads_does_not_delay_another(
    provider: DockerSandboxProvider, base_image: str, tmp_path: Path
) -> None:
    with ProviderFixture(provider, base_image, tmp_path) as stand:
        sandbox = stand.start(gateway_socket=stand.gateway().socket)
        assert 3_000_000 == answer_of("the other connection", python(sandbox, _UNREAD_AND_READ))


@pytest.mark.slow
def test_an_engine_in_a_virtual_machine_gets_a_relay(
    desktop: docker.DockerClient, base_image: str, tmp_path: Path
) -> None:
    provider = DockerSandboxProvider(run="desktop", client=desktop)
    try:
        with ProviderFixture(provider, base_image, tmp_path) as stand:
            sandbox = stand.start(gateway_socket=stand.gateway().socket)
            answered = python(sandbox, _UNREAD_AND_READ)
            mounted = [
                mount["Type"]
                for found in desktop.api.containers(filters={"label": "harness.run=desktop"})
                for mount in found["Mounts"]
                if mount["Destination"].startswith(("/run/harness/control", "/run/harness/gateway"))
            ]
    finally:
        provider.close()
    assert (0, ["volume"] * 4) == (answered.code, mounted)


@pytest.mark.slow
def test_warm_containers_are_refused_where_no_socket_can_be_mounted(desktop: docker.DockerClient) -> None:
    with pytest.raises(UsageError, match="docker-warm") as refused:
        WarmDockerSandboxProvider(run="desktop", client=desktop)
    assert "--sandbox docker" == refused.value.remedy


@pytest.mark.slow
def test_volumes_that_a_stopped_engine_leaves_without_a_container_go_with_the_run(
    client: docker.DockerClient, base_image: str, tmp_path: Path
) -> None:
    def volumes() -> set[str]:
        return {one["Name"] for one in client.api.volumes()["Volumes"] or ()}

    provider = DockerSandboxProvider(run="stopped", client=client, relayed=True)
    try:
        with ProviderFixture(provider, base_image, tmp_path) as stand:
            stand.start(gateway_socket=stand.gateway().socket)
            found = client.api.containers(filters={"label": "harness.run=stopped"})
            mounts = [mount for one in found for mount in one["Mounts"] if mount["Type"] == "volume"]
            labels = {name: client.api.inspect_volume(name)["Labels"] for name in {mount["Name"] for mount in mounts}}
            relays = [mount["Name"] for mount in mounts if mount["Destination"].startswith("/run/harness/")]
        until = time.monotonic() + 30
        while set(labels) & volumes():
            assert time.monotonic() < until, "the sandbox's own volumes stay"
            time.sleep(0.1)
        left = [
            client.api.create_volume(labels=one)["Name"] for one in labels.values()
        ]  # no container was made of them
        left.append(client.api.create_volume(relays[0])["Name"])  # made again while the relay was going
    finally:
        provider.close()
    assert {"stopped"} == {one["harness.run"] for one in labels.values()}
    assert set() == set(left) & volumes()
