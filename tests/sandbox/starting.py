"""What most sandboxes of these tests are started from."""

from harness.sandbox.provider import SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.suite.cases import Limits


def spec(**fields: object) -> SandboxSpec:
    return SandboxSpec(**{"trial_id": "test", "limits": Limits(), **fields})


def empty(image: str | None = None) -> Snapshot:
    return Snapshot(name="empty", environment="base", image=image)
