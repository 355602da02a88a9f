"""A project whose images are made of the files that a test writes."""

import base64
import hashlib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from harness.sandbox.engine import connect
from harness.sandbox.images.store import ImageStore


def wheel(index: Path, name: str, version: str, tag: str = "py3-none-any", needs: str = "") -> str:
    """A wheel in the index; gives its hash."""
    asks = f"Requires-Dist: {needs}\n" if needs else ""
    content = {
        f"{name}/__init__.py": f"VERSION = {version!r}\n",
        f"{name}-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{asks}",
        f"{name}-{version}.dist-info/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    path = index / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        record = ""
        for file, text in content.items():
            archive.writestr(file, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
            record += f"{file},sha256={digest},{len(text)}\n"
        archive.writestr(f"{name}-{version}.dist-info/RECORD", record)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Tag of the built-in base image."""
    return ImageStore(tmp_path_factory.mktemp("project")).build("base").tag


@pytest.fixture
def name() -> Iterator[str]:
    """Name of an image of this test alone; whatever was built of it is removed afterwards."""
    unique = f"test-{uuid4().hex[:12]}"
    yield unique
    client = connect()
    for image in client.api.images(f"harness/{unique}"):
        client.api.remove_image(image["Id"], force=True)
    client.close()


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Path]:
    """Writes files of a project, paths relative to `images/`."""

    def write(**files: str) -> Path:
        for path, content in files.items():
            target = tmp_path / "project" / "images" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)
        return tmp_path / "project"

    return write
