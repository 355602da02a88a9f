"""Readers of SQLite files with each provider, and providers themselves."""

from collections.abc import Iterator

import pytest

from harness.sandbox.provider import SandboxProvider
from harness.sandbox.providers import PROVIDERS, open_provider
from harness.sandbox.sqlite import SqliteReader

MARKS = {"local": [], "docker": [pytest.mark.docker]}
KINDS = [pytest.param(name, marks=MARKS.get(name, [pytest.mark.docker, pytest.mark.slow])) for name in PROVIDERS]


@pytest.fixture(scope="module", params=KINDS)
def provider(request: pytest.FixtureRequest) -> Iterator[SandboxProvider]:
    provider = open_provider(request.param, run="databases")
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def image(request: pytest.FixtureRequest, provider: SandboxProvider) -> str | None:
    return str(request.getfixturevalue("base_image")) if provider.isolates else None


@pytest.fixture(scope="module")
def reader(provider: SandboxProvider, image: str | None) -> SqliteReader:
    return SqliteReader(provider=provider, image=image, name="test")


@pytest.fixture(scope="module")
def local_reader() -> Iterator[SqliteReader]:
    """For what is the same with every provider."""
    provider = open_provider("local", run="databases")
    yield SqliteReader(provider=provider, image=None, name="test")
    provider.close()
