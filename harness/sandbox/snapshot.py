"""A snapshot by content: files, service dumps, environment, browser URL; one digest on every machine."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from harness.values import Frozen, JsonObject, digest_of


class SnapshotEntry(Frozen):
    """One entry. `path` is absolute in the sandbox; its content is under `files/` in the snapshot's folder."""

    path: str = Field(pattern=r"^/")
    kind: Literal["file", "directory", "link"] = "file"
    mode: int = 0o644
    owner: Literal["agent", "root"] = "agent"
    """`root`: the agent can read the entry (by its mode) and cannot change it."""
    size: int = 0
    sha256: str | None = None
    link: str | None = None


class ServiceDump(Frozen):
    """The snapshot of one service of the environment; the content is under `dumps/`."""

    service: str
    file: str
    sha256: str


class Snapshot(Frozen):
    """A snapshot. `folder` (None for an empty snapshot) and `image` are local locations, and not part of the digest."""

    name: str
    environment: str
    files: tuple[SnapshotEntry, ...] = ()
    dumps: tuple[ServiceDump, ...] = ()
    env: dict[str, str] = {}
    browser_url: str | None = None
    browser_profile: JsonObject | None = None
    """Cookies and local storage that browsers begin with, in Playwright's form (`storage_state`); None: nothing."""
    writable: tuple[str, ...] = ("/work", "/tmp")
    """Places that the agent may write: each a size-limited tmpfs. All else is read-only."""
    folder: Path | None = Field(default=None, exclude=True)
    image: str | None = Field(default=None, exclude=True)
    """Tag of the image that the environment's sandboxes run in."""

    @property
    def digest(self) -> str:
        """Sha-256 over the sorted snapshot content; independent of this machine."""
        plain = self.plain()
        del plain["name"]
        plain["files"] = sorted(plain["files"], key=lambda entry: entry["path"])
        plain["dumps"] = sorted(plain["dumps"], key=lambda entry: entry["service"])
        return digest_of(plain)

    def plain(self) -> dict[str, Any]:
        """The stored form."""
        return self.model_dump(mode="json", exclude={"folder", "image"})
