"""Dockerfiles of tasks with images of the project in the place of a registry's."""

from pathlib import Path

import pytest

from harness.errors import InvalidDocument
from harness.sandbox.tasks import external_images, read_image_map, rewritten

TAGS = {"ubuntu:24.04": "own/base:1", "python:3.11-slim": "own/python:2", "ghcr.io/astral-sh/uv:0.7": "own/uv:3"}


def froms(text: str) -> list[str]:
    """The lines that name an image, as they are built."""
    return [line for line in rewritten(text, TAGS.get).splitlines() if "FROM" in line.upper()]


@pytest.mark.parametrize(
    ("text", "built"),
    [
        ("FROM ubuntu:24.04", ["FROM own/base:1"]),
        ("from ubuntu:24.04 as build", ["from own/base:1 as build"]),
        ("FROM --platform=linux/amd64 ubuntu:24.04", ["FROM --platform=linux/amd64 own/base:1"]),
        ("FROM alpine:3", ["FROM alpine:3"]),
        ("FROM scratch", ["FROM scratch"]),
        ("ARG V=3.11\nFROM python:${V}-slim", ["FROM own/python:2"]),
        ("ARG V=3.11\nFROM python:$V-slim", ["FROM own/python:2"]),
        ("ARG V\nFROM python:${V}-slim", ["FROM python:${V}-slim"]),
        ("FROM ubuntu:24.04 AS a\nFROM a", ["FROM own/base:1 AS a", "FROM a"]),
        (
            "FROM ubuntu:24.04 AS a\nFROM ubuntu:24.04\nCOPY --from=a /x /y\nCOPY --from=0 /x /y",
            ["FROM own/base:1 AS a", "FROM own/base:1", "COPY --from=a /x /y", "COPY --from=0 /x /y"],
        ),
        (
            "FROM ubuntu:24.04\nCOPY --chown=1:1 --from=ghcr.io/astral-sh/uv:0.7 /uv /bin/",
            ["FROM own/base:1", "COPY --chown=1:1 --from=own/uv:3 /uv /bin/"],
        ),
    ],
)
def test_images_of_the_map_stand_for_those_of_a_registry(text: str, built: list[str]) -> None:
    assert built == froms(text)


def test_only_what_the_file_does_not_make_itself_is_an_image_of_others() -> None:
    text = "FROM a:1 AS build\nFROM scratch\nFROM build\nFROM a:1\nCOPY --from=build /x /\nCOPY --from=b:2 /x /\n"

    assert ("a:1", "b:2") == external_images(text)


def project_with(folder: Path, text: str) -> Path:
    (folder / "images/python").mkdir(parents=True)
    (folder / "images/python/Dockerfile").write_text("ARG BASE=base\nFROM ${BASE}\n")
    (folder / "images/map.yaml").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("ubuntu:24.04", "base"),
        ("docker.io/library/ubuntu:24.04", "base"),
        ("ubuntu:24.04@sha256:1234", "base"),
        ("ubuntu:22.04", None),
        ("python:3.13-slim", "python"),
        ("python:3.11-slim", "base"),
        ("ghcr.io/someone/python:3.11", None),
    ],
)
def test_the_first_key_that_matches_holds(tmp_path: Path, name: str, own: str | None) -> None:
    text = '"ubuntu:24.04": base\n"python:3.11*": base\n"python:3.*": python\n'

    assert own == read_image_map(project_with(tmp_path, text)).image_for(name)


def test_a_project_without_a_map_leaves_all_images_to_the_engine(tmp_path: Path) -> None:
    assert read_image_map(tmp_path).image_for("ubuntu:24.04") is None


@pytest.mark.parametrize(
    ("text", "field"), [('"ubuntu:24.04": bsae\n', "ubuntu:24.04"), ('"ubuntu:24.04": [base]\n', "ubuntu:24.04")]
)
def test_a_map_to_an_image_that_there_is_not_is_refused(tmp_path: Path, text: str, field: str) -> None:
    with pytest.raises(InvalidDocument) as error:
        read_image_map(project_with(tmp_path, text))

    assert ("map.yaml", field) == (error.value.path.name, error.value.field)
