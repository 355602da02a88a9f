"""The sandbox providers by name: the built-in ones, and installed ones (entry points `harness.sandbox`).

A provider of a third party is a class that is constructed by `Provider(run=NAME)`. `harness.sandbox.conformance` checks
the guarantees of all providers.
"""

from typing import Any, cast

from harness.errors import UsageError
from harness.plugins import find_plugin, plugin_names
from harness.sandbox.provider import SandboxProvider

ProviderName = str
"""The name of a built-in provider, of an entry point, or `module:Class`."""

PROVIDERS = ("docker", "docker-warm", "local")
SEAM = "sandbox"


def provider_names() -> tuple[str, ...]:
    """The names of the built-in providers, then of the installed ones."""
    return (*PROVIDERS, *(name for name in plugin_names(SEAM) if name not in PROVIDERS))


def provider_of(name: str, typed: ProviderName) -> ProviderName:
    """The provider that a stored run's manifest names, to resume the run.

    A class in a module (`module:Class`) is taken only if the user has `typed` the same: a run folder may come from
    an untrusted source, and must not decide which code runs here. Raises UsageError.
    """
    if name in provider_names() or name == typed:
        return name
    raise UsageError(
        f"the run was made in the sandbox {name[:100]!r}, which a run folder cannot choose",
        remedy="name the sandbox yourself, if you trust it: --sandbox " + (name if ":" in name else "docker"),
    )


def isolates(name: ProviderName) -> bool:
    """Whether programs of the provider are isolated from this machine. Raises UsageError for an unknown name."""
    match name:
        case "docker" | "docker-warm":
            return True
        case "local":
            return False
        case _:
            return bool(getattr(_plugin(name), "isolates", False))


def open_provider(name: ProviderName, *, run: str) -> SandboxProvider:
    """Opens a provider whose resources are labelled with this process and `run`.

    Raises EngineUnavailable if no engine answers, UsageError for an unknown name.
    """
    match name:
        case "docker":
            from harness.sandbox.containers.docker import DockerSandboxProvider

            return DockerSandboxProvider(run=run)
        case "docker-warm":
            from harness.sandbox.containers.warm import WarmDockerSandboxProvider

            return WarmDockerSandboxProvider(run=run)
        case "local":
            from harness.sandbox.local import LocalSandboxProvider

            return LocalSandboxProvider(run=run)
        case _:
            return cast(SandboxProvider, _plugin(name)(run=run))


def _plugin(name: str) -> Any:
    return find_plugin(SEAM, name, dict.fromkeys(PROVIDERS, object))
