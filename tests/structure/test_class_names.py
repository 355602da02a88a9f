"""A class name has one meaning: no two modules define a public class of the same name."""

import ast
from collections import defaultdict

from tests.structure.room_imports import HARNESS

PER_MODULE = {"Options"}
"""Names that say something about their own module only: each command calls the type of its options so."""


def test_no_two_public_classes_share_a_name() -> None:
    modules = defaultdict(list)
    for path in sorted(HARNESS.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in PER_MODULE:
                modules[node.name].append(path.relative_to(HARNESS).as_posix())
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}
