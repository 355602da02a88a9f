"""Which mutants are planted: a random sample of cosmic-ray's, the same for the same seed and the same code."""

import random
import re
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code

_PLANTED = re.compile(
    r"core/(Replace(ComparisonOperator|BinaryOperator|UnaryOperator)_\w+|NumberReplacer|AddNot|Replace(And|Or)With(And|Or)"
    r"|Replace(TrueWithFalse|FalseWithTrue|BreakWithContinue|ContinueWithBreak)|ZeroIterationForLoop)"
)
"""Comparisons, constants, conditions, arithmetic, loops. Neither decorators nor classes of exceptions."""
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


def sample(root: Path, files: list[Path], count: int, seed: str) -> list[Mutant]:
    """`count` places of the files, each with one of the changes that fit it and compile without a warning."""
    places: dict[tuple[str, tuple[int, int], str], list[Mutant]] = defaultdict(list)
    for file in sorted(files):
        for position, mutant in _mutants(root, file):
            places[(mutant.file, position, _family(mutant.operator))].append(mutant)
    chooser = random.Random(seed)
    chosen: list[Mutant] = []
    for place in chooser.sample(sorted(places), len(places)):
        if len(chosen) == count:
            break
        mutant = chooser.choice(places[place])
        if _compiles(mutant.code((root / mutant.file).read_text(encoding="utf-8"))):
            chosen.append(mutant)
    return sorted(chosen, key=lambda mutant: (mutant.file, mutant.line, mutant.operator, mutant.occurrence))


def _compiles(code: str) -> bool:
    """Not, for example, a parameter `+` for `*`, or `is 3`: with which every test would fail."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            compile(code, "mutant", "exec")
        except (SyntaxError, SyntaxWarning):
            return False
    return True


def _mutants(root: Path, file: Path) -> list[tuple[tuple[int, int], Mutant]]:
    tree = get_ast_from_path(file)
    nodes = list(ast_nodes(tree))
    found = []
    for name in sorted(cosmic_ray.plugins.operator_names()):
        if not _PLANTED.fullmatch(name) or _TYPES.match(name):
            continue
        operator = cosmic_ray.plugins.get_operator(name)()
        starts = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, start in enumerate(starts):
            mutant = Mutant(file.relative_to(root).as_posix(), start[0], name, occurrence)
            found.append((start, mutant))
    return found


def _family(operator: str) -> str:
    return operator.partition("_")[0]
