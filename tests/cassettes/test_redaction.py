"""No secret is stored, whatever it stands in."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cassettes.redaction import Redactor
from harness.errors import UsageError
from harness.values import JsonObject

SECRET = 's3cr3t/+"ä Wert'
ENCODINGS = {
    "plain": SECRET,
    "json": json.dumps(SECRET)[1:-1],
    "url": quote(SECRET),
    "url without slash": quote(SECRET, safe=""),
    "form": quote_plus(SECRET),
    "lower-case url": quote(SECRET, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%C3%A4", "%c3%a4"),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 in a user:password pair": base64.b64encode(f"me:{SECRET}@x".encode()).decode(),
    "url-safe base64": base64.urlsafe_b64encode(f"a{SECRET}".encode()).decode(),
    "hex": SECRET.encode().hex(),
}


@pytest.mark.parametrize("written", ENCODINGS.values(), ids=ENCODINGS)
def test_a_known_secret_is_found_in_every_encoding(written: str) -> None:
    redactor = Redactor({"KEY": SECRET})
    text = f"before {written} after"

    assert redactor.left_in([text]) == "KEY"
    clean = redactor.text(text)
    assert redactor.left_in([clean]) is None
    assert "<secret:KEY>" in clean


@given(st.text(min_size=4, max_size=20), st.text(max_size=10), st.text(max_size=10))
def test_whatever_surrounds_it_no_secret_is_left(secret: str, before: str, after: str) -> None:
    redactor = Redactor({"KEY": secret})

    assert redactor.left_in([redactor.text(before + secret + after)]) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "token", "Api-Key", "PASSWORD", "note"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)  # the digits of secret fields are slow on purpose
@given(st.dictionaries(st.text("ab", max_size=2), json_values, max_size=3))
def test_redacting_twice_is_redacting_once(value: JsonObject) -> None:
    redactor = Redactor({"KEY": "aaaa"})
    once = redactor.value(value)

    assert redactor.value(once) == once
    assert Redactor({"KEY": "aaaa"}).value(once) == once


def test_secret_fields_are_hidden_by_name_and_different_values_stay_different() -> None:
    redactor = Redactor({})
    clean = redactor.value({"user": "ann", "Pass-Word": "one", "nested": [{"api_key": "two"}, {"apiKey": "one"}]})

    assert isinstance(clean, dict)
    hidden = clean["Pass-Word"]
    assert clean["user"] == "ann"
    assert isinstance(hidden, str)
    assert hidden.startswith("<secret:password:")
    assert "one" not in json.dumps(clean)
    first, second = clean["nested"][0]["api_key"], clean["nested"][1]["apiKey"]
    assert first != second
    assert Redactor({}).value({"password": "one"}) == {"password": hidden}


def test_what_is_not_secret_stays_as_it_is_to_the_byte() -> None:
    body = b'{ "price" : 1.50,\n "name":"caf\\u00e9", "secret": null, "token": true }'

    assert Redactor({"KEY": "longsecret"}).body(body) == body


def test_a_token_that_a_tool_hands_out_is_recognised_when_it_comes_back_under_another_name() -> None:
    redactor = Redactor({})
    handed_out = json.loads(redactor.body(b'{"access_token": "tok-12345678"}'))["access_token"]

    assert redactor.value({"session": "tok-12345678"}) == {"session": handed_out}
    assert Redactor({}).value({"session": handed_out}) == {"session": handed_out}


def test_a_body_that_is_no_json_and_no_text_is_redacted_too() -> None:
    assert Redactor({"KEY": "longsecret"}).body(b"\xff longsecret \xfe") == b"\xff <secret:KEY> \xfe"


def test_what_only_looks_like_a_pseudonym_hides_no_secret() -> None:
    redactor = Redactor({"KEY": "hunter22"})

    assert redactor.text("<secret:hunter22> <secret:KEY>") == "<secret:<secret:KEY>> <secret:KEY>"
    assert redactor.left_in(["<secret:hunter22>"]) == "KEY"


def test_a_number_that_is_a_secret_is_hidden() -> None:
    assert Redactor({"PIN": "48151623"}).value({"a": 48151623, "b": 42}) == {"a": "<secret:PIN>", "b": 42}


def test_a_secret_too_short_to_tell_from_text_is_refused_and_an_empty_one_is_none() -> None:
    with pytest.raises(UsageError, match="'PIN'"):
        Redactor({"PIN": "abc"})
    assert Redactor({"PIN": ""}).text("abc") == "abc"


def test_learned_values_are_found_inside_longer_texts_and_in_files_where_they_are_long_enough() -> None:
    redactor = Redactor({"KEY": "longsecret"})
    redactor.body(b'{"token": "tok-12345678", "password": "hunter2"}')
    assert "tok-12345678" not in redactor.everywhere("see tok-12345678 and longsecret")
    assert "hunter2" in redactor.everywhere("hunter2")
    clean = redactor.content(b"\xff tok-12345678 longsecret")
    assert clean.startswith(b"\xff <secret:token:")
    assert clean.endswith(b" <secret:KEY>")
    assert {"note": "a", "n": [None, True]} == redactor.value({"note": "a", "n": [None, True]})


def test_a_bound_value_is_stored_as_its_pseudonym_where_it_is_the_whole_text() -> None:
    redactor = Redactor({})
    redactor.bind("abc", "<id:1>")
    assert {"id": "<id:1>", "text": "abcd"} == redactor.value({"id": "abc", "text": "abcd"})
    redactor.bind("order-77", "<id:2>")
    assert "<id:2> is paid" == redactor.value("order-77 is paid")


def test_the_agent_keeps_what_the_tool_issues_and_never_sees_a_known_secret() -> None:
    redactor = Redactor({"KEY": "longsecret", "PIN": "48151623"})
    body = b'{"token": "tok-12345678", "a": 48151623, "longsecret": ["longsecret", true, null, 1.5]}'
    assert {
        "token": "tok-12345678",
        "a": "<secret:PIN>",
        "<secret:KEY>": ["<secret:KEY>", True, None, 1.5],
    } == json.loads(redactor.for_agent(body))
    assert b'{ "a": 1 }' == redactor.for_agent(b'{ "a": 1 }')
    assert b"no JSON <secret:KEY>" == redactor.for_agent(b"no JSON longsecret")


def test_objects_lists_and_numbers_in_secret_fields() -> None:
    clean = Redactor({}).value({"token": {"password": "a", "n": 1}, "secret": ["x", None, True, ""], "api_key": 7})
    assert isinstance(clean, dict)
    assert clean["token"]["n"] == 1
    assert clean["token"]["password"].startswith("<secret:password:")
    assert clean["secret"][0].startswith("<secret:secret:")
    assert [None, True, ""] == clean["secret"][1:]
    assert clean["api_key"].startswith("<secret:apikey:")


def test_a_key_makes_other_digits_and_the_same_for_the_same_value() -> None:
    first, again = (Redactor({}, key=b"k" * 32).value({"token": "abc"}) for _ in range(2))
    assert first == again != Redactor({}).value({"token": "abc"})
    assert first != Redactor({}, key=b"j" * 32).value({"token": "abc"})
    assert len("<secret:token:12345678>") == len(first["token"])


def test_a_secret_of_four_characters_is_long_enough() -> None:
    assert "<secret:PIN>" == Redactor({"PIN": "abcd"}).text("abcd")


def test_a_secret_is_found_wherever_it_stands_in_a_long_text() -> None:
    secret = "sk-very-secret-0123"
    redactor = Redactor({"K": secret})
    percent = "".join(f"%{byte:02x}" for byte in secret.encode())
    spelled = {secret, secret.encode().hex(), percent, base64.b64encode(secret.encode()).decode()}

    for written in sorted(spelled):
        for at in range(64 * 1024 - len(written) - 2, 64 * 1024 + 3):
            assert "<secret:K>" in redactor.text("-" * at + written + "." * 100)
            assert not redactor.leaves_all(["-" * at, written, "."])


def test_secrets_are_sought_in_each_of_many_texts_and_never_across_two() -> None:
    strange = "\xff\ufeff\U0010ffff-secret"
    redactor = Redactor({"K": "sk-very-secret-0123", "L": strange})
    redactor.bind("order-12345678", "<id:order>")

    assert redactor.leaves_all(["sk-very-", "secret-0123", "order-", "12345678"])
    assert not redactor.leaves_all(["a", "my order-12345678", "b"])
    assert not redactor.leaves_all(["a", "my sk-very-secret-0123", "b"])
    assert not redactor.leaves_all(["a", strange, "b"])
    assert not redactor.leaves_all(["a", "half of a pair: \ud800"])
