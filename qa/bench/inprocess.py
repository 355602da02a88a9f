"""A sandbox that is played in this process: its agent is two tool calls over the gateway's real socket.

For benches of everything around a sandbox: the loop over trials, the gateway, the scorer, the store.
"""

import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.sandbox.provider import SandboxPaths, SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.traces.trial import EndState, ProgramExit


@dataclass(frozen=True)
class InProcessSandbox:
    """Nothing is isolated, restored or changed."""

    gateway: Path

    @property
    def places(self) -> SandboxPaths:
        return SandboxPaths(agent="/agent", work="/work", gateway_url=None, gateway_socket=str(self.gateway))

    def exec(self, command: Sequence[str], env: Mapping[str, str], timeout_s: float) -> ProgramExit:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(timeout_s)
            link.connect(str(self.gateway))
            for number in (1, 2):
                body = json.dumps({"number": number}).encode()
                head = "POST /tools/echo HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
                link.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                link.recv(65536)
        return ProgramExit(code=0)

    def expire(self) -> None:
        """No program of its own runs."""

    def end_state(self, archive: Path) -> EndState:
        return EndState()

    def close(self) -> None:
        """Holds nothing."""


class InProcessProvider:
    """Gives sandboxes of this process."""

    name: Literal["local"] = "local"
    isolates = False

    def start(self, spec: SandboxSpec, snapshot: Snapshot) -> InProcessSandbox:
        assert spec.gateway_socket is not None
        return InProcessSandbox(spec.gateway_socket)

    def close(self) -> None:
        """Holds nothing."""
