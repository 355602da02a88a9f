"""A client of this machine's engine, for tests that look at what a provider does there."""

from collections.abc import Iterator

import docker
import pytest

from harness.sandbox.engine import connect


@pytest.fixture(scope="session")
def client() -> Iterator[docker.DockerClient]:
    client = connect()
    yield client
    client.close()
