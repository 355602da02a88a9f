"""A cassette that is recorded again: the agent gets the cassette's ids and times, the service gets those of today."""

import json
from typing import Any

import pytest

from harness.cassettes.bindings import IdentityKinds, identity_kinds
from harness.cassettes.cassette import Cassette
from harness.cassettes.journals import TrialJournal
from harness.cassettes.keys import StateChain, call_key, complete_arguments
from harness.cassettes.normalisation import Normalisation, NormalisedAnswer
from harness.cassettes.recordings import Recording
from harness.cassettes.redaction import Redactor
from harness.cassettes.trial_recording import TrialRecording

OLD, NEW = "order-8f3a1c90", "order-77be20d4"
TODAY = {"id": NEW, "number_id": 502, "created_at": "2026-11-23T10:00:01Z"}


@pytest.fixture
def given(look, tmp_path):
    """The answer that the agent gets to `look` for tea, today's being `today`, on a cassette of `recordings`."""

    def call(
        recordings: list[Recording],
        today: Any,
        *,
        refresh: bool = False,
        status: int = 200,
        kinds: frozenset[str] = frozenset(),
    ) -> tuple[NormalisedAnswer, Normalisation]:
        normalisation = Normalisation(
            cassette=Cassette(recordings), declared={}, refresh=refresh, kinds=IdentityKinds(named=kinds)
        )
        key = call_key(look, complete_arguments(look, {"q": "tea"}), Redactor({}))
        journal = TrialJournal(tmp_path, suite="s", case="c", redactor=Redactor({}))
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


@pytest.mark.parametrize(
    "layout",
    [{}, {"separators": (",", ":")}, {"indent": 2}, {"indent": 4}],
    ids=["plain", "compact", "indented by 2", "indented by 4"],
)
def test_ids_and_numbers_inside_of_json_texts_are_translated(given, record, layout: dict[str, Any]) -> None:
    """As MCP servers answer."""

    def said(**note: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": json.dumps(note, **layout)}], "isError": False}

    old = said(id=OLD, number_id=501, created_at="2026-11-22T10:00:00Z", text="wet")
    answer, normalisation = given(tea(old, record), said(**TODAY, text="wet"))
    assert old == json.loads(answer.body)
    assert answer.held is not None
    assert {"note_id": NEW, "number_id": 502} == normalisation.sent({"note_id": OLD, "number_id": 501})
    other = json.dumps(said(**TODAY, text="dry")).encode()
    assert said(id=OLD, number_id=501, created_at="2026-11-22T10:00:00Z", text="dry") == json.loads(
        normalisation.normalised(other)
    )


def test_a_change_inside_of_a_json_text_is_a_change_of_the_service(given, record) -> None:
    answer, normalisation = given(
        tea({"text": json.dumps({"id": OLD, "price": 3})}, record), {"text": json.dumps({"id": NEW, "price": 4})}
    )
    assert (None, 0) == (answer.held, normalisation.levelled)
    assert {"id": OLD, "price": 4} == json.loads(json.loads(answer.today)["text"])
    assert NEW == normalisation.sent(OLD)


def test_another_layout_of_a_json_text_is_a_change_of_the_service(given, record) -> None:
    answer, normalisation = given(tea({"text": '{"a": 1}'}, record), {"text": '{"a":1}'})
    assert (None, 0) == (answer.held, normalisation.levelled)


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


@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_of_another_status_binds_nothing(given, record, status: int) -> None:
    recordings = [one.model_copy(update={"status": 604 - status}) for one in tea({"id": OLD}, record)]
    answer, normalisation = given(recordings, {"id": NEW}, status=status)
    assert (604 - status, None, 0) == (answer.status, answer.held, normalisation.levelled)
    assert not normalisation.knows(OLD)


@pytest.mark.parametrize(
    ("recorded", "today"),
    [
        ({"created_at": 1}, {"created_at": 2}),
        ({"ETag": "q"}, {"ETag": "r"}),
        ({"orderId": "aaaa"}, {"orderId": "bbbb"}),
        ({"order-id": 7}, {"order-id": 8.5}),
        ({"uuid": "aaaa"}, {"uuid": "bbbb"}),
        ({"id": True}, {"id": False}),
        ({"note": "2026-01-02"}, {"note": "2026-01-03T10:00:00Z"}),
        ({"note": "Fri, 02 Jan 2026 10:00:00 GMT"}, {"note": "2026-01-03"}),
        ({"note": "<secret:token:12345678>"}, {"note": "plain"}),
        ({"note": "abc-12345"}, {"note": "xyz-98765"}),
        ({"items": [{"cursor": "aaaa"}]}, {"items": [{"cursor": "bbbb"}]}),
        ({"ids": {"id": ["aaaa"]}}, {"ids": {"id": ["bbbb"]}}),
    ],
)
def test_generated_values_are_recognised_by_name_or_form(given, record, recorded: Any, today: Any) -> None:
    answer, normalisation = given(tea(recorded, record), today)
    assert (recorded, recorded) == (json.loads(answer.body), answer.held and json.loads(answer.held.body))
    assert 1 == normalisation.levelled


@pytest.mark.parametrize(
    ("recorded", "today"),
    [
        ({"price": 3}, {"price": 4}),
        ({"paid": "yes"}, {"paid": "no"}),
        ({"id": 7}, {"id": "7777"}),
        ({"id": None}, {"id": 1}),
        ({"id": True}, {"id": 1}),
        ({"id": ["aaaa"]}, {"id": ["aaaa", "bbbb"]}),
        ({"id": "aaaa"}, {}),
        ({"note": "2026-01-02"}, {"note": "tomorrow"}),
        ({"note": "plain"}, {"note": "<secret:token:12345678>"}),
        ({"note": "abcdefg"}, {"note": "xyzuvwu"}),
        ({"note": "table 12345"}, {"note": "table 98765"}),
    ],
)
def test_any_other_difference_is_a_change_of_the_service(given, record, recorded: Any, today: Any) -> None:
    answer, normalisation = given(tea(recorded, record), today)
    assert (recorded, None) == (json.loads(answer.body), answer.held)
    assert 0 == normalisation.levelled


def test_values_are_translated_inside_texts_where_they_are_long_enough(given, record) -> None:
    recorded = {"id": "abcd", "order_id": OLD, "total_id": 12345678, "ids": 5}
    today = {"id": "wxyz", "order_id": NEW, "total_id": 87654321, "ids": 5}
    _, normalisation = given(tea(recorded, record), today)
    sent = normalisation.sent(
        {
            "id": "abcd",
            "text": f"pay {OLD} and abcd, 12345678",
            "path": "/orders/abcd/ab",
            "amount": 12345678,
            "many": [OLD, True, None],
        }
    )
    assert {
        "id": "wxyz",
        "text": f"pay {NEW} and abcd, 87654321",
        "path": "/orders/wxyz/ab",
        "amount": 87654321,
        "many": [NEW, True, None],
    } == sent
    assert f'see "{OLD}"'.encode() == normalisation.normalised(f'see "{NEW}"'.encode())
    assert b'{"code":12345678}' == normalisation.normalised(b'{"code": 87654321}')
    assert b'{ "code": 1 }' == normalisation.normalised(b'{ "code": 1 }')
    assert b"" == normalisation.sent_body(b"")
    assert b"{ }" == normalisation.sent_body(b"{ }")


def test_the_agent_may_get_a_changed_answer_only_where_the_cassette_has_one_or_a_value_is_known(
    look, given, record, tmp_path
) -> None:
    journal = TrialJournal(tmp_path, suite="s", case="d", redactor=Redactor({}))
    other = TrialRecording(journal=journal, chain=StateChain()).position(call_key(look, {"q": "egg"}, Redactor({})))
    journal.close()
    _, knowing = given(tea({"id": OLD}, record), {"id": NEW})
    _, knowing_nothing = given(tea({"id": OLD}, record), {"id": OLD})
    assert (True, False) == (knowing.may_change(other), knowing_nothing.may_change(other))
    key = call_key(look, complete_arguments(look, {"q": "tea"}), Redactor({}))
    journal = TrialJournal(tmp_path, suite="s", case="e", redactor=Redactor({}))
    assert knowing_nothing.may_change(TrialRecording(journal=journal, chain=StateChain()).position(key))
    journal.close()


@pytest.mark.parametrize(
    ("recorded", "today", "value", "sent"),
    [
        ("abcd", "wxyz", "abcd", "wxyz"),  # four characters are told by themselves
        ("abcd", "wxyz", {"note": "abcd"}, {"note": "wxyz"}),
        ("abc", "xyz", {"id": "abc"}, {"id": "abc"}),  # three are too few to be a generated value
        ("12", "13", {"id": "12", "order_id": "12"}, {"id": "13", "order_id": "13"}),
        ("12", "13", {"note": "12"}, {"note": "12"}),
        (12, 13, {"id": 12, "count": 12}, {"id": 13, "count": 12}),
        (1234567, 7654321, {"count": 1234567}, {"count": 1234567}),
        (12345678, 87654321, {"count": 12345678}, {"count": 87654321}),
        ("abcdefg", "tuvwxyz", "see abcdefg.", "see abcdefg."),
        ("abcdefgh", "stuvwxyz", "see abcdefgh.", "see stuvwxyz."),
        ("12", "13", "/orders/12/pay", "/orders/13/pay"),
        ("abcd", "wxyz", "/orders/abcd/pay", "/orders/wxyz/pay"),
        ("abcd", "wxyz", [None, True, {"id": ["abcd"]}], [None, True, {"id": ["wxyz"]}]),
    ],
)
def test_a_short_value_is_translated_only_where_its_field_or_place_tells_it(
    given, record, recorded: Any, today: Any, value: Any, sent: Any
) -> None:
    _, normalisation = given(tea({"id": recorded}, record), {"id": today})
    assert sent == normalisation.sent(value)


def test_the_field_in_which_a_value_was_seen_to_change_tells_it_as_an_identity_does(given, record) -> None:
    _, normalisation = given(tea({"created_at": "12"}, record), {"created_at": "13"})
    assert {"created_at": "13", "id": "13", "size": "12"} == normalisation.sent(
        {"created_at": "12", "id": "12", "size": "12"}
    )


TWO = frozenset({"order", "customer"})
TAKES_CUSTOMERS = identity_kinds({"checkout": {"properties": {"customer_id": {}}}})


@pytest.mark.parametrize(
    ("learnt", "tool", "value", "sent"),
    [  # what is learnt of an order says nothing about the customer of the same number
        (({"order_id": 7}, {"order_id": 9}, frozenset()), "pay", {"customer_id": 7}, None),
        (({"order_id": 7}, {"order_id": 9}, frozenset()), "pay", {"orderId": 7}, {"orderId": 9}),
        (({"order_id": 7}, {"order_id": 9}, frozenset()), "pay", {"id": 7}, {"id": 9}),
        (({"order": {"id": 7}}, {"order": {"id": 9}}, TWO), "x", {"customerId": 7}, None),
        (({"orders": [{"id": 7}]}, {"orders": [{"id": 9}]}, TWO), "pay", {"order_id": 7}, {"order_id": 9}),
        (({"orders": [{"id": 7}]}, {"orders": [{"id": 9}]}, TWO), "pay", {"customer-id": 7}, None),
        (({"order_id": 7}, {"order_id": 9}, TWO), "get_customer", {"id": 7}, None),
        (({"order_id": 7}, {"order_id": 9}, TWO), "get_order", {"id": 7}, {"id": 9}),
        (({"order_id": 7}, {"order_id": 9}, TWO), "x", {"customer": {"id": 7}}, None),
        # each kind has its own pair
        (
            ({"order_id": 7, "customer_id": 7}, {"order_id": 9, "customer_id": 8}, frozenset()),
            "pay",
            {"order_id": 7, "customer_id": 7},
            {"order_id": 9, "customer_id": 8},
        ),
        # where the answer does not name the kind and no tool takes it by its name, it may be of any
        (({"id": 7}, {"id": 9}, frozenset({"receipt"})), "pay", {"receipt_id": 7}, {"receipt_id": 9}),
    ],
)
def test_a_short_number_is_translated_for_the_kind_of_thing_that_it_was_learnt_of(
    given, record, learnt: tuple[Any, Any, frozenset[str]], tool: str, value: Any, sent: Any
) -> None:
    recorded, today, kinds = learnt
    _, normalisation = given(tea(recorded, record), today, kinds=kinds)
    assert (value if sent is None else sent) == normalisation.sent(value, tool)


def test_what_a_tool_generates_is_none_of_the_kinds_that_it_takes() -> None:
    learnt = [({"id": 7}, {"id": 9}), ({"id": 7, "customer_id": 5}, {"id": 9, "customer_id": 5})]
    for recorded, today in learnt:
        normalisation = Normalisation(cassette=Cassette([]), declared={}, refresh=False, kinds=TAKES_CUSTOMERS)
        normalisation.learn("checkout", today, recorded)
        assert {"customer_id": 7, "receipt_id": 9} == normalisation.sent({"customer_id": 7, "receipt_id": 7}, "pay")


def test_what_was_equal_on_both_sides_stays(given, record) -> None:
    _, normalisation = given(tea({"id": 7, "customer_id": 7}, record), {"id": 9, "customer_id": 7})
    assert {"customer_id": 7, "receipt_id": 9} == normalisation.sent({"customer_id": 7, "receipt_id": 7}, "pay")


def test_a_number_that_the_agent_used_before_it_was_learnt_keeps_its_meaning(given, record) -> None:
    def learnt(*before: Any) -> Normalisation:
        normalisation = Normalisation(cassette=Cassette([]), declared={}, refresh=False)
        for value in before:
            normalisation.sent(value, "look")
        normalisation.learn("checkout", {"id": 9}, {"id": 7})
        return normalisation

    asked = {"customer_id": 7, "receipt_id": 7}
    assert {"customer_id": 9, "receipt_id": 9} == learnt().sent(asked, "pay")
    assert {"customer_id": 7, "receipt_id": 9} == learnt({"customer_id": 7}).sent(asked, "pay")


def test_a_short_number_in_a_path_is_of_the_kind_of_the_segment_before_it(given, record) -> None:
    _, normalisation = given(tea({"order_id": 7}, record), {"order_id": 9}, kinds=TWO)
    assert "/orders/9/pay" == normalisation.sent_text("/orders/7/pay")
    assert "/customers/7" == normalisation.sent_text("/customers/7")


def test_the_kinds_of_identities_are_those_of_the_parameters() -> None:
    nested: Any = {"properties": {"items": {"type": "array", "items": {"properties": {"lineId": {}}}}}}
    plain: Any = {"properties": {"order_id": {}, "size": {}}}
    bare: Any = {"properties": {"id": {}}}
    line, order = frozenset({"line"}), frozenset({"order"})
    assert IdentityKinds(named=line | order, taken={"a": line, "b": order}) == identity_kinds({"a": nested, "b": plain})
    told = identity_kinds({"b": plain, "c": bare})
    assert IdentityKinds(named=order, has_bare=True, taken={"b": order, "c": frozenset()}) == told
