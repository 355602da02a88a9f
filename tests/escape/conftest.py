"""Whom the attacks of this folder are tried on: every container provider, and a container that is weak on purpose."""

from collections.abc import Iterator

import pytest
from docker.models.containers import Container

from harness.sandbox.engine import connect
from harness.sandbox.provider import SandboxProvider
from harness.sandbox.providers import PROVIDERS, open_provider
from tests.escape.pairs import PROGRAMS
from tests.escape.weak import weak_container


@pytest.fixture(scope="module")
def weak(base_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    client = connect()
    with weak_container(client, base_image, PROGRAMS, tmp_path_factory.mktemp("door")) as container:
        yield container
    client.close()


@pytest.fixture(scope="module", params=[name for name in PROVIDERS if name != "local"])
def provider(request: pytest.FixtureRequest) -> Iterator[SandboxProvider]:
    provider = open_provider(request.param, run="escape")
    yield provider
    provider.close()
