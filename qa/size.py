"""The size of the project against its budgets: `python -m qa.size`, run in the checkout.

The budgets stand in `pyproject.toml` under `[tool.harness.budgets]`. Code lines are lines with code: blank lines,
comments and docstrings do not count. Exit status 1 if a budget is exceeded.
"""

import ast
import io
import json
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import click

ROOT: Final = Path(__file__).resolve().parents[1]
_NO_CODE: Final = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_YAML_FILES: Final = ("suite", "case", "environment", "rubric")


def code_lines(source: str) -> int:
    """Lines of a Python file that hold code."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def measured() -> dict[str, int]:
    """Each size that has a budget, of the files that git tracks."""
    harness = {path: text for path, text in _tracked("harness/*.py") if text.strip()}
    tests = [text for _, text in _tracked("tests/*.py")]
    pages = [text for _, text in _tracked("docs/*.md") if "Generated" not in text[:400]]
    options = _options_of_verbs()
    return {
        "code": sum(map(code_lines, harness.values())),
        "files": len(harness),
        "largest_file": max(len(text.splitlines()) for text in harness.values()),
        "rooms": len({path.parts[1] for path in harness if len(path.parts) > 2}),
        "verbs": len(options),
        "options": sum(options),
        "keys": len(_yaml_keys()),
        "test_code": sum(map(code_lines, tests)),
        "docs_words": sum(len(text.split()) for text in pages),
    }


def exceeded(sizes: Mapping[str, int], budgets: Mapping[str, int]) -> list[str]:
    """A message for each size that is larger than its budget."""
    return [
        f"{name}: {size:,} exceeds the budget of {budgets[name]:,}. Take something out, or raise `{name}` in "
        "[tool.harness.budgets] of pyproject.toml and say in the commit why"
        for name, size in sizes.items()
        if size > budgets[name]
    ]


def _tracked(pattern: str) -> Iterator[tuple[Path, str]]:
    """Tracked files that match, by their paths in the repository."""
    listed = subprocess.run(["git", "ls-files", "-z", pattern], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            yield Path(name), (ROOT / name).read_text(encoding="utf-8")


def _options_of_verbs() -> list[int]:
    """The number of options of each verb of the command line."""
    from harness.cli.main import harness

    def verbs(command: click.Command, parent: click.Context | None) -> Iterator[int]:
        context = click.Context(command, info_name=command.name, parent=parent)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                assert child is not None
                yield from verbs(child, context)
        else:
            yield sum(isinstance(one, click.Option) for one in command.params)

    return list(verbs(harness, None))


def _yaml_keys() -> set[str]:
    """The names of all keys of the published schemas."""
    found: set[str] = set()
    for name in _YAML_FILES:
        for path in (ROOT / "docs" / "reference" / "schemas").glob(f"{name}*.json"):
            schema = json.loads(path.read_text(encoding="utf-8"))
            for part in (schema, *schema.get("$defs", {}).values()):
                found.update(part.get("properties", {}))
    return found


def main() -> int:
    """Prints each size beside its budget; returns the exit status."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    budgets: dict[str, int] = project["tool"]["harness"]["budgets"]
    sizes = measured()
    for name, size in sizes.items():
        print(f"{name:12} {size:8,} of {budgets[name]:8,}")
    problems = exceeded(sizes, budgets)
    print(*problems, sep="\n", file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
