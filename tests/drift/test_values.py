"""Where the values of two answers differ, what counts as the same value, and what of it a finding shows."""

from typing import Any

import pytest

from harness.cassettes.profiles import OperationProfile
from harness.drift.answers import AnswerBaseline, answer_of
from harness.drift.change import Change
from harness.drift.compare import compare
from harness.drift.forms import PathRules
from tests.drift.test_compare import changes, recording


def compared(old: Any, new: Any) -> list[Change]:
    ruled, before = PathRules([]), recording(old)
    baseline = AnswerBaseline([before], OperationProfile(), ruled)
    return list(compare(answer_of(before), answer_of(recording(new)), baseline, ruled).changes)


def shown(old: Any, new: Any) -> tuple[Any, Any]:
    [one] = compared(old, new)
    return one.before, one.after


PLAIN = {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j": 1}


@pytest.mark.parametrize(
    ("length", "kept"), [(200, "b" * 200), (201, f"{'b' * 197}...")], ids=["the longest", "one more"]
)
def test_a_long_text_is_shown_from_its_beginning(length: int, kept: str) -> None:
    assert ({"x": kept}, {}) == shown({"x": "b" * length}, {})


def test_a_change_is_shown_with_the_plain_members_beside_it_eight_at_most() -> None:
    before, after = shown({**PLAIN, "list": [1], "i": 1}, {**PLAIN, "list": [1], "i": 2})
    assert ({"i": 1, **dict(list(PLAIN.items())[:7])}, {"i": 2, **dict(list(PLAIN.items())[:7])}) == (before, after)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ([1] * 66, [1] * 66),
        ([1] * 67, [1, 1, 1, "... 67 in all"]),
        (["b" * 90] * 3, [f"{'b' * 37}..."] * 3),
        (["b" * 40, "c" * 200], ["b" * 40, f"{'c' * 37}..."]),
        ([{"y": "b" * 200}, {}, [], [1]], ["{...}", {}, [], "... 4 in all"]),
        ([[1] * 99, 7], ["[...]", 7]),
        ({"y": "b" * 300, "z": 7}, {"y": f"{'b' * 37}...", "z": 7}),
        ({f"k{n}": "b" * 20 for n in range(9)}, {f"k{n}": "b" * 20 for n in range(8)}),
    ],
)
def test_a_large_value_is_shown_in_part(value: Any, kept: Any) -> None:
    assert {"x": kept} == shown({"x": value}, {})[0]


@pytest.mark.parametrize(("lead", "cut"), [(60, 0), (61, 1), (120, 60)])
def test_of_two_long_texts_the_place_where_they_part_is_shown(lead: int, cut: int) -> None:
    old, new = "b" * lead + "x" * 200, "b" * lead + "y" * 200
    dots = "..." if cut else ""
    texts = [f"{dots}{text[cut:][:200]}" for text in (old, new)]
    assert [len(dots) + 200] * 2 == [len(text) for text in texts]
    kept = [text if len(text) <= 200 else f"{text[:197]}..." for text in texts]
    assert ({"x": kept[0]}, {"x": kept[1]}) == shown({"x": old}, {"x": new})


def test_a_long_text_that_only_continues_is_shown_from_before_its_end() -> None:
    old = "b" * 300
    assert ({"x": f"...{'b' * 60}"}, {"x": f"...{'b' * 60}end"}) == shown({"x": old}, {"x": f"{old}end"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (1.0, 1.0 + 1e-10),
        (1e-10, 2e-10),
        ([{"id": 1, "v": 1}], [{"id": 1, "v": 1.0}]),
        ([], []),
        ([{"id": 1}, {"id": 2}], [{"id": 1.0}, {"id": 2.0}]),
    ],
)
def test_values_that_are_the_same_to_a_reader(old: Any, new: Any) -> None:
    assert [] == changes({"a": old}, {"a": new})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (1.0, 1.00001, ["value.changed a: number -> number ?"]),
        ([1, 2], [1, 3], ["value.changed a[]: number -> number ?"]),
        ([1, 2, 2], [2, 1, 1], ["value.changed a[]: number -> number ?"]),
        ([], [1], ["shape.array_empty a: empty array -> array"]),
        ([[1], [2]], [[2], [1]], ["shape.order a: array -> array ?"]),
        ([{"id": 1, "v": 1}], [{"id": 2, "v": 1}], ["value.changed a[].id: number -> number ?"]),
        (
            [{"id": 1, "v": 1}, {"id": 2, "v": 2}],
            [{"id": 2, "v": 2}, {"id": 3, "v": 3}],
            ["value.changed a: array -> array ?"],
        ),
        (
            [{"id": 1, "v": 1}, {"id": 1, "v": 2}],
            [{"id": 1, "v": 2}, {"id": 1, "v": 1}],
            ["shape.order a: array -> array ?"],
        ),
        ([{"v": 1}, 5], [{"v": 2}, 5], ["value.changed a[].v: number -> number ?"]),
    ],
)
def test_lists_are_compared_by_the_identity_of_their_items_or_by_place(old: Any, new: Any, expected: list[str]) -> None:
    assert expected == changes({"a": old}, {"a": new})


def test_one_example_of_a_path_is_enough_and_all_items_count() -> None:
    old, new = [{"id": n, "v": n} for n in range(3)], [{"id": n, "v": n if n == 0 else 9} for n in range(3)]
    [one] = compared({"a": old}, {"a": new})
    assert ("a[].v", {"v": 1, "id": 1}, {"v": 9, "id": 1}) == (one.path, one.before, one.after)


@pytest.mark.parametrize(
    ("rule", "old", "new", "expected"),
    [
        ({"compare": "approx", "tolerance": 1}, 1, 2, []),
        ({"compare": "approx", "tolerance": 1}, 2, 1, []),
        ({"compare": "approx", "tolerance": 0}, 1, 1.5, ["value.changed a: number -> number"]),
        ({"compare": "set"}, [1, 2], [1, 3], ["value.changed a: array -> array ?"]),
        ({"compare": "set"}, [1, 2], [1], ["value.changed a: array -> array ?"]),
        ({"compare": "set"}, [[1], [2]], [[2], [1]], []),
        ({"compare": "exact"}, [1, 2], [2, 1], ["shape.order a: array -> array"]),
        (
            {"compare": "set", "key": "k"},
            [{"k": 1, "v": 1}, {"k": 2, "v": 1}],
            [{"k": 3, "v": 1}, {"k": 1, "v": 2}],
            ["value.changed a: array -> array ?", "value.changed a[].v: number -> number ?"],
        ),
    ],
)
def test_a_rule_decides_what_is_the_same(rule: dict[str, Any], old: Any, new: Any, expected: list[str]) -> None:
    assert expected == changes({"a": old}, {"a": new}, rules=[{"at": "/a", **rule}])


MOMENTS = [
    ("2026-01-02", "2026-02-03"),
    ("Fri, 02 Jan 2026 10:00:00 GMT", "Sat, 03 Jan 2026 11:00:00 GMT"),
    ("0123456789abcdef", "fedcba9876543210"),
    ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "01BX5ZZKBKACTAV9WEVGEMMVRZ"),
    ("1700000000", "1700000001"),
    (1500000000, 2100000000),
    (1500000000000, 2100000000000),
]


@pytest.mark.parametrize(("old", "new"), MOMENTS)
def test_a_moment_or_an_id_is_known_by_its_form(old: Any, new: Any) -> None:
    assert [] == changes({"a": old}, {"a": new})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (1300000000, 1300000001),
        (2300000000, 2400000000),
        ("0123456789", "9876543210"),
        ("abcdefabcdefabcd", "fedcbafedcbafedc"),
        ("123 ms later", "124 m later"),
        (1.5, 1.6),
    ],
)
def test_other_numbers_and_texts_are_values(old: Any, new: Any) -> None:
    assert 1 == len(changes({"a": old}, {"a": new}))


@pytest.mark.parametrize("name", ["created_at", "createdAt", "request-id", "Request_ID", "etag", "took", "nextCursor"])
def test_a_member_whose_name_says_that_it_is_new_is_no_change(name: str) -> None:
    assert [] == changes({name: "x"}, {name: "y"})
    assert [] == changes({name: {"inner": "x"}}, {name: {"inner": "y"}})
    assert 1 == len(changes({name: {"deep": {"inner": "x"}}}, {name: {"deep": {"inner": "y"}}}))
    assert 1 == len(changes({name: [1]}, {name: [1, 2]}))


def test_a_moment_in_place_of_a_null_or_gone_for_one_is_a_change_whatever_its_name() -> None:
    never, then = {"deleted_at": None}, {"deleted_at": "2026-01-02T03:04:05Z"}
    assert ["value.changed deleted_at: null -> string ?"] == changes(never, then, then)
    assert ["value.changed deleted_at: string -> null ?"] == changes(then, never, never)


@pytest.mark.parametrize("name", ["attribute", "candidate", "stat", "format"])
def test_a_part_of_a_name_is_no_evidence(name: str) -> None:
    assert [f"value.changed {name}: string -> string ?"] == changes({name: "x"}, {name: "y"})


def test_an_answer_of_a_kind_that_was_never_recorded_is_compared_by_itself() -> None:
    ruled, old = PathRules([]), answer_of(recording({"a": {"x": 1}, "b": 1}, 404))
    baseline = AnswerBaseline([recording({"other": 1})], OperationProfile(), ruled)
    found = compare(old, answer_of(recording({"a": {}, "b": 2}, 404)), baseline, ruled).changes
    assert [("schema.removed", "a.x"), ("value.changed", "b")] == [(one.change, one.path) for one in found]
    assert 1 == found[0].finding("t", "t", ()).samples
