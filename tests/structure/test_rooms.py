"""What a room shows of its modules: the two lists in its `__init__` agree."""

import ast
import importlib
from pathlib import Path

import pytest

HARNESS = Path(__file__).resolve().parents[2] / "harness"
ROOMS = sorted(init.parent.name for init in HARNESS.glob("*/__init__.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_shows_the_same_to_the_type_checker_and_at_run_time(room: str) -> None:
    typed, at_run_time = shown(room)
    assert typed == at_run_time
    package = importlib.import_module(f"harness.{room}")
    for name, module in typed.items():
        assert getattr(package, name) is getattr(importlib.import_module(_home(room, module)), name)


def test_what_a_room_does_not_show_is_no_attribute_of_it() -> None:
    room = importlib.import_module("harness.trace")
    with pytest.raises(AttributeError, match="no attribute 'Trajectoy'"):
        room.Trajectoy  # noqa: B018 - the access itself is what fails


def _home(room: str, module: str) -> str:
    """`harness.api` lists rooms, a room lists its modules."""
    return f"harness.{module}" if room == "api" else f"harness.{room}.{module}"


def shown(room: str) -> tuple[dict[str, str], dict[str, str]]:
    """Name -> module below the room, as listed under TYPE_CHECKING and as given to `lazy_exports`."""
    typed: dict[str, str] = {}
    at_run_time: dict[str, str] = {}
    for node in ast.parse((HARNESS / room / "__init__.py").read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.If):
            continue
        for line in node.body:
            assert isinstance(line, ast.ImportFrom)
            assert line.module is not None
            typed |= dict.fromkeys([a.name for a in line.names], line.module.removeprefix(_home(room, "")))
        for line in node.orelse:
            assert isinstance(line, ast.Assign)
            assert isinstance(line.value, ast.Call)
            for module, names in ast.literal_eval(line.value.args[1]).items():
                at_run_time |= dict.fromkeys(names, module)
    return typed, at_run_time
