"""The sandboxes that attacks are tried on: the built-in ones that isolate, and `docker` with a relay for each trial."""

from harness.sandbox.containers.docker import DockerSandboxProvider
from harness.sandbox.provider import SandboxProvider
from harness.sandbox.providers import PROVIDERS, open_provider

_RELAYED = "docker-relayed"
"""As on engines that mount no socket of this machine."""
KINDS = (*(name for name in PROVIDERS if name != "local"), _RELAYED)


def opened(kind: str) -> SandboxProvider:
    """The caller closes it."""
    if kind == _RELAYED:
        return DockerSandboxProvider(run="escape", relayed=True)
    return open_provider(kind, run="escape")
