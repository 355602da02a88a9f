"""The sandbox providers by name."""

from typing import Literal, get_args

from harness.sandbox.provider import SandboxProvider

ProviderName = Literal["docker", "docker-warm", "local"]

PROVIDERS: tuple[ProviderName, ...] = get_args(ProviderName)


def provider_of(name: str | None) -> ProviderName:
    """The one that a run's manifest names; `docker` where this version knows none of the name."""
    return next((known for known in PROVIDERS if known == name), "docker")


def open_provider(name: ProviderName, *, run: str, prefetch: int = 0) -> SandboxProvider:
    """Raises EngineUnavailable where no engine answers. What it starts is labelled with this process and `run`.

    `prefetch` is for `docker`: how many containers are started before they are needed.
    """
    match name:
        case "docker":
            from harness.sandbox.docker import DockerSandboxProvider

            return DockerSandboxProvider(run=run, prefetch=prefetch)
        case "docker-warm":
            from harness.sandbox.warm import WarmDockerSandboxProvider

            return WarmDockerSandboxProvider(run=run)
        case "local":
            from harness.sandbox.local import LocalSandboxProvider

            return LocalSandboxProvider(run=run)
