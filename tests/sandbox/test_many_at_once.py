"""Many sandboxes at the same time: neither the engine nor this process is asked for all of them at once."""

import os
import resource
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import docker
import pytest

from harness.sandbox.conformance.provider_fixture import shell
from harness.sandbox.containers.configuration import Containers
from harness.sandbox.provider import SandboxProvider
from harness.sandbox.providers import open_provider
from harness.sandbox.snapshot import Snapshot
from tests.sandbox.starting import empty, spec


def test_a_sandbox_starts_in_a_process_with_more_than_1024_descriptors() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], min(before[1], 4096)), before[1]))
    with ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        for _ in range(1100):
            stack.callback(os.close, os.dup(0))
        provider = open_provider("local", run="many")
        stack.callback(provider.close)
        assert "started\n" == _one(provider, empty())


@pytest.mark.slow
@pytest.mark.docker
def test_the_engine_starts_only_so_many_containers_at_once(client: docker.DockerClient, base_image: str) -> None:
    most = Containers(client, {}).starts_at_once
    starting, at_once = 0, []
    for action in _run_at_once("docker", 3 * most, base_image, client):
        starting += 1 if action == "create" else -1
        at_once.append(starting)
    assert 6 * most == len(at_once)
    assert max(at_once) <= most


@pytest.mark.slow
@pytest.mark.docker
def test_trials_that_wait_for_a_warm_container_take_one_that_is_given_back(
    client: docker.DockerClient, base_image: str
) -> None:
    trials = 32
    assert 0 < _run_at_once("docker-warm", trials, base_image, client).count("create") < trials


def _run_at_once(name: str, trials: int, image: str, client: docker.DockerClient) -> list[str]:
    """What the engine did with the containers of so many trials, in order: `create`, `start`."""
    run = f"many-{name}"
    snapshot = empty(image)
    ready = threading.Barrier(trials)
    provider = open_provider(name, run=run)
    began = int(time.time())

    def one(_: int) -> str:
        ready.wait()
        return _one(provider, snapshot)

    try:
        with ThreadPoolExecutor(trials) as pool:
            assert ["started\n"] * trials == list(pool.map(one, range(trials)))
    finally:
        provider.close()
    filters = {"label": f"harness.run={run}", "event": ["create", "start"]}
    events = client.api.events(since=began, until=int(time.time()) + 1, filters=filters, decode=True)
    return [event["Action"] for event in sorted(events, key=lambda event: event["timeNano"])]


def _one(provider: SandboxProvider, snapshot: Snapshot) -> str:
    sandbox = provider.start(spec(), snapshot)
    try:
        return shell(sandbox, "echo started").stdout
    finally:
        sandbox.close()
