"""Whom the attacks of this folder are tried on: every kind of container, and a container that is weak on purpose."""

from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container

from harness.sandbox.provider import SandboxProvider
from harness.sandbox.providers import PROVIDERS, open_provider
from tests.sandbox.escape.pairs import PROGRAMS
from tests.sandbox.escape.weak import weak_container


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the weak container sees under the same name."""
    return tmp_path_factory.mktemp("door")


@pytest.fixture(scope="module")
def weak(base_image: str, door: Path, client: docker.DockerClient) -> Iterator[Container]:
    with weak_container(client, base_image, PROGRAMS, door) as container:
        yield container


@pytest.fixture(scope="module", params=[name for name in PROVIDERS if name != "local"])
def provider(request: pytest.FixtureRequest) -> Iterator[SandboxProvider]:
    provider = open_provider(request.param, run="escape")
    yield provider
    provider.close()
