"""The sample of mutants that `make mutate` plants stays the same where code changes elsewhere."""

from pathlib import Path

from qa.mutation.planting import sample

MODULE = """
LIMIT = 3


class Counter:
    def add(self, number: int) -> int:
        if number > LIMIT and number < 100:
            return number + 1
        return number * 2


def total(numbers: list[int]) -> int:
    found = 0
    for number in numbers:
        if number == 0:
            continue
        found += number - 1
    return found
"""
ABOVE = """
def above(text: str) -> bool:
    return len(text) > 7 or not text
"""


def drawn(root: Path, code: str, count: int, seed: str = "seed") -> set[tuple[str, str]]:
    """The changes of the sample: each the line before and after."""
    file = root / "module.py"
    file.write_text(code)
    return {mutant.words(code) for mutant in sample(root, [file], count, seed)}


def test_the_same_mutants_are_drawn_where_code_is_added_above_them(tmp_path: Path) -> None:
    everything = drawn(tmp_path, MODULE, 100)
    of_both = drawn(tmp_path, ABOVE + MODULE, 100)

    assert len(everything) > 8
    assert everything < of_both
    assert drawn(tmp_path, ABOVE, 100) == of_both - everything


def test_an_added_place_takes_only_the_last_seats_of_a_sample(tmp_path: Path) -> None:
    for count in range(1, 9):
        beside = drawn(tmp_path, ABOVE + MODULE, count)
        added = beside - drawn(tmp_path, MODULE, 100)
        kept = drawn(tmp_path, MODULE, count - len(added)) if len(added) < count else set()
        assert beside - added == kept


def test_a_changed_line_draws_no_other_mutant_of_its_function(tmp_path: Path) -> None:
    changed = MODULE.replace("found = 0", "found = 40")

    before = {words for words in drawn(tmp_path, MODULE, 100) if words[0] != "found = 0"}
    after = {words for words in drawn(tmp_path, changed, 100) if words[0] != "found = 40"}

    assert before == after


def test_another_seed_draws_another_sample_and_a_larger_count_the_smaller_one_and_more(tmp_path: Path) -> None:
    assert len({frozenset(drawn(tmp_path, MODULE, 4, seed)) for seed in ("a", "b", "c", "d")}) > 1
    assert drawn(tmp_path, MODULE, 3) < drawn(tmp_path, MODULE, 7)
