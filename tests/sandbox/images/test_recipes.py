"""What an image is made of, read from its folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import InvalidDocument, UsageError
from harness.sandbox.images.recipe import image_names, read_recipe

Project = Callable[..., Path]

DOCKERFILE = "# why\nARG BASE=base\nFROM ${BASE}\nCOPY . /srv\n"


def test_images_are_the_folders_with_a_dockerfile_and_the_built_in_one(project: Project) -> None:
    root = project(
        **{"tools/Dockerfile": DOCKERFILE, "shop/menu/Dockerfile": DOCKERFILE, "shop/environment.yaml": "{}"}
    )

    assert ("base", "shop/menu", "tools") == image_names(root / "images")
    assert ("base",) == image_names(root / "no such folder")


def test_a_recipe_has_one_digest_whatever_the_checkout(project: Project) -> None:
    images = project(**{"a/Dockerfile": DOCKERFILE, "a/run.sh": "x"}) / "images"
    before = read_recipe(images, "a")
    (images / "a" / "run.sh").chmod(0o600)
    (images / "a" / "__pycache__").mkdir()
    (images / "a" / "__pycache__" / "run.pyc").write_text("cache")

    assert before == read_recipe(images, "a")


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "run.sh").write_text("y"),
        lambda folder: (folder / "run.sh").chmod(0o755),
        lambda folder: (folder / "run.sh").rename(folder / "runs.sh"),
        lambda folder: (folder / "link").symlink_to("run.sh"),
        lambda folder: (folder / "requirements.txt").write_text("a==1"),
    ],
)
def test_each_change_of_an_input_changes_the_digest(project: Project, change: Callable[[Path], object]) -> None:
    images = project(**{"a/Dockerfile": DOCKERFILE, "a/run.sh": "x"}) / "images"
    before = read_recipe(images, "a").digest("on")
    change(images / "a")

    assert before != read_recipe(images, "a").digest("on")
    assert before != read_recipe(images, "a").digest("on another")


@pytest.mark.parametrize("text", ["FROM debian\n", "ARG BASE=base\nFROM debian\n", "FROM ${BASE}\n", ""])
def test_a_dockerfile_that_does_not_say_what_it_builds_on_is_refused(project: Project, text: str) -> None:
    images = project(**{"a/Dockerfile": text}) / "images"

    with pytest.raises(InvalidDocument, match=r"a/Dockerfile.*\n.*ARG BASE=base"):
        read_recipe(images, "a")


def test_an_unknown_image_lists_what_there_is(project: Project) -> None:
    images = project(**{"a/Dockerfile": DOCKERFILE}) / "images"

    with pytest.raises(UsageError, match=r"'b'(.|\n)*a, base"):
        read_recipe(images, "b")


def test_a_dockerfile_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "Dockerfile").write_bytes(b"ARG BASE=base\nFROM ${BASE}\n# \xff\n")
    with pytest.raises(InvalidDocument, match=r"Dockerfile: .*UTF-8.*29"):
        read_recipe(tmp_path, "mine")
