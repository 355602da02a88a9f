"""What a profile must have seen before it counts, and how paths and objects are read."""

from datetime import date
from typing import Any

import pytest

from harness.cassettes.profiles import (
    OperationProfile,
    PathProfile,
    Volatility,
    found_at,
    lies_below,
    member,
    parts_of,
    pointer_to,
)
from harness.drift.answers import AnswerBaseline, answer_of, unlike
from harness.drift.forms import UNKNOWN, Forms, PathRules, declared_forms, forms_seen
from tests.drift.test_compare import recording

DAY, NEXT = date(2026, 3, 1), date(2026, 3, 2)


def noise(**fields: int) -> PathProfile:
    return PathProfile(volatile=Volatility(**fields))


def test_a_value_is_noise_after_one_unequal_session_or_five_changes_back_and_forth() -> None:
    paths = {
        "session": noise(sittings=1),
        "move": noise(moves=1),
        "five": noise(changes=5),
        "four": noise(changes=4),
        "none": noise(),
        "steady": PathProfile(),
    }
    assert ["session", "move", "five"] == list(OperationProfile(paths=paths).volatile_paths())


@pytest.mark.parametrize(
    ("samples", "days", "accepted", "enough"),
    [
        (3, (DAY, NEXT), None, True),
        (2, (DAY, NEXT), None, False),
        (3, (DAY,), None, False),
        (9, (DAY,), None, False),
        (0, (), DAY, True),
    ],
)
def test_three_samples_on_two_days_or_a_person_settle_an_operation(
    samples: int, days: tuple[date, ...], accepted: date | None, *, enough: bool
) -> None:
    known = OperationProfile(samples=samples, days=days, accepted=accepted)
    fleeting = {"a": PathProfile(fleeting=1), "b": PathProfile()}
    shaped = OperationProfile(shaped_samples=samples, shaped_days=days, accepted=accepted, paths=fleeting)
    assert (enough, accepted is not None) == (known.is_settled, known.knows_shape)
    assert (["a"] if enough else []) == list(shaped.fleeting_paths())


@pytest.mark.parametrize(
    ("names", "path", "pointer"),
    [
        ((), "", ""),
        (("a", "b"), "a.b", "/a/b"),
        (("a b",), "['a b']", "/a b"),
        (("it's",), "['it\\'s']", "/it's"),
        (("a\\b",), "['a\\\\b']", "/a\\b"),
        (("a/b", "c~d"), "['a/b']['c~d']", "/a~1b/c~0d"),
        (("*", "a"), "*.a", "/*/a"),
        (("1",), "['1']", "/1"),
        (("$ref", "@id", "a-1"), "$ref.@id.a-1", "/$ref/@id/a-1"),
    ],
)
def test_a_path_names_its_members_and_becomes_a_pointer(names: tuple[str, ...], path: str, pointer: str) -> None:
    made = ""
    for name in names:
        made = member(made, name)
    assert (path, list(names), pointer) == (made, parts_of(path), pointer_to(path))


def test_items_of_lists_are_any_item() -> None:
    assert ["items", "[]", "price"] == parts_of("items[].price")
    assert "/items/*/price" == pointer_to("items[].price")
    value = {"items": [{"price": 1}, {}, {"price": 2}], "map": {"x": {"n": 3}, "y": {"n": 4}}, "*": 5}
    assert [(1, {"price": 1}), (2, {"price": 2})] == list(found_at(value, "items[].price"))
    assert [3, 4] == [found for found, _ in found_at(value, "map.*.n")]
    assert [5] == [found for found, _ in found_at(value, "*")]
    assert [(value, None)] == list(found_at(value, ""))
    assert [] == list(found_at(value, "items.price"))


@pytest.mark.parametrize(
    ("path", "above", "below"),
    [("a.b", "a", True), ("a[]", "a", True), ("a", "a", False), ("ab", "a", False), ("a", "", True), ("", "", False)],
)
def test_a_part_of_a_value_lies_below_it(path: str, above: str, *, below: bool) -> None:
    assert below == lies_below(path, above)


def test_the_paths_of_a_shape_tell_maps_from_records() -> None:
    seen = forms_seen(["", "a", "a.*", "a.*.x", "b[]", "b[].y", "*"])
    assert frozenset({"a", ""}) == seen.maps
    assert frozenset({"a.*", "b[]"}) == seen.records


@pytest.mark.parametrize(
    ("schema", "maps", "records"),
    [
        ({"type": "object", "properties": {"a": {"type": "object", "additionalProperties": True}}}, set(), {""}),
        ({"type": "object", "additionalProperties": {"properties": {"x": {}}}}, {""}, {"*"}),
        ({"additionalProperties": True}, set(), set()),
        ({"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}}, {""}, set()),
        ({"type": "object", "additionalProperties": False}, set(), set()),
        ({"type": "object", "properties": {}}, set(), set()),
        ({"type": "object", "patternProperties": {"^x": {"properties": {"y": {}}}}}, {""}, {"*"}),
        ({"type": "array", "items": {"properties": {"x": {}}}}, set(), {"[]"}),
        ({"properties": {"a": True}}, set(), {""}),
        ({"anyOf": [{"properties": {"x": {}}}, {"type": "object", "additionalProperties": {}}]}, set(), {""}),
    ],
)
def test_a_schema_declares_which_objects_are_maps(schema: Any, maps: set[str], records: set[str]) -> None:
    found = declared_forms(schema)
    assert (maps, records) == (set(found.maps), set(found.records))


def test_what_is_known_overrules_the_keys_and_the_stronger_word_counts() -> None:
    named, numbered = [{"a": 1, "b": 2}], [{"1": 1, "2": 2}]
    assert [False, True] == [UNKNOWN.are_maps("x", objects) for objects in (named, numbered)]
    assert not UNKNOWN.are_maps("x", [])
    strong, weak = Forms(maps=frozenset({"m"}), records=frozenset({"r"})), Forms(maps=frozenset({"r", "x"}))
    assert strong.are_maps("m", named)
    assert not strong.are_maps("r", numbered)
    both = strong.over(weak)
    assert (frozenset({"m", "x"}), frozenset({"r"})) == (both.maps, both.records)


@pytest.mark.parametrize(
    ("samples", "is_map"),
    [
        ([{f"k{n}a": 1, f"k{n}b": 2, f"k{n}c": 3} for n in range(3)], True),  # nine keys, none is shared
        ([{f"k{n}a": 1, f"k{n}b": 2} for n in range(3)], False),  # six keys are too few
        ([{f"k{n}a": 1, f"k{n}b": 2, f"k{n}c": 3, f"k{n}d": 4} for n in range(2)], False),  # two samples
        ([{f"k{n}a": 1, f"k{n}b": "2", f"k{n}c": 3} for n in range(3)], False),  # values of two kinds
        ([{f"k{n}a": 1, f"k{n}b": None, f"k{n}c": 3} for n in range(3)], True),
        ([{"same": 1, f"k{n}a": 1, f"k{n}b": 2, f"k{n}c": 3} for n in range(3)], True),  # a quarter is shared
        ([{"same": 1, f"k{n}a": 1, f"k{n}b": 2} for n in range(4)], False),  # a third is shared
        # optional fields: each leaves out four of twelve names
        ([dict.fromkeys(names, 1) for names in ("abcdefgh", "efghijkl", "abcdijkl")], False),
    ],
)
def test_keys_that_vary_between_samples_are_data(samples: list[Any], *, is_map: bool) -> None:
    assert is_map == UNKNOWN.are_maps("x", samples)


def test_what_a_schema_declares_holds_for_successes_and_for_no_error() -> None:
    declared = Forms(maps=frozenset({"prices"}))
    baseline = AnswerBaseline([], OperationProfile(), PathRules([]), declared)
    named = [{"egg": 1}]
    good, bad = answer_of(recording({})), answer_of(recording({}, 500))
    assert [True, False] == [baseline.declared_forms(one).are_maps("prices", named) for one in (good, bad)]


def test_two_answers_of_null_are_the_same_and_null_differs_from_false() -> None:
    assert () == unlike(None, None, PathRules([]))
    assert [("", None, False)] == [(one.path, one.old, one.new) for one in unlike(None, False, PathRules([]))]
