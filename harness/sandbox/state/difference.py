"""The differences between two snapshots."""

from typing import Literal

from harness.sandbox.state.snapshot import Snapshot
from harness.values import Frozen


class SnapshotDifference(Frozen):
    """One difference between two snapshots."""

    subject: str
    """`/work/a.txt`, `dump menu`, `env NAME`, `browser_url`, `writable` or `parent`."""
    change: Literal["added", "removed", "changed"]
    detail: str = ""


def snapshot_differences(before: Snapshot, after: Snapshot) -> tuple[SnapshotDifference, ...]:
    """The changes from one snapshot to the other, sorted by subject."""
    old, new = _parts(before), _parts(after)
    found = [SnapshotDifference(subject=key, change="removed") for key in old.keys() - new.keys()]
    found += [SnapshotDifference(subject=key, change="added") for key in new.keys() - old.keys()]
    for key in old.keys() & new.keys():
        changed = [part for part in old[key] if old[key][part] != new[key][part]]
        if changed:
            detail = ", ".join(f"{part} {_short(old[key][part])} -> {_short(new[key][part])}" for part in changed)
            found.append(SnapshotDifference(subject=key, change="changed", detail=detail))
    return tuple(sorted(found, key=lambda difference: difference.subject))


def _parts(snapshot: Snapshot) -> dict[str, dict[str, object]]:
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


def _short(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:12]}..."
