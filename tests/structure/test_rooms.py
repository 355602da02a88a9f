"""What a room shows of its modules: the lists in its `__init__` agree, and other rooms use little else."""

import ast
import importlib

import pytest

from tests.structure.room_imports import HARNESS, room_imports, rooms

MOST_BELOW = 0.10
"""Share of imports between rooms that name a module below a room. Lower it when the figure has fallen."""


def test_few_imports_go_below_a_room() -> None:
    found = tuple(room_imports())
    below = [one for one in found if one.below]
    listing = "\n".join(f"{one.importer} imports {one.module}" for one in below)
    assert len(below) <= MOST_BELOW * len(found), (
        f"{len(below)} of {len(found)} imports go below a room's __init__; export the names there:\n{listing}"
    )


@pytest.mark.parametrize("room", rooms())
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
