"""What pages say of this repository: files that exist, and every room."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md")
_TOP = ("harness/", "tests/", "docs/", "suites/", "images/", "snapshots/", "cassettes/", "baselines/", "prompts/")


def named_paths(text: str) -> set[str]:
    """What stands in backquotes or as a link's target and is a path of this repository; patterns are globbed."""
    quoted = re.findall(r"`([\w./*-]+)`", text)
    linked = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    files = ("LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "pyproject.toml", "mkdocs.yml")
    return {path for path in quoted if path.startswith(_TOP) or path in files} | set(linked)


def test_every_file_of_the_harness_that_the_documentation_names_exists() -> None:
    named = {
        (page.relative_to(ROOT).as_posix(), path)
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for path in re.findall(r"`((?:harness|tests)/[\w./-]+)`", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert [] == sorted((page, path) for page, path in named if not (ROOT / path).exists())


def test_every_picture_of_a_page_exists() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    shown = [(page, one) for page in pages for one in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text("utf-8"))]
    assert shown
    assert [] == [(page, one) for page, one in shown if not (page.parent / one).is_file()]


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(page: str) -> None:
    paths = named_paths((ROOT / page).read_text(encoding="utf-8"))
    assert len(paths) > 3
    assert [] == sorted(path for path in paths if not any(ROOT.glob(path.rstrip("/"))))


def test_a_file_that_is_gone_is_found() -> None:
    assert {"harness/gone.py", "docs/no.md"} == named_paths("See `harness/gone.py`, `harness run`, [it](docs/no.md).")


def test_the_architecture_shows_every_room_in_the_order_of_the_import_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    rooms = [room.strip("() ") for layer in layers for room in layer.split("|")]
    rooms = [room for room in rooms if (ROOT / "harness" / room).is_dir()]
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = re.findall(r"`harness/(\w+)/`", text.partition("| room |")[2].partition("\n\n")[0])
    assert sorted(rooms) == sorted(table)
    order = {room: number for number, layer in enumerate(layers) for room in re.findall(r"\w+", layer)}
    numbers = [order[room] for room in table]
    assert sorted(numbers) == numbers
