"""A project whose images are made of the files that a test writes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from harness.sandbox.engine import connect
from harness.sandbox.images.store import ImageStore


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
