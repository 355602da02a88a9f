"""The sandbox providers by name."""

from typing import Literal

from harness.sandbox.provider import SandboxProvider

ProviderName = Literal["docker", "local"]


def open_provider(name: ProviderName, *, run: str) -> SandboxProvider:
    """Raises EngineUnavailable where no engine answers. What it starts is labelled with this process and `run`."""
    match name:
        case "docker":
            from harness.sandbox.docker import DockerSandboxProvider

            return DockerSandboxProvider(run=run)
        case "local":
            from harness.sandbox.local import LocalSandboxProvider

            return LocalSandboxProvider(run=run)
