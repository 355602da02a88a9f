"""The lock file: what images were made of."""

from pathlib import Path

import pytest

from harness.errors import InvalidDocument
from harness.sandbox.images.store import LockedImage, read_lock, write_lock

IMAGES = {
    "shop/menu": LockedImage(inputs="b" * 64, packages_digest="c" * 64, packages=("bash=1", 'odd"name=2')),
    "base": LockedImage(inputs="a" * 64, packages_digest="d" * 64, packages=()),
}


def test_what_is_locked_is_read_back_and_written_the_same(tmp_path: Path) -> None:
    first = write_lock(tmp_path, IMAGES).read_bytes()

    assert read_lock(tmp_path) == IMAGES
    assert first == write_lock(tmp_path, dict(reversed(IMAGES.items()))).read_bytes()


def test_a_malformed_lock_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "lock.toml").write_text("[images.base]\ninputs = 3\n")

    with pytest.raises(InvalidDocument, match=r"lock\.toml"):
        read_lock(tmp_path)
