"""Imports between rooms, and the share that goes below a room's `__init__`: `python -m tests.structure.room_imports`.

A room is a package directly below `harness`. One statement in one file that names one module counts once.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HARNESS = Path(__file__).resolve().parents[2] / "harness"
_NO_MODULES = "template"
"""Folder of files that `harness init` copies: they belong to the user's project."""


@dataclass(frozen=True, kw_only=True)
class RoomImport:
    """A module of `harness` that imports from another room."""

    importer: str
    module: str
    below: bool
    """It names a module of that room, not the room itself."""


def rooms() -> tuple[str, ...]:
    """The names of the rooms."""
    return tuple(sorted(init.parent.name for init in HARNESS.glob("*/__init__.py")))


def room_imports() -> Iterator[RoomImport]:
    """Every import from another room, in order of files."""
    names = set(rooms())
    for path in sorted(HARNESS.rglob("*.py")):
        place = path.relative_to(HARNESS)
        if _NO_MODULES in place.parts:
            continue
        importer = ".".join(("harness", *place.with_suffix("").parts))
        for module in sorted(set(_imported(path))):
            _, room, *inner = module.split(".")
            if room in names and room != place.parts[0]:
                yield RoomImport(importer=importer, module=module, below=bool(inner))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("harness."):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if _is_module(whole) else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("harness."))


def _is_module(name: str) -> bool:
    """Whether the name is a module's that is not a room: `from harness.trace import names` goes below."""
    path = HARNESS.joinpath(*name.split(".")[1:])
    return len(name.split(".")) > 2 and (path.with_suffix(".py").is_file() or (path / "__init__.py").is_file())


def main() -> None:
    found = tuple(room_imports())
    below = [one for one in found if one.below]
    print(f"{len(found)} imports between rooms, {len(below)} below a room's __init__: {len(below) / len(found):.1%}")
    for module, count in Counter(one.module for one in below).most_common():
        print(f"{count:4} {module}")


if __name__ == "__main__":
    main()
