"""A cassette that is recorded again: the agent gets the cassette's ids and times, the service gets those of today."""

import json
from typing import Any

import pytest

from harness.cassette import Normalisation, NormalisedAnswer, StateChain, TrialRecording
from harness.cassette.cassette import Cassette
from harness.cassette.journal import Journal
from harness.cassette.keys import call_key, complete_arguments
from harness.cassette.recording import Recording
from harness.cassette.redaction import Redactor

OLD, NEW = "order-8f3a1c90", "order-77be20d4"


@pytest.fixture
def given(look, tmp_path):
    """The answer that the agent gets to `look` for tea, today's being `today`, on a cassette of `recordings`."""

    def call(
        recordings: list[Recording], today: Any, *, refresh: bool = False, status: int = 200
    ) -> tuple[NormalisedAnswer, Normalisation]:
        normalisation = Normalisation(cassette=Cassette(recordings), declared={}, refresh=refresh)
        key = call_key(look, complete_arguments(look, {"q": "tea"}), Redactor({}))
        journal = Journal(tmp_path, suite="s", case="c", redactor=Redactor({}))
        try:
            position = TrialRecording(journal=journal, chain=StateChain()).position(key)
        finally:
            journal.close()
        body = json.dumps(today).encode()
        return normalisation.given(position, status, body, body), normalisation

    return call


def tea(body: Any, record) -> list[Recording]:
    return record(("look", {"q": "tea"}, json.dumps(body).encode()))


def test_an_answer_that_differs_in_ids_alone_is_given_as_it_was_recorded(given, record) -> None:
    answer, normalisation = given(tea({"id": OLD, "price": 3}, record), {"id": NEW, "price": 3})
    assert {"id": OLD, "price": 3} == json.loads(answer.body)
    assert answer.held is not None
    assert 1 == normalisation.levelled
    assert NEW == normalisation.sent(OLD)
    assert {"order_id": NEW} == json.loads(normalisation.sent_body(json.dumps({"order_id": OLD}).encode()))
    assert f"/orders/{NEW}/pay" == normalisation.sent_text(f"/orders/{OLD}/pay")
    assert normalisation.knows(OLD)
    assert not normalisation.knows(NEW)


def test_an_answer_that_is_the_recorded_one_is_given_unchanged_and_teaches_nothing(given, record) -> None:
    body = {"id": OLD, "price": 3}
    answer, normalisation = given(tea(body, record), body)
    assert (json.dumps(body).encode(), None) == (answer.body, answer.held)
    assert 0 == normalisation.levelled
    assert OLD == normalisation.sent(OLD)


def test_a_changed_answer_stays_as_recorded_and_today_is_stored_in_the_cassettes_ids(given, record) -> None:
    answer, normalisation = given(tea({"id": OLD, "price": 3}, record), {"id": NEW, "price": 4})
    assert {"id": OLD, "price": 3} == json.loads(answer.body)
    assert {"id": OLD, "price": 4} == json.loads(answer.today)
    assert answer.held is None
    assert 0 == normalisation.levelled


def test_a_changed_answer_is_given_where_the_cassette_is_refreshed(given, record) -> None:
    answer, _ = given(tea({"id": OLD, "price": 3}, record), {"id": NEW, "price": 4}, refresh=True)
    assert {"id": OLD, "price": 4} == json.loads(answer.body)
    assert answer.body == answer.today


def test_an_answer_that_differs_in_ids_alone_is_given_as_recorded_where_the_cassette_is_refreshed(
    given, record
) -> None:
    answer, normalisation = given(tea({"id": OLD, "price": 3}, record), {"id": NEW, "price": 3}, refresh=True)
    assert {"id": OLD, "price": 3} == json.loads(answer.body)
    assert 1 == normalisation.levelled


def test_another_status_is_a_change_whatever_the_ids(given, record) -> None:
    answer, normalisation = given(tea({"id": OLD}, record), {"id": NEW}, status=404)
    assert (200, {"id": OLD}) == (answer.status, json.loads(answer.body))
    assert answer.held is None
    assert 0 == normalisation.levelled


def test_a_call_that_the_cassette_does_not_have_is_answered_by_today(given, record) -> None:
    answer, normalisation = given(record(("look", {"q": "egg"}, b"{}")), {"id": NEW})
    assert ({"id": NEW}, None) == (json.loads(answer.body), answer.held)
    assert NEW == normalisation.sent(NEW)


def test_short_texts_are_no_ids_and_short_numbers_are(given, record) -> None:
    _, normalisation = given(tea({"id": "a1", "order_id": 7, "note": ""}, record), {"id": "b2", "order_id": 9})
    assert "a1" == normalisation.sent("a1")
    assert {"order_id": 9} == normalisation.sent({"order_id": 7})
    assert {"quantity": 7} == normalisation.sent({"quantity": 7})


@pytest.mark.parametrize(
    ("kind", "status", "failed"), [("tool", 500, False), ("model", 500, True), ("tool", 503, True)]
)
def test_a_recorded_transient_error_is_not_held(given, record, kind: str, status: int, failed: bool) -> None:
    (old,) = tea({"id": OLD}, record)
    old = old.model_copy(update={"status": status, "mark": old.mark.model_copy(update={"kind": kind})})
    answer, _ = given([old], {"id": NEW}, status=status)
    assert failed == (json.loads(answer.body) == {"id": NEW})
