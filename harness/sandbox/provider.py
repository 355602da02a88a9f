"""The interface of sandboxes: start one from a snapshot, run programs in it, read its end state, discard it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.sandbox.snapshot import Snapshot
from harness.suite.cases import Limits
from harness.traces.trial import EndState, ProgramExit

_HERE = "127.0.0.1,localhost"


@dataclass(frozen=True, kw_only=True)
class ProxiedHosts:
    """Names that lead to the gateway: by the proxy variables, and in a container also by name resolution.

    For programs that ignore the variables the names resolve to the sandbox itself, where the ports are forwarded.
    """

    names: tuple[str, ...]
    ports: tuple[int, ...]
    certificate: Path
    """File name of the authority's certificate, in the folder of the gateway's socket."""


def proxy_environment(gateway_url: str, certificate: str) -> dict[str, str]:
    """Variables that make the clients of Python, Node, curl, git and pip use the gateway as a proxy, and trust it."""
    return {
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), gateway_url),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), _HERE),
        **dict.fromkeys(
            (
                "SSL_CERT_FILE",
                "REQUESTS_CA_BUNDLE",
                "CURL_CA_BUNDLE",
                "NODE_EXTRA_CA_CERTS",
                "GIT_SSL_CAINFO",
                "PIP_CERT",
            ),
            certificate,
        ),
        "NODE_USE_ENV_PROXY": "1",
    }


@dataclass(frozen=True, kw_only=True)
class SandboxSpec:
    """What one sandbox needs, apart from the snapshot that it is restored from."""

    trial_id: str
    """A unique id, which is set in the container's labels."""
    limits: Limits
    image: str | None = None
    """Tag of the image to run in; None: the snapshot's own. Ignored by the local sandbox."""
    agent_files: Path | None = None
    """The folder that is mounted read-only at `/agent`."""
    gateway_socket: Path | None = None
    """Unix socket of the trial's gateway session; None: no gateway (a check's command)."""
    outside: ProxiedHosts | None = None
    """Hosts that the gateway answers for; None: no name leads anywhere."""
    clock: str | None = None
    """ISO 8601 instant at which CLOCK_REALTIME starts; None: the real time."""
    end_state_from: Path | None = None
    """Archive of an earlier trial's end state to restore over the snapshot's files."""
    inspects: bool = False
    """Whether the programs inspect the end state of another sandbox: they cannot change the restored files, and cannot
    execute the files of the end state. Only valid with `end_state_from`.
    """
    own_home: bool = False
    """Whether HOME is an empty folder of the programs' own, and no variable leads to code in a writable place."""
    cwd: str | None = None
    """Where programs start; None: in the working directory, with `own_home` in another empty folder."""


@dataclass(frozen=True, kw_only=True)
class SandboxPaths:
    """Paths inside the sandbox."""

    agent: str
    work: str
    gateway_url: str | None
    gateway_socket: str | None


class Sandbox(Protocol):
    """A started sandbox. Every method raises SandboxError when the sandbox itself failed, never for the program."""

    @property
    def places(self) -> SandboxPaths:
        """Where the agent's files, its working directory and the gateway are."""
        ...

    def exec(self, command: Sequence[str], env: Mapping[str, str], timeout_s: float) -> ProgramExit:
        """Runs a program as the agent's user until it ends or `timeout_s` is over; then its whole process tree is
        ended.

        Output past `limits.output_kb` is counted and discarded, but for its last lines. A program that does not exist
        exits with 127.
        """
        ...

    def expire(self) -> None:
        """Ends the program that `exec` runs in another thread, as if its time were over; no error if it has just
        ended.
        """
        ...

    def read_file(self, path: str, max_bytes: int = 1_048_576) -> bytes:
        """The content of a regular file, followed through no link that leaves the sandbox.

        Raises FileNotFoundError, IsADirectoryError, PermissionError, or SandboxError past `max_bytes`.
        """
        ...

    def write_file(self, path: str, content: bytes) -> None:
        """Writes a file as the agent's user, with its parent folders."""
        ...

    def end_state(self, archive: Path) -> EndState:
        """The differences to the snapshot files; the changed files' content is written to `archive`."""
        ...

    def close(self) -> None:
        """Discards the sandbox with all its processes; safe to call twice."""
        ...


class SandboxProvider(Protocol):
    """Starts sandboxes. A used sandbox is discarded, never reused."""

    @property
    def name(self) -> str:
        """The name on the command line: `docker`, `local`."""
        ...

    @property
    def isolates(self) -> bool:
        """Whether the sandbox isolates; if it does not, output and manifest state that."""
        ...

    def start(self, spec: SandboxSpec, snapshot: Snapshot) -> Sandbox:
        """A fresh sandbox restored from the snapshot. Raises SandboxError or SnapshotError."""
        ...

    def close(self) -> None:
        """Ends whatever this provider still has running; safe to call twice."""
        ...
