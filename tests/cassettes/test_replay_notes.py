"""What a replay miss tells its reader, and what it does not."""

import json

from harness.cassettes.cassette import Cassette
from harness.cassettes.keys import StateChain, call_key, complete_arguments
from harness.cassettes.player import Missed, Played, Player
from harness.cassettes.redaction import Redactor


def _tea(look):
    return call_key(look, complete_arguments(look, {"q": "tea"}), Redactor({}))


def _answers(record, *prices: int):
    return Cassette(record(*(("look", {"q": "tea"}, json.dumps({"now": price}).encode()) for price in prices)))


def test_a_read_whose_answers_changed_by_themselves_names_where_once_they_are_used_up(look, record) -> None:
    player = Player(_answers(record, 1, 2), chain=StateChain())
    first, second, third = (player.play(_tea(look)) for _ in range(3))
    assert isinstance(first, Played)
    assert isinstance(second, Played)
    assert [b'{"now": 1}', b'{"now": 2}'] == [first.recording.body, second.recording.body]
    assert isinstance(third, Missed)
    assert third.note is not None
    assert "/now" in third.note


def test_a_read_that_never_changed_is_answered_again(look, record) -> None:
    player = Player(_answers(record, 1, 1), chain=StateChain())
    assert all(isinstance(player.play(_tea(look)), Played) for _ in range(4))


def test_a_changing_value_that_is_declared_is_answered_again(look, record) -> None:
    player = Player(_answers(record, 1, 2), chain=StateChain(), volatile={"look": ("/now",)})
    assert all(isinstance(player.play(_tea(look)), Played) for _ in range(4))


def test_a_call_of_which_nothing_was_recorded_has_no_note(look, record) -> None:
    missed = Player(_answers(record, 1), chain=StateChain()).play(
        call_key(look, complete_arguments(look, {"q": "egg"}), Redactor({}))
    )
    assert isinstance(missed, Missed)
    assert missed.note is None
