"""A good trial perturbed in one way at a time: which metrics move, which way, and that no other does."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from string import ascii_lowercase

from layout import table

from tests.scoring.perturbations import GOOD_VALUES, TABLE, Told, expected, values

Value = float | None


def perturbations(_: Path) -> None:
    """A row a metric, a column a perturbation; `only these`: no metric moved that should not, each to its value."""
    good = values(Told())
    found = {name: values(told) for name, (told, _) in TABLE.items()}
    letters = dict(zip(TABLE, ascii_lowercase, strict=False))
    rows = [[metric, *(_move(good[metric], moved[metric]) for moved in found.values())] for metric in good]
    right = ["yes" if found[name] == expected(told, moved) else "NO" for name, (told, moved) in TABLE.items()]
    table(
        "Perturbations of a good trial (+ rises, - falls, ? not known any more, k now known)",
        ["metric", *letters.values()],
        rows,
    )
    for line in batched([f"{letter}: {name}" for name, letter in letters.items()], 4):
        print("  " + "; ".join(line))
    print(f"  just these metrics moved, each to the value that its formula gives: {right.count('yes')}/{len(right)}")
    print(f"  the good trial has the best value of each metric: {'yes' if good == GOOD_VALUES else 'NO'}")
    print("  the good trial is checked by its calls and its answer: where a check fails, success falls and nothing is")
    print("  known of its efficiency; a plan is taken away where the calls would make it a plan not kept to")


def batched(names: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    """Lines of at most so many."""
    return (names[start : start + most] for start in range(0, len(names), most))


def _move(before: Value, after: Value) -> str:
    if before == after:
        return "."
    if after is None:
        return "?"
    if before is None:
        return "k"
    return "+" if after > before else "-"
