"""Which recordings a replay miss names, in which order, and what it says of each."""

from typing import Any

import pytest

from harness.cassettes.cassette import Cassette
from harness.cassettes.keys import call_key
from harness.cassettes.player import Missed, Player
from harness.cassettes.redaction import Redactor
from harness.values import JsonObject


@pytest.fixture
def differences(look, record):
    """Of a call with `arguments`: the arguments of the nearest recorded ones, each with its difference."""

    def missed(arguments: JsonObject, *recorded: JsonObject) -> list[tuple[Any, str]]:
        player = Player(Cassette(record(*(("look", one, b"{}") for one in recorded))))
        answer = player.play(call_key(look, arguments, Redactor({})))
        assert isinstance(answer, Missed)
        return [(item.arguments, item.difference) for item in answer.nearest]

    return missed


def test_at_most_three_are_named_those_with_the_fewest_differences_first(differences) -> None:
    wanted = {"a": 1, "b": 1, "c": 1, "limit": 5}
    unlike = [{**wanted, "a": 2, "b": 2, "c": 2}, {**wanted, "a": 3}, {**wanted, "a": 2, "b": 2}, {**wanted, "a": 2}]
    assert [{**wanted, "a": 2}, {**wanted, "a": 3}, {**wanted, "a": 2, "b": 2}] == [
        arguments for arguments, _ in differences(wanted, *unlike)
    ]


@pytest.mark.parametrize(
    ("here", "recorded", "difference"),
    [
        (1, "1", '$.q: 1 here, "1" in the recording'),
        (True, 1, "$.q: true here, 1 in the recording"),
        (0, False, "$.q: 0 here, false in the recording"),
        ([1, 2], [1], "$.q: 2 items here, 1 in the recording"),
        ([1, 2], [1, 3, 4], "$.q[1]: 2 here, 3 in the recording"),
        ({"x": 1}, {"y": 1}, "$.q.x: 1 here, absent in the recording"),
        ({}, {"y": 1}, "$.q.y: absent here, 1 in the recording"),
        ('{"x": 1}', '{"x": 2}', "$.q, as JSON: $.x: 1 here, 2 in the recording"),
        ("[1]", "[2]", "$.q, as JSON: $[0]: 1 here, 2 in the recording"),
        ('{"x": 1}', "{x", '$.q: "{\\"x\\": 1}" here, "{x" in the recording'),
        ('{"x":1}', '{"x": 1}', '$.q: "{\\"x\\":1}" here, "{\\"x\\": 1}" in the recording'),
        ("12", "13", '$.q: "12" here, "13" in the recording'),
        ("b" * 41 + "x", "b" * 41 + "y", f'$.q: "{"b" * 41}x" here, "{"b" * 41}y" in the recording'),
    ],
)
def test_a_difference_is_a_path_and_both_values(differences, here: Any, recorded: Any, difference: str) -> None:
    assert [difference] == [said for _, said in differences({"q": here, "limit": 5}, {"q": recorded})]


@pytest.mark.parametrize(("length", "whole"), [(1000, True), (1001, False)])
@pytest.mark.parametrize("longer", ["here", "recorded"])
def test_of_long_texts_the_difference_begins_forty_characters_before_it(
    differences, length: int, whole: bool, longer: str
) -> None:
    texts = {"here": "b" * 60 + "x", "recorded": "b" * 60 + "y"}
    texts[longer] = texts[longer].ljust(length, "z")
    [(_, said)] = differences({"q": texts["here"], "limit": 5}, {"q": texts["recorded"]})
    assert whole == said.startswith('$.q: "bbb')
    assert whole != said.startswith(f'$.q, from character 20: "{"b" * 40}{texts["here"][60]}')


def test_a_text_that_only_continues_differs_from_its_end(differences) -> None:
    [(_, said)] = differences({"q": "b" * 2000, "limit": 5}, {"q": "b" * 2000 + "end"})
    assert f'$.q, from character 1960: "{"b" * 40}" here, "{"b" * 40}end" in the recording' == said


def test_a_long_value_is_cut_to_a_thousand_characters(differences) -> None:
    [(_, said)] = differences({"q": 1, "limit": 5}, {"q": "b" * 999})
    assert f'$.q: 1 here, "{"b" * 996}... in the recording' == said


def test_the_call_itself_is_named_although_500_others_were_recorded_before_it(look, add, record) -> None:
    many = [("look", {"q": f"{number:03}"}, b"{}") for number in range(500)]
    player = Player(Cassette(record(*many, ("look", {"q": "zzz"}, b"{}"), ("add", {}, b"{}"))))
    player.play(call_key(add, {"item": "ham"}, Redactor({})))
    missed = player.play(call_key(look, {"q": "zzz", "limit": 5}, Redactor({})))
    assert isinstance(missed, Missed)
    assert "the same arguments, but after other writes" == missed.nearest[0].difference


def test_a_tool_without_a_recording_has_no_nearest(look, record) -> None:
    missed = Player(Cassette(record(("add", {}, b"{}")))).play(call_key(look, {}, Redactor({})))
    assert isinstance(missed, Missed)
    assert () == missed.nearest
