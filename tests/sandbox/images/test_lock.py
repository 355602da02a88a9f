"""The lock file: what images were made of."""

from pathlib import Path

import pytest

from harness.errors import InvalidDocument
from harness.sandbox.images.store import LockedImage, differences, read_lock, write_lock

IMAGES = {
    "shop/menu": LockedImage(inputs="b" * 64, packages_digest="c" * 64, packages=("bash=1", 'odd"name=2')),
    "base": LockedImage(inputs="a" * 64, packages_digest="d" * 64, packages=()),
}


def test_what_is_locked_is_read_back_and_written_the_same(tmp_path: Path) -> None:
    first = write_lock(tmp_path, IMAGES).read_bytes()

    assert read_lock(tmp_path) == IMAGES
    assert first == write_lock(tmp_path, dict(reversed(IMAGES.items()))).read_bytes()


def test_nothing_is_locked_where_there_is_no_file(tmp_path: Path) -> None:
    assert {} == read_lock(tmp_path)


def test_a_malformed_lock_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "lock.toml").write_text("[images.base]\ninputs = 3\n")

    with pytest.raises(InvalidDocument, match=r"lock\.toml"):
        read_lock(tmp_path)


def test_differences_between_package_lists_are_told_in_words() -> None:
    before = ("bash=5.1", "dash=1=x", "old=1")
    after = ("bash=5.2", "dash=1=x", "new=2", "python:uvicorn=3")

    assert None is differences(before, before)
    assert "bash 5.1 -> 5.2, old is gone, new 2 is new, python:uvicorn 3 is new" == differences(before, after)
    assert "a0 1 is new, a1 1 is new, a2 1 is new, a3 1 is new, a4 1 is new, a5 1 is new, a6 1 is new, a7 1 is new" + (
        " and 2 more"
    ) == differences((), [f"a{number}=1" for number in range(10)])
