"""Another OCI runtime than `runc`: every promise of the seam is kept.

The engine is a second one, whose default is `crun` (Debian's package; `make runtimes` installs it). Needs root.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox.conformance import checks
from harness.sandbox.conformance.provider_fixture import Check, ProviderFixture
from harness.sandbox.containers.configuration import TRIAL_LABEL
from harness.sandbox.containers.docker import DockerSandboxProvider
from harness.sandbox.provider import SandboxProvider
from qa.soak.second_engine import SecondEngine, second_engine

RUNTIME = "crun"
ONE_HIERARCHY = "! mountpoint -q /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified"
"""It refuses a machine with controllers in both versions of cgroups; what the engine does not see is not there."""


@pytest.fixture(scope="module")
def engine(base_image: str) -> Iterator[SecondEngine]:
    program = shutil.which(RUNTIME)
    assert program is not None, f"there is no {RUNTIME}: make runtimes"
    options = (f"--add-runtime={RUNTIME}={program}", f"--default-runtime={RUNTIME}")
    with second_engine(base_image, options=options) as engine:
        engine.run("sh", "-c", ONE_HIERARCHY)
        yield engine


@pytest.fixture(scope="module")
def provider(engine: SecondEngine) -> Iterator[SandboxProvider]:
    with engine.client() as client:
        provider = DockerSandboxProvider(run="runtimes", client=client)
        yield provider
        provider.close()


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.timeout(300)
@pytest.mark.parametrize("check", [one for one in checks() if one.needs_isolation], ids=lambda check: check.name)
def test_the_promise_is_kept_under_the_other_runtime(
    check: Check,
    provider: SandboxProvider,
    base_image: str,
    tmp_path: Path,
) -> None:
    with ProviderFixture(provider, base_image, tmp_path) as stand:
        check.run(stand)


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.timeout(300)
def test_the_containers_run_under_it(
    engine: SecondEngine, provider: SandboxProvider, base_image: str, tmp_path: Path
) -> None:
    with ProviderFixture(provider, base_image, tmp_path) as stand, engine.client() as client:
        stand.start()
        (running,) = client.api.containers(filters={"label": TRIAL_LABEL})
        assert RUNTIME == client.api.inspect_container(running["Id"])["HostConfig"]["Runtime"]
