"""What users can touch, taken from the program itself: verbs, options, fields, checks, routes, exit statuses, seams."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import click
from pydantic import BaseModel

from harness.cassettes.recordings import Mark
from harness.cli.main import harness
from harness.cli.streams import NOBODY_READS
from harness.errors import ExitCode
from harness.gateway.exchange import TOOL_STATUSES
from harness.judging.views import CODE_CRITERIA
from harness.runs.foreign_runs import importers
from harness.runs.schemas import SHAPES
from harness.sandbox.providers import PROVIDERS
from harness.scoring.registry import METRICS, VERIFIERS
from harness.scoring.scorecard import Failure, Kind
from harness.suite.documents import all_models, name_in_file, written_fields

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "harness"
_METHODS = {"GET", "POST", "PUT", "DELETE", "PATCH"}
_LOOKUPS = {"find_plugin", "find_object", "plugin_names"}
INTERRUPTED = 130


def commands(group: click.Group = harness, above: str = "harness") -> Iterator[tuple[str, click.Command]]:
    """Every command with its whole name, groups before what is in them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{above} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{above} {name}")


def options(command: click.Command) -> list[click.Option]:
    return [one for one in command.params if isinstance(one, click.Option) and not one.hidden]


def models() -> list[type[BaseModel]]:
    """The shapes of all files that people write."""
    found = [model for shapes in SHAPES.values() for model in all_models([*shapes])]
    return list(dict.fromkeys(found))


def fields(model: type[BaseModel]) -> list[str]:
    return [name_in_file(name, info) for name, info in written_fields(model).items()]


def entry_point_groups() -> dict[str, str]:
    """Group -> the module that looks names up in it; read from the calls of `harness.plugins`.

    Only what can be a group's name counts: a name with a space is found by `module:Name` or by file alone.
    """
    found: dict[str, str] = {}
    for path, tree in _trees(PACKAGE):
        constants = {
            target.id: node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in _calls(tree, {"Registry"}):
            seams = [
                one.value.value for one in call.keywords if one.arg == "seam" and isinstance(one.value, ast.Constant)
            ]
            found |= {f"harness.{seam}": path.relative_to(ROOT).as_posix() for seam in seams}
        passed_on = _passed_on(tree)
        for call in _calls(tree, _LOOKUPS | set(passed_on)):
            position = passed_on.get(_called(call) or "", 0)
            seam = call.args[position] if len(call.args) > position else None
            name = seam.value if isinstance(seam, ast.Constant) else constants.get(getattr(seam, "id", ""))
            if isinstance(name, str) and re.fullmatch(r"\w+", name):
                found[f"harness.{name}"] = path.relative_to(ROOT).as_posix()
        for call in _calls(tree, {"Registry"}):
            for keyword in call.keywords:
                if keyword.arg == "seam" and isinstance(keyword.value, ast.Constant):
                    found[f"harness.{keyword.value.value}"] = path.relative_to(ROOT).as_posix()
    return found


def _passed_on(tree: ast.AST) -> dict[str, int]:
    """Functions of a module that give a parameter called `seam` to the look-up, by that parameter's position."""
    return {
        node.name: [argument.arg for argument in node.args.args].index("seam")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and "seam" in [argument.arg for argument in node.args.args]
        and any(_calls(node, _LOOKUPS))
    }


def routes() -> set[str]:
    """Paths that an agent can ask the gateway for, and those of the pages that the harness serves."""
    found: set[str] = set()
    for path, tree in _trees(PACKAGE / "gateway"):
        if "/sources/" not in path.as_posix():
            found |= set(_matched(tree)) | set(_compared(tree))
    for folder in ("judge",):
        for _, tree in _trees(PACKAGE / folder):
            found |= set(_registered(tree)) | set(_compared(tree))
    return found


def _matched(tree: ast.AST) -> Iterator[str]:
    """`case "GET", "/turn"` and `path.startswith("/tools/")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.MatchSequence):
            values = [one.value.value for one in node.patterns if _is_constant(one)]
            if set(values) & _METHODS:
                yield from (value for value in values if value not in _METHODS)


def _compared(tree: ast.AST) -> Iterator[str]:
    """Constants and comparisons that are whole paths."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.Assign | ast.keyword | ast.AnnAssign):
            for one in ast.walk(node):
                if isinstance(one, ast.Constant) and isinstance(one.value, str) and _is_path(one.value):
                    yield one.value


def _registered(tree: ast.AST) -> Iterator[str]:
    for call in _calls(tree, {"add_get", "add_post", "add_route"}):
        for argument in call.args:
            if isinstance(argument, ast.Constant) and _is_path(str(argument.value)):
                yield str(argument.value)


def _is_constant(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchValue) and isinstance(pattern.value, ast.Constant)


def _is_path(text: str) -> bool:
    return re.fullmatch(r"/(v1/[a-z_/]+|mcp|tools/?|turn|reply|thought|api/\w+)", text) is not None


def _trees(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def _called(call: ast.Call) -> str | None:
    return getattr(call.func, "id", None) or getattr(call.func, "attr", None)


def _calls(tree: ast.AST, names: set[str]) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) in names)


@cache
def surface() -> dict[str, set[str]]:
    """Kind -> how each thing of it has to be named in the documentation, in backquotes."""
    return {
        "verb": {name for name, _ in commands()},
        "option": {f"{name} {max(one.opts, key=len)}" for name, command in commands() for one in options(command)},
        "field": {f"{model.__name__}.{field}" for model in models() for field in fields(model)},
        "verifier": set(VERIFIERS),
        "verifier parameter": {
            f"{name}.{field}" for name, shape in VERIFIERS.items() for field in fields(_model(shape))
        },
        "metric": set(METRICS),
        "failure": set(get_args(Failure)),
        "finding": set(get_args(Kind)),
        "criterion by code": set(CODE_CRITERIA),
        "cassette key": {name_in_file(name, info) for name, info in Mark.model_fields.items()},
        "sandbox": set(PROVIDERS),
        "import format": set(importers()),
        "public name": set(public_names()),
        "entry point group": set(entry_point_groups()),
        "exit status": {str(int(code)) for code in (*ExitCode, INTERRUPTED, NOBODY_READS)},
        "route": routes(),
        "error type": {kind for kinds in TOOL_STATUSES.values() for kind in kinds},
    }


def public_names() -> list[str]:
    from tests.structure.public_api import names

    return names()


def _model(shape: Any) -> type[BaseModel]:
    assert issubclass(shape, BaseModel)
    return shape
