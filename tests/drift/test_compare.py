"""What counts as a change between two answers, of which class, and what is noise by nature."""

import json
from typing import Any

import pytest

from harness.cassettes.keys import initial_state
from harness.cassettes.profiles import OperationProfile
from harness.cassettes.recordings import Mark, Recording
from harness.drift.answers import AnswerBaseline, answer_of
from harness.drift.compare import compare
from harness.drift.forms import PathRules
from harness.suite.suites import AnswerRule

TIME, LATER = "2026-01-02T03:04:05Z", "2026-02-02T13:14:15.5Z"
UUIDS = ("0b9c1b9e-4d5f-4a52-9d0e-1f2a3b4c5d6e", "9a8b7c6d-1111-4222-8333-444455556666")
JWTS = ("eyJhbGciOi.eyJzdWIi.c2ln", "eyJhbGciOi.eyJzdWIy.b3RoZXI")


def recording(value: Any, status: int = 200, key: int = 0, **headers: str) -> Recording:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    mark = Mark(
        server="s", tool="t", effect="read", key=f"{key:032x}", state=initial_state("s"), writes=0, occurrence=0
    )
    return Recording(mark=mark, arguments="{}", status=status, body=body, headers=headers)


def changes(old: Any, new: Any, *others: Any, rules: list[dict[str, Any]] | None = None) -> list[str]:
    """`class path: old -> new` of each change, `?` for one that is not sure; `others`: answers to other calls."""
    return _changes(recording(old), recording(new), *others, rules=rules)


def _changes(old: Recording, new: Recording, *others: Any, rules: list[dict[str, Any]] | None = None) -> list[str]:
    ruled = PathRules([AnswerRule.model_validate(rule) for rule in rules or []])
    recordings = [old, *(recording(other, key=number + 1) for number, other in enumerate(others))]
    compared = compare(answer_of(old), answer_of(new), AnswerBaseline(recordings, OperationProfile(), ruled), ruled)
    return [
        f"{one.change} {one.path}: {one.old_kind} -> {one.new_kind}{'' if one.doubt is None else ' ?'}"
        for one in compared.changes
    ]


STRUCTURE = [
    ({"a": 1}, {}, ["schema.removed a: number -> absent"]),
    ({}, {"a": 1}, ["schema.added a: absent -> number"]),
    ({"a": 1}, {"a": "1"}, ["schema.type_changed a: number -> string"]),
    ({"a": True}, {"a": 1}, ["schema.type_changed a: boolean -> number"]),
    ({"a": 1}, {"a": None}, ["schema.became_nullable a: number -> null"]),
    ({"a": None}, {"a": {"b": 1}}, ["schema.added a: null -> object"]),
    ({"a": {"b": 1, "c": 2}}, {}, ["schema.removed a: object -> absent"]),
    ({"a": {"b": 1}}, {"a": [1]}, ["schema.type_changed a: object -> array"]),
    ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}, {}]}, ["schema.optional_removed a[].b: number -> absent in some"]),
    ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{}, {}]}, ["schema.removed a[].b: number -> absent"]),
    ([{"b": 1}], [{"b": 1, "c.d": 2}], ["schema.added []['c.d']: absent -> number"]),
    ({"/srv/a.txt": {"b": 1}}, {"/srv/a.txt": {}}, ["schema.removed *.b: number -> absent"]),
    ({"http://h/1": {"b": 1}}, {"http://h/1": {}}, ["schema.removed *.b: number -> absent"]),
    ({"a": [1]}, {"a": []}, ["shape.array_empty a: array -> empty array"]),
    (
        {"a": '{"b": 1}'},
        {"a": '{"c": 1}'},
        ["schema.removed a.b: number -> absent", "schema.added a.c: absent -> number"],
    ),
    ({"a": '{"b": 1}'}, {"a": "b is 1"}, ["schema.type_changed a: object -> string"]),
    ({"2026-01-01": 1, "2026-01-02": 1}, {"2026-01-02": "1"}, ["schema.type_changed *: number -> string"]),
]


@pytest.mark.parametrize(("old", "new", "expected"), STRUCTURE)
def test_what_a_client_relies_on(old: Any, new: Any, expected: list[str]) -> None:
    assert expected == [one for one in changes(old, new) if not one.endswith("?")]


NOISE = [
    ({"a": TIME}, {"a": LATER}),
    ({"a": UUIDS[0]}, {"a": UUIDS[1]}),
    ({"a": JWTS[0]}, {"a": JWTS[1]}),
    ({"a": 1767323045}, {"a": 1767399999}),
    ({"a": 1767323045123}, {"a": 1767399999001}),
    ({"request_id": "x1"}, {"request_id": "x2"}),
    ({"page": {"nextCursor": "abc"}}, {"page": {"nextCursor": "def"}}),
    ({"updated_at": "yesterday"}, {"updated_at": "today"}),
    ({"a": 0.1 + 0.2}, {"a": 0.3}),
    ({"a": 1}, {"a": 1.0}),
    ({"a": f"made at {TIME} in 12 ms"}, {"a": f"made at {LATER} in 8.5 ms"}),
    ({"a": f"job {UUIDS[0]} is done"}, {"a": f"job {UUIDS[1]} is done"}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
]


@pytest.mark.parametrize(("old", "new"), NOISE)
def test_what_is_new_every_time_is_no_change(old: Any, new: Any) -> None:
    assert [] == changes(old, new)


VALUES = [
    ({"a": 1}, {"a": 2}, ["value.changed a: number -> number ?"]),
    ({"candidate": "x"}, {"candidate": "y"}, ["value.changed candidate: string -> string ?"]),
    ({"a": [1, 2]}, {"a": [2, 1]}, ["shape.order a: array -> array ?"]),
    ({"a": [1, 2]}, {"a": [1, 2, 3]}, ["value.changed a: array -> array ?"]),
    (
        {"a": [{"id": 1, "x": 1}, {"id": 2, "x": 2}]},
        {"a": [{"id": 2, "x": 2}, {"id": 1, "x": 9}]},
        ["shape.order a: array -> array ?", "value.changed a[].x: number -> number ?"],
    ),
    ({"a": TIME}, {"a": "2 January 2026"}, ["value.changed a: string date-time -> string"]),
    ({"a": UUIDS[0]}, {"a": "17"}, ["value.changed a: string uuid -> string"]),
    ({"a": "plain words"}, {"a": "other words"}, ["value.changed a: string -> string ?"]),
    ("a text\nwith lines", "a text\nwith others", ["value.changed : string -> string ?"]),
]


@pytest.mark.parametrize(("old", "new", "expected"), VALUES)
def test_values_are_told_and_not_sure_but_another_format_is(old: Any, new: Any, expected: list[str]) -> None:
    assert expected == changes(old, new)


def test_a_member_that_other_answers_lack_is_optional() -> None:
    assert ["schema.optional_removed a: number -> absent"] == changes({"a": 1, "b": 1}, {"b": 1}, {"b": 2})
    assert [] == changes({"b": 1}, {"a": 1, "b": 1}, {"a": 3, "b": 1})


def test_null_and_another_kind_that_other_answers_have_are_only_values() -> None:
    assert ["value.changed a: number -> null ?"] == changes({"a": 1}, {"a": None}, {"a": None})
    assert ["value.changed a: number -> string ?"] == changes({"a": 1}, {"a": "n"}, {"a": "x"})


def test_a_word_that_is_none_of_a_fixed_list() -> None:
    others = [{"state": word} for word in ("open", "closed") * 12]
    assert ["schema.enum_added state: known word -> another word"] == changes(
        {"state": "open"}, {"state": "paused"}, *others
    )
    assert ["value.changed state: string -> string ?"] == changes({"state": "open"}, {"state": "closed"}, *others)


def test_statuses_and_media_types() -> None:
    def between(old: int, new: int) -> list[str]:
        return _changes(recording({"a": 1}, old), recording({"b": 1}, new))

    assert ["status.success_to_error : status 200 -> status 404"] == between(200, 404)
    assert ["status.code_changed : status 404 -> status 200"] == between(404, 200)
    assert ["status.code_changed : status 200 -> status 201"] == between(200, 201)
    old = recording({"a": 1}, **{"content-type": "application/json; charset=utf-8"})
    new = recording({"a": 1}, **{"content-type": "text/html"})
    assert ["schema.media_type : application/json -> text/html"] == _changes(old, new)
    assert [] == _changes(old, recording({"a": 1}, **{"content-type": "application/json"}))


def test_an_answer_that_is_told_twice_is_one_change() -> None:
    plain, wrapped = "structuredContent.a[].b", "structuredContent.result.a[].b"

    def twice(value: Any, wrapped: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": wrapped}

    old, new = {"a": [{"b": 1}]}, {"a": [{"b": "1"}]}
    assert [f"schema.type_changed {plain}: number -> string"] == changes(twice(old, old), twice(new, new))
    assert [f"schema.type_changed {wrapped}: number -> string"] == changes(
        twice(old, {"result": old}), twice(new, {"result": new})
    )


_TYPED, _TEXT = ["schema.type_changed a.b: number -> string"], ["value.changed a: string -> string"]
RULES: list[tuple[Any, Any, dict[str, Any], list[str]]] = [
    ({"a": 1}, {"a": "x"}, {"at": "/a", "compare": "ignore"}, []),
    ({"a": {"b": 1}}, {"a": {"b": 2}}, {"at": "/a", "compare": "type"}, []),
    ({"a": {"b": 1}}, {"a": {"b": "2"}}, {"at": "/a", "compare": "type"}, _TYPED),
    ({"a": 1}, {"a": 2}, {"at": "", "compare": "exact"}, ["value.changed a: number -> number"]),
    ({"a": 10}, {"a": 11}, {"at": "/a", "compare": "approx", "tolerance": 1}, []),
    ({"a": 10}, {"a": 12}, {"at": "/a", "compare": "approx", "tolerance": 1}, ["value.changed a: number -> number"]),
    ({"a": "v1.2"}, {"a": "v1.3"}, {"at": "/a", "compare": "regex", "regex": r"v\d\.\d"}, []),
    ({"a": "v1.2"}, {"a": "1.3"}, {"at": "/a", "compare": "regex", "regex": r"v\d\.\d"}, _TEXT),
    ({"a": [{"k": 1}, {"k": 2}]}, {"a": [{"k": 2}, {"k": 1}]}, {"at": "/a", "compare": "set", "key": "k"}, []),
    ({"a": [1, 2]}, {"a": [2, 1]}, {"at": "/a", "compare": "set"}, []),
    ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, {"at": "/a/*/b", "compare": "ignore"}, []),
]


@pytest.mark.parametrize(("old", "new", "rule", "expected"), RULES)
def test_rules_say_how_a_place_is_compared(old: Any, new: Any, rule: dict[str, Any], expected: list[str]) -> None:
    assert expected == changes(old, new, rules=[rule])


def test_several_recorded_answers_to_one_read_tell_what_changes_by_itself() -> None:
    first, second = recording({"a": 1, "b": 1}), recording({"a": 2, "b": 1})
    ruled = PathRules([])
    baseline = AnswerBaseline([first, second], OperationProfile(), ruled)
    compared = compare(answer_of(first), answer_of(recording({"a": 3, "b": 2})), baseline, ruled)
    assert ["b"] == [one.path for one in compared.changes]
    assert ("a",) == compared.volatile


HALF_WITHIN_A_TEXT = b'{"a": [1, "{\\"\\\\ud800b\\": 2}"]}'


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe", b"[1,", b"NaN", b'{"a": "\\ud800"}', b'{"a": "{broken}"}', HALF_WITHIN_A_TEXT]
)
def test_no_answer_is_too_odd_to_be_compared(body: bytes) -> None:
    for other in (body, b'{"a": 1}'):
        told = _changes(recording(body), recording(other)) + _changes(recording(other), recording(body))
        assert (body == other) == (told == [])
        assert all(line.encode("utf-8") for line in told)
    assert json.dumps(answer_of(recording(body)).value, ensure_ascii=False).encode("utf-8")


def test_parts_of_what_is_gone_or_new_are_told_once() -> None:
    assert ["schema.removed a: object -> absent"] == changes({"a": {"b": {"c": 1}}, "d": 1}, {"d": 1})
    assert ["schema.added a: absent -> object"] == changes({"d": 1}, {"a": {"b": {"c": 1}}, "d": 1})
    assert ["schema.type_changed a: object -> string"] == changes({"a": {"b": 1}}, {"a": "x"})


def test_an_empty_list_says_nothing_of_the_members_of_its_items() -> None:
    assert [] == [one for one in changes({"a": [{"b": 1}]}, {"a": []}) if "a[]" in one]
    assert ["schema.removed a[].b: number -> absent"] == changes({"a": [{"b": 1, "c": 1}]}, {"a": [{"c": 1}]})


def test_a_member_that_is_null_for_the_first_time_and_a_new_kind_are_both_told() -> None:
    assert [
        "schema.became_nullable a[].b: number -> null",
        "schema.type_changed a[].b: number -> string",
    ] == [one for one in changes({"a": [{"b": 1}]}, {"a": [{"b": None}, {"b": "x"}]}) if one.startswith("schema")]


def test_words_are_a_list_only_if_each_was_seen_again_and_none_has_a_space() -> None:
    often = [{"state": word} for word in ("open", "closed") * 12]
    new = {"state": "paused"}
    assert [] == [one for one in changes(often[0], new, *often, {"state": "once"}) if "enum" in one]
    spaced = [{"state": word} for word in ("is open", "is closed") * 12]
    assert [] == [one for one in changes(spaced[0], new, *spaced) if "enum" in one]
    assert [] == [one for one in changes(often[0], new, *often[:10]) if "enum" in one]  # too few to be a list
    for length, listed in ((40, 1), (41, 0)):
        long = [{"state": letter * length} for letter in "ab" * 12]
        assert listed == sum("enum" in one for one in changes(long[0], new, *long))
