"""`harness.api` is what the committed text says, is documented, and is all that suites, templates and pages import."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import harness.api
from tests.structure.public_api import COMMITTED, names, surface

ROOT = Path(__file__).parents[2]
_IMPORT = re.compile(r"^\s*(?:from|import) (harness[\w.]*)(?: import ([\w, ]+))?", re.M)


def test_the_public_surface_is_the_committed_one() -> None:
    assert COMMITTED.read_text(encoding="utf-8").splitlines() == surface().splitlines(), (
        "the public names or their signatures changed: if that is meant, run `python -m tests.structure.public_api`"
    )


def test_every_public_class_and_function_is_documented() -> None:
    shown = {name: getattr(harness.api, name) for name in names()}
    assert [] == [
        name for name, one in shown.items() if (inspect.isclass(one) or inspect.isfunction(one)) and not one.__doc__
    ]


def test_the_type_checker_sees_the_names_that_are_there_at_run_time() -> None:
    tree = ast.parse((ROOT / "harness" / "api.py").read_text(encoding="utf-8"))
    blocks = [node.body for node in tree.body if isinstance(node, ast.If)]
    typed = {alias.name for body in blocks for line in body if isinstance(line, ast.ImportFrom) for alias in line.names}
    assert {*names()} == {*typed, "compare", "run"}


def test_type_checkers_of_users_read_the_types() -> None:
    assert (ROOT / "harness" / "py.typed").is_file()


def test_importing_the_public_names_imports_nothing_heavy() -> None:
    heavy = ("aiohttp", "docker", "pydantic", "rich", "click", "vcr")
    code = f"import sys, harness, harness.api; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]" == done.stdout.strip()


def test_suites_templates_and_pages_import_public_names_only() -> None:
    files = [
        *(ROOT / "suites").rglob("*.py"),
        *(ROOT / "harness" / "cli" / "template").rglob("*.py"),
        *(ROOT / "docs" / "how-to").rglob("*.md"),
        *(ROOT / "docs" / "tutorial").rglob("*.md"),
        ROOT / "README.md",
    ]
    private = {
        f"{path.relative_to(ROOT)}: {module}"
        for path in files
        for module, found in _IMPORT.findall(path.read_text(encoding="utf-8"))
        if module not in ("harness", "harness.api", "harness.sandbox.conformance")
    }
    assert set() == private
