"""`images/lock.toml`: the packages of a project's images at the time of its last update.

An image that is later built from other packages is reported, not rejected, because Debian's mirrors change. Runs store
the digest of their package list, so that a comparison of two runs can report a difference.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.documents import read_document, write_atomically
from harness.values import Frozen

_SHOWN = 8
_HEAD = "# What the images were made of. Written by `harness image build --lock`; compared at every build.\n"


class LockedImage(Frozen):
    """One image in the lock file."""

    inputs: str
    """Digest of the Dockerfile, its context, its wheels and the image below."""
    packages_digest: str
    packages: tuple[str, ...]


class _LockFile(Frozen):
    images: dict[str, LockedImage] = {}


def read_lock(images: Path) -> dict[str, LockedImage]:
    """The locked images of a project by name; empty where nothing was locked."""
    path = images / "lock.toml"
    return dict(read_document(path, _LockFile).images) if path.is_file() else {}


def write_lock(images: Path, locked: Mapping[str, LockedImage]) -> Path:
    """Writes the lock file; the same images give the same bytes."""
    path = images / "lock.toml"
    parts = [_HEAD]
    for name, image in sorted(locked.items()):
        parts.append(f"\n[images.{json.dumps(name)}]\n")
        parts.append(f"inputs = {json.dumps(image.inputs)}\npackages_digest = {json.dumps(image.packages_digest)}\n")
        parts.append("packages = [\n" + "".join(f"  {json.dumps(line)},\n" for line in image.packages) + "]\n")
    write_atomically(path, "".join(parts).encode())
    return path


def differences(locked: Iterable[str], found: Iterable[str]) -> str | None:
    """Describes how a package list differs from the locked one; None: not at all."""
    before = dict(line.split("=", 1) for line in locked)
    after = dict(line.split("=", 1) for line in found)
    changes = [
        f"{name} {before[name]} -> {after[name]}" for name in before if after.get(name, before[name]) != before[name]
    ]
    changes += [f"{name} is gone" for name in before if name not in after]
    changes += [f"{name} {version} is new" for name, version in after.items() if name not in before]
    if not changes:
        return None
    more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    return ", ".join(changes[:_SHOWN]) + more
