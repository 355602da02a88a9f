"""Everything that users can touch is documented: taken from the program, looked for on the pages."""

import re
from pathlib import Path
from typing import Any

import pytest

from harness.scoring.registry import METRICS, VERIFIERS
from harness.suite.documents import field_docs, name_in_file, written_fields
from tests.docs.reference import FOLDER, pages
from tests.docs.surface import ROOT, commands, models, options, surface

PLACES = {
    "verb": "command-line.md",
    "option": "command-line.md",
    "field": "files.md",
    "verifier": "verifiers.md",
    "verifier parameter": "verifiers.md",
    "metric": "metrics.md",
    "failure": "detectors.md",
    "finding": "detectors.md",
    "criterion by code": "verifiers.md",
    "cassette key": "file-formats.md",
    "sandbox": "../concepts/sandbox.md",
    "import format": "../how-to/import.md",
    "public name": "api.md",
    "entry point group": "entry-points.md",
    "exit status": "exit-status.md",
    "route": "http-routes.md",
    "error type": "errors.md",
}
"""Kind of thing -> the page of `docs/reference/` that documents every one of them."""


def undocumented(kind: str, names: set[str], text: str) -> set[str]:
    """Those of `names` that the page does not document: a heading, a row of a table, or words in backquotes."""
    return {name for name in names if not _is_documented(kind, name, text)}


def _is_documented(kind: str, name: str, text: str) -> bool:
    match kind:
        case "option":
            verb, _, option = name.rpartition(" ")
            return _meaning(_section(text, f"`{verb}`"), option) != ""
        case "field" | "verifier parameter":
            owner, _, field = name.partition(".")
            return _meaning(_section(text, owner if kind == "field" else f"`{owner}`"), field) != ""
        case "verb" | "verifier" | "metric" | "criterion by code" | "public name":
            section = _section(text, f"`{name}`")
            return len(re.sub(r"```.*?```|^\|.*$|^Version.*$", "", section, flags=re.MULTILINE | re.DOTALL).split()) > 3
        case "route":
            return re.search(rf"^\| `[A-Z]+ {re.escape(name)}[^`]*` \| *\S.*\|$", text, re.MULTILINE) is not None
        case "entry point group" | "exit status" | "cassette key":
            return _meaning(text, name) != ""
        case _:
            return f"`{name}`" in text


def _meaning(text: str, name: str) -> str:
    """The last cell of the row whose first cell names it in backquotes; empty where there is no such row."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and f"`{name}`" in cells[0]:
            return cells[-1]
    return ""


def _section(text: str, title: str) -> str:
    """What stands under a heading, up to the next one of any level."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


@pytest.mark.parametrize("kind", PLACES)
def test_nothing_of_a_kind_is_undocumented(kind: str) -> None:
    text = (FOLDER / PLACES[kind]).read_text(encoding="utf-8")
    assert surface()[kind]
    assert set() == undocumented(kind, surface()[kind], text)


def test_every_kind_has_a_page() -> None:
    assert set(surface()) == set(PLACES)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("verb", "harness explode"),
        ("field", "Case.colour"),
        ("verifier parameter", "sql.colour"),
        ("route", "/v2/messages"),
        ("cassette key", "vibes"),
    ],
)
def test_what_no_page_says_is_found(kind: str, name: str) -> None:
    assert {name} == undocumented(kind, {name}, (FOLDER / PLACES[kind]).read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", ["option", "field", "verifier parameter"])
def test_a_row_without_a_meaning_documents_nothing(kind: str) -> None:
    name = sorted(surface()[kind])[0]
    last = name.split(" ")[-1].split(".")[-1]
    text = (FOLDER / PLACES[kind]).read_text(encoding="utf-8")
    emptied = re.sub(rf"^(\| [^|]*`{re.escape(last)}`.*\|)[^|]*\|$", r"\1  |", text, flags=re.MULTILINE)
    assert name in undocumented(kind, surface()[kind], emptied)


def test_every_option_says_what_it_does() -> None:
    assert [] == [f"{name} {one.opts}" for name, command in commands() for one in options(command) if not one.help]


def test_every_field_and_parameter_has_a_docstring() -> None:
    shapes: list[Any] = [*models(), *VERIFIERS.values()]
    missing = {
        f"{shape.__name__}.{name_in_file(name, info)}"
        for shape in shapes
        for name, info in written_fields(shape).items()
        if not field_docs(shape).get(name)
    }
    assert set() == missing


def test_every_metric_and_verifier_has_a_docstring() -> None:
    assert {*METRICS.values(), *VERIFIERS.values()} == {
        shape for shape in (*METRICS.values(), *VERIFIERS.values()) if shape.__doc__
    }


def test_the_generated_pages_are_those_that_the_program_gives() -> None:
    stale = [name for name, text in pages().items() if text != (FOLDER / name).read_text(encoding="utf-8")]
    assert [] == stale, "run `make reference`"


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    listed = set(re.findall(r"[\w./-]+\.md", navigation))
    there = {path.relative_to(ROOT / "docs").as_posix() for path in Path(ROOT / "docs").rglob("*.md")}
    assert there == listed
