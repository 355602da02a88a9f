from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox.conformance import Check, Stand, checks
from harness.sandbox.provider import SandboxProvider
from harness.sandbox.providers import open_provider


@pytest.fixture(scope="module")
def docker_provider() -> Iterator[SandboxProvider]:
    provider = open_provider("docker", run="conformance")
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def warm_provider() -> Iterator[SandboxProvider]:
    provider = open_provider("docker-warm", run="conformance")
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def local_provider() -> Iterator[SandboxProvider]:
    provider = open_provider("local", run="conformance")
    yield provider
    provider.close()


@pytest.mark.docker
@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
def test_docker_keeps_the_promise(
    check: Check, docker_provider: SandboxProvider, base_image: str, tmp_path: Path
) -> None:
    with Stand(docker_provider, base_image, tmp_path) as stand:
        check.run(stand)


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
def test_warm_keeps_the_promise(check: Check, warm_provider: SandboxProvider, base_image: str, tmp_path: Path) -> None:
    with Stand(warm_provider, base_image, tmp_path) as stand:
        check.run(stand)


@pytest.mark.parametrize("check", [c for c in checks() if not c.sealed], ids=lambda check: check.name)
def test_local_keeps_the_promise(check: Check, local_provider: SandboxProvider, tmp_path: Path) -> None:
    with Stand(local_provider, None, tmp_path) as stand:
        check.run(stand)
