"""Containers that wait for a trial and are gone when it comes, as after the engine was started again."""

import time
import uuid
from contextlib import suppress

import docker
import pytest
import requests
from docker.errors import APIError

from harness.errors import SandboxError
from harness.sandbox.conformance.provider_fixture import shell
from harness.sandbox.containers.running import EngineOutage
from harness.sandbox.containers.warm import WarmDockerSandboxProvider
from harness.sandbox.provider import SandboxProvider
from harness.sandbox.providers import ProviderName, open_provider
from tests.sandbox.starting import empty, spec

pytestmark = pytest.mark.docker


def _runs_one(provider: SandboxProvider, image: str) -> str:
    sandbox = provider.start(spec(), empty(image))
    try:
        return shell(sandbox, "echo ran").stdout
    finally:
        sandbox.close()


def _lose(client: docker.DockerClient, run: str, count: int) -> None:
    """Kills every container of the run until so many have been there, the caller's own included, and none is left."""
    ours, seen = {"label": f"harness.run={run}"}, set[str]()
    until = time.monotonic() + 60
    while (found := client.api.containers(all=True, filters=ours)) or len(seen) < count:
        assert time.monotonic() < until
        for container in found:
            seen.add(container["Id"])
            with suppress(APIError):  # the one of the trial that ended leaves by itself
                client.api.kill(container["Id"])
        time.sleep(0.05)


def test_a_warm_container_that_died_between_two_trials_costs_no_trial(
    client: docker.DockerClient, base_image: str
) -> None:
    run = f"lost-{uuid.uuid4().hex[:8]}"
    provider = WarmDockerSandboxProvider(run=run, client=client)
    try:
        assert "ran\n" == _runs_one(provider, base_image)
        _lose(client, run, 1)
        assert "ran\n" == _runs_one(provider, base_image)
    finally:
        provider.close()


def test_what_broke_off_is_asked_again_where_the_engine_answers_by_now(client: docker.DockerClient) -> None:
    """As at the end of a run: the engine was just being started again."""
    asked = []

    def make() -> int:
        asked.append(1)
        if len(asked) == 1:
            raise requests.ConnectionError("Connection aborted.")
        return len(asked)

    assert EngineOutage(client).outlast(make) == 2


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["docker", "docker-warm"])
def test_an_image_that_is_gone_is_told_with_the_remedy(provider: ProviderName) -> None:
    opened = open_provider(provider, run="no-image")
    try:
        with pytest.raises(SandboxError, match="harness image build"):
            _runs_one(opened, "harness/never-built:0")
    finally:
        opened.close()
