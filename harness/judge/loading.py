"""Rubrics from files: a project's own, and the templates of the package."""

from importlib.resources import files
from pathlib import Path

from harness.documents import read_plain, shaped
from harness.errors import InvalidDocument, UsageError
from harness.judge.rubric import Rubric
from harness.judge.transcript import check_view

FOLDER = "rubrics"


def load_rubric(name: str, suite_folder: Path | None = None) -> Rubric:
    """The rubric in the file `name`, else `rubrics/<name>.yaml` of the suite, else the package's template.

    Raises UsageError where none exists, InvalidDocument with file, line and field for a malformed one.
    """
    for path in _places(name, suite_folder):
        if path.is_file():
            return read_rubric(path)
    known = ", ".join(rubric_names(suite_folder))
    raise UsageError(f"there is no rubric {name!r}", remedy=f"a file, or one of: {known}")


def read_rubric(path: Path) -> Rubric:
    """Raises InvalidDocument with file, line and field."""
    data, lines = read_plain(path)
    rubric = shaped(path, data, Rubric, lines)
    for number, criterion in enumerate(rubric.criteria):
        for place, selector in enumerate(criterion.evidence):
            at = ("criteria", number, "evidence", place)
            _check(path, selector, lines.get(at, lines.get(at[:3])), ".".join(map(str, at)))
    return rubric


def _check(path: Path, selector: str, line: int | None, field: str) -> None:
    try:
        check_view(selector)
    except UsageError as error:
        raise InvalidDocument(path, str(error), line=line, field=field) from None


def rubric_names(suite_folder: Path | None = None) -> tuple[str, ...]:
    """The suite's own rubrics first, then the templates."""
    suite_rubrics = (
        sorted(path.stem for path in (suite_folder / FOLDER).glob("*.yaml")) if suite_folder is not None else []
    )
    return tuple(dict.fromkeys([*suite_rubrics, *sorted(path.stem for path in _templates().glob("*.yaml"))]))


def _places(name: str, suite_folder: Path | None) -> list[Path]:
    suite_rubrics = [] if suite_folder is None else [suite_folder / FOLDER / f"{name}.yaml", suite_folder / name]
    given = [Path(name)] if name.endswith((".yaml", ".yml", ".json")) else []
    return [*given, *suite_rubrics, _templates() / f"{name}.yaml"]


def _templates() -> Path:
    return Path(str(files("harness.judge") / "templates" / "rubrics"))
