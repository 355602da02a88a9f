"""Which mutants are planted: a sample of cosmic-ray's, the same for the same seed and the same code around them."""

import ast
import hashlib
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code

_PLANTED = re.compile(
    r"core/(Replace(ComparisonOperator|BinaryOperator|UnaryOperator)_\w+|NumberReplacer|AddNot|Replace(And|Or)With(And|Or)"
    r"|Replace(TrueWithFalse|FalseWithTrue|BreakWithContinue|ContinueWithBreak)|ZeroIterationForLoop)"
)
"""Comparisons, constants, conditions, arithmetic, loops. Neither decorators nor classes of exceptions."""
_PARAMETERS = frozenset({"parameters", "param"})
"""Nodes of a syntax tree whose operators are none: the star among parameters is no product."""
_TYPES = re.compile(r"core/ReplaceBinaryOperator_BitOr_")
"""Mostly the bar of a union type: such a mutant does not even load, and being noticed means nothing."""


@dataclass(frozen=True)
class Mutant:
    """One changed place of one file."""

    file: str
    """Relative to the repository."""
    line: int
    operator: str
    occurrence: int

    def code(self, original: str) -> str:
        """The file's text with the change."""
        operator = cosmic_ray.plugins.get_operator(self.operator)()
        changed: str | None = mutate_code(original, operator, self.occurrence)
        assert changed is not None
        return changed

    def words(self, original: str) -> tuple[str, str]:
        """The first line that differs: as it is, and as it is changed."""
        pairs = zip(original.splitlines(), self.code(original).splitlines(), strict=False)
        before, after = next((one, other) for one, other in pairs if one != other)
        return before.strip(), after.strip()


@dataclass(frozen=True, order=True)
class _Place:
    """Where a mutant is planted, by what is written there: the same wherever it stands in its module."""

    file: str
    function: str
    """Qualified, such as `Folder.commit`; empty at the level of the module."""
    line: str
    """The text of the line, without its indent."""
    column: int
    """Within that text."""
    repetition: int
    """Which of the lines of the function that have the same text."""
    family: str
    """Of operators: what is changed, such as a comparison or a number."""


def sample(root: Path, files: list[Path], count: int, seed: str) -> list[Mutant]:
    """`count` places of the files, each with one of the changes that fit it and compile without a warning.

    Places and changes are ranked by a hash of the seed and of what is written there. Code that changes elsewhere leaves
    them where they are: a new place takes part only where its hash is lower than that of the last one drawn.
    """
    places: dict[_Place, list[Mutant]] = defaultdict(list)
    for file in files:
        for place, mutant in _mutants(root, file):
            places[place].append(mutant)
    chosen: list[Mutant] = []
    for place in sorted(places, key=lambda place: _rank(seed, place)):
        if len(chosen) == count:
            break
        mutant = min(enumerate(places[place]), key=lambda one: _rank(seed, place, one[1].operator, one[0]))[1]
        if _compiles(mutant.code((root / mutant.file).read_text(encoding="utf-8"))):
            chosen.append(mutant)
    return sorted(chosen, key=lambda mutant: (mutant.file, mutant.line, mutant.operator, mutant.occurrence))


def _rank(seed: str, place: _Place, *change: object) -> bytes:
    return hashlib.sha256(repr((seed, *astuple(place), *change)).encode()).digest()


def _compiles(code: str) -> bool:
    """Not, for example, a parameter `+` for `*`, or `is 3`: with which every test would fail."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            compile(code, "mutant", "exec")
        except (SyntaxError, SyntaxWarning):
            return False
    return True


def _mutants(root: Path, file: Path) -> Iterator[tuple[_Place, Mutant]]:
    tree = get_ast_from_path(file)
    nodes = [(node, _is_meaningless(node)) for node in ast_nodes(tree)]
    name = file.relative_to(root).as_posix()
    lines = _Lines(file.read_text(encoding="utf-8"))
    for operator_name in sorted(cosmic_ray.plugins.operator_names()):
        if not _PLANTED.fullmatch(operator_name) or _TYPES.match(operator_name):
            continue
        operator = cosmic_ray.plugins.get_operator(operator_name)()
        starts = [(start, left_out) for node, left_out in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, ((line, column), left_out) in enumerate(starts):
            if left_out:
                continue
            place = _Place(name, *lines.described(line, column), operator_name.partition("_")[0])
            yield place, Mutant(name, line, operator_name, occurrence)


def _is_meaningless(node: Any) -> bool:
    """Also everything that a decorator is told: that a class is frozen, for example, is for mypy."""
    if node.type == "operator" and node.parent is not None and node.parent.type in _PARAMETERS:
        return True
    while node is not None and node.type != "decorator":
        node = node.parent
    return node is not None


class _Lines:
    """The lines of a module by what does not change where other lines are added."""

    def __init__(self, source: str) -> None:
        self._lines = source.splitlines()
        self._functions = [""] * (len(self._lines) + 1)
        self._name(ast.parse(source), "")
        counted: Counter[tuple[str, str]] = Counter()
        self._repetitions = []
        for number, text in enumerate(self._lines, 1):
            one = (self._functions[number], text.strip())
            self._repetitions.append(counted[one])
            counted[one] += 1

    def described(self, line: int, column: int) -> tuple[str, str, int, int]:
        text = self._lines[line - 1]
        indent = len(text) - len(text.lstrip())
        return self._functions[line], text.strip(), column - indent, self._repetitions[line - 1]

    def _name(self, node: ast.AST, outer: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = outer
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{outer}.{child.name}".removeprefix(".")
                span = range(child.lineno, (child.end_lineno or child.lineno) + 1)
                self._functions[span.start : span.stop] = [name] * len(span)
            self._name(child, name)
