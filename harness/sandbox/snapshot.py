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
    parent: str | None = None
    folder: Path | None = Field(default=None, exclude=True)
    image: str | None = Field(default=None, exclude=True)
    """Tag of the image that the environment's sandboxes run in."""

    @property
    def digest(self) -> str:
        """Sha-256 over the sorted snapshot content; independent of this machine."""
        plain = self.plain()
        del plain["name"]
        plain["files"] = sorted(plain["files"], key=lambda entry: entry["path"])
        # The name of the file is not content. The suffix was always this one when the first digests were taken.
        named = [entry | {"file": f"{entry['service']}.sql"} for entry in plain["dumps"]]
        plain["dumps"] = sorted(named, key=lambda entry: entry["service"])
        return digest_of(plain)

    def plain(self) -> dict[str, Any]:
        """The stored form. A missing profile is omitted, so that older snapshots keep their digest."""
        left_out = {"folder", "image", *(() if self.browser_profile is not None else ("browser_profile",))}
        return self.model_dump(mode="json", exclude=left_out)


class SnapshotDifference(Frozen):
    """One difference between two snapshots."""

    subject: str
    """`/work/a.txt`, `dump menu`, `env NAME`, `browser_url`, `writable` or `parent`."""
    change: Literal["added", "removed", "changed"]
    detail: str = ""


def snapshot_differences(before: Snapshot, after: Snapshot) -> tuple[SnapshotDifference, ...]:
    """The changes from one snapshot to the other, sorted by subject."""
    old, new = _comparable_parts(before), _comparable_parts(after)
    found = [SnapshotDifference(subject=key, change="removed") for key in old.keys() - new.keys()]
    found += [SnapshotDifference(subject=key, change="added") for key in new.keys() - old.keys()]
    for key in old.keys() & new.keys():
        changed = [part for part in old[key] if old[key][part] != new[key][part]]
        if changed:
            detail = ", ".join(
                f"{part} {_shortened(old[key][part])} -> {_shortened(new[key][part])}" for part in changed
            )
            found.append(SnapshotDifference(subject=key, change="changed", detail=detail))
    return tuple(sorted(found, key=lambda difference: difference.subject))


def _comparable_parts(snapshot: Snapshot) -> dict[str, dict[str, object]]:
    parts: dict[str, dict[str, object]] = {}
    for entry in snapshot.files:
        parts[entry.path] = {**entry.model_dump(exclude={"path"}), "mode": f"{entry.mode:o}"}
    for dump in snapshot.dumps:
        parts[f"dump {dump.service}"] = {"sha256": dump.sha256}
    for name, value in snapshot.env.items():
        parts[f"env {name}"] = {"value": value}
    for name in ("browser_url", "browser_profile", "parent"):
        value = getattr(snapshot, name)
        if value is not None:
            parts[name] = {"value": value}
    return {**parts, "writable": {"value": ", ".join(snapshot.writable)}}


def _shortened(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:12]}..."
