"""The public names of a package, whose modules are imported on first use (PEP 562).

A room's `__init__` lists its public names twice: for the type checker, under `TYPE_CHECKING`, and here by module. A
test compares the lists. Importing a room therefore costs nothing, and a name costs the import of its module only.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # the launcher of a sandbox imports this module, and does without `typing` and `collections`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def lazy_exports(
    package: str, names: Mapping[str, Sequence[str]], *, below: str | None = None
) -> Callable[[str], object]:
    """The module-level `__getattr__` of `package`.

    `names` maps a module to the names that it defines; the modules are below `below`, which defaults to `package`
    itself.
    """
    homes = {name: module for module, defined in names.items() for name in defined}

    def get_attribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{below or package}.{homes[name]}")
        found: object = getattr(module, name)
        setattr(import_module(package), name, found)  # from now on without this function
        return found

    return get_attribute
