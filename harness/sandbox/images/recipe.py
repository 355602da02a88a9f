"""The inputs of an image: its folder under `images/`, read into a recipe with one digest on every machine."""

import hashlib
import io
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InvalidDocument, UsageError
from harness.sandbox.environment import BASE_IMAGE
from harness.sandbox.images.building import DEBIAN
from harness.suite.documents import file_text
from harness.values import digest_of

BROWSER_IMAGE = "browser"
"""Built if a suite needs it, and by name; a project may define its own."""

_BUILT_IN = {BASE_IMAGE: "base_image", BROWSER_IMAGE: "browser_image"}
_BASE = re.compile(r"^ARG[ \t]+BASE=([a-z0-9]+(?:[._/-][a-z0-9]+)*)[ \t]*$", re.MULTILINE)
_FROM = re.compile(r"^FROM[ \t]+\$\{?BASE\}?(?:[ \t]|$)", re.MULTILINE | re.IGNORECASE)
_LEFT_OUT = {"__pycache__", ".git", ".DS_Store"}


@dataclass(frozen=True, kw_only=True)
class ContextFile:
    """One file or link of a build context. Of a mode only the x bit counts: a checkout keeps no other bits."""

    path: str
    executable: bool
    content: bytes
    link: str | None = None


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """An image before it is built."""

    name: str
    on: str
    """Name of the image that it builds on."""
    files: tuple[ContextFile, ...]
    requirements: str | None
    """Hashed requirements of the wheels that `BASE` holds."""

    def digest(self, on_tag: str) -> str:
        """Sha-256 over all inputs, the image below included by its tag."""
        files = [[f.path, f.executable, hashlib.sha256(f.content).hexdigest(), f.link] for f in self.files]
        return digest_of({"on": on_tag, "files": files})


def read_recipe(images: Path, name: str) -> Recipe:
    """The recipe of the image `name`.

    Raises UsageError that lists the existing images, or InvalidDocument for a Dockerfile that does not name its base
    image.
    """
    folder = images / name
    if name == BASE_IMAGE or (name in _BUILT_IN and not (folder / "Dockerfile").is_file()):
        folder = Path(__file__).parent / _BUILT_IN[name]
    dockerfile = folder / "Dockerfile"
    if not dockerfile.is_file():
        known = ", ".join(sorted({*image_names(images), *_BUILT_IN}))
        raise UsageError(f"there is no image {name!r}: {dockerfile} is missing", remedy=f"known: {known}")
    text = file_text(dockerfile)
    on = _BASE.search(text)
    if on is None or _FROM.search(text) is None:
        raise InvalidDocument(
            dockerfile,
            "does not say which image it builds on",
            remedy="begin it with `ARG BASE=base` and `FROM ${BASE}`: the harness gives BASE that image's tag",
        )
    requirements = folder / "requirements.txt"
    return Recipe(
        name=name,
        on=on.group(1),
        files=read_files(folder),
        requirements=file_text(requirements) if requirements.is_file() else None,
    )


def image_names(images: Path) -> tuple[str, ...]:
    """The images of a project: the built-in `base`, and every folder with a Dockerfile, one or two levels deep."""
    found = [*images.glob("*/Dockerfile"), *images.glob("*/*/Dockerfile")]
    return tuple(sorted({BASE_IMAGE, *(str(path.parent.relative_to(images)) for path in found)} - {DEBIAN}))


def read_files(folder: Path) -> tuple[ContextFile, ...]:
    """All files below a folder, sorted; caches of tools are left out."""
    found = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if _LEFT_OUT.intersection(inside.parts) or path.suffix == ".pyc":
            continue
        if path.is_symlink():
            found.append(ContextFile(path=str(inside), executable=False, content=b"", link=str(path.readlink())))
        elif path.is_file():
            executable = bool(path.stat().st_mode & 0o100)
            found.append(ContextFile(path=str(inside), executable=executable, content=path.read_bytes()))
    return tuple(found)


def context_of(files: tuple[ContextFile, ...]) -> bytes:
    """The files as a tar without times and owners."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in files:
            member = tarfile.TarInfo(file.path)
            member.mode = 0o755 if file.executable else 0o644
            if file.link is not None:
                member.type, member.linkname = tarfile.SYMTYPE, file.link
            member.size = len(file.content)
            archive.addfile(member, io.BytesIO(file.content))
    return buffer.getvalue()
