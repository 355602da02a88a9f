"""Another OCI runtime than the engine's default: every promise of the seam is kept, and what is not there is told.

The engine is a second one, which knows `crun` (Debian's package; `make runtimes` installs it). Needs root.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.sandbox.conformance import checks
from harness.sandbox.conformance.provider_fixture import Check, ProviderFixture
from harness.sandbox.containers.configuration import TRIAL_LABEL
from harness.sandbox.containers.docker import DockerSandboxProvider
from harness.sandbox.engine import connect
from harness.sandbox.environment import load_environment
from harness.sandbox.provider import SandboxProvider
from harness.sandbox.providers import open_provider
from qa.soak.second_engine import SecondEngine, second_engine

KINDS = ("docker", "docker-warm")
RUNTIME = "crun"
ONE_HIERARCHY = "! mountpoint -q /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified"
"""It refuses a machine with controllers in both versions of cgroups; what the engine does not see is not there."""


@pytest.fixture(scope="module")
def engine(base_image: str) -> Iterator[SecondEngine]:
    """One that knows the runtime; its `runc` is the default."""
    program = shutil.which(RUNTIME)
    assert program is not None, f"there is no {RUNTIME}: make runtimes"
    with second_engine(base_image, options=(f"--add-runtime={RUNTIME}={program}",)) as engine:
        engine.run("sh", "-c", ONE_HIERARCHY)
        yield engine


@pytest.fixture(scope="module")
def provider(engine: SecondEngine) -> Iterator[SandboxProvider]:
    with engine.client() as client:
        provider = DockerSandboxProvider(run="runtimes", client=client, runtime=RUNTIME)
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
        default = DockerSandboxProvider(run="runtimes-default", client=client)
        with ProviderFixture(default, base_image, tmp_path / "default") as plain:
            plain.start()
            used = {client.api.inspect_container(one["Id"])["HostConfig"]["Runtime"] for one in client.api.containers()}
        default.close()
    assert {RUNTIME, "runc"} == used


@pytest.mark.docker
@pytest.mark.parametrize("kind", KINDS)
def test_a_runtime_that_the_engine_does_not_have_is_refused(kind: str) -> None:
    with pytest.raises(UsageError, match=r"'nothing'.*runc") as refused:
        open_provider(kind, run="runtimes", runtime="nothing")
    assert "--add-runtime nothing=/path" in (refused.value.remedy or "")


@pytest.mark.docker
@pytest.mark.parametrize("kind", KINDS)
def test_the_default_can_be_named(kind: str, base_image: str, tmp_path: Path) -> None:
    client = connect()
    name = client.info()["DefaultRuntime"]
    client.close()
    provider = open_provider(kind, run="runtimes", runtime=name)
    with ProviderFixture(provider, base_image, tmp_path) as stand:
        assert "ran\n" == stand.start().exec(["echo", "ran"], {}, 30).stdout
    provider.close()


def test_an_environment_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "images" / "yard"
    folder.mkdir(parents=True)
    (folder / "environment.yaml").write_text("runtime: runsc\nstates: {open: {}}\n", encoding="utf-8")
    assert "runsc" == load_environment(tmp_path, "yard").runtime
    (folder / "environment.yaml").write_text("runtime: ../x\nstates: {open: {}}\n", encoding="utf-8")
    with pytest.raises(UsageError, match="runtime"):
        load_environment(tmp_path, "yard")
