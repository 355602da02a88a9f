"""A secret is known in whatever form programs write it."""

import html
import json

import pytest

from harness.cassettes.redaction import Redactor

SECRET = 's3cret/"of <the> day" é+1'
_WRITTEN = json.dumps(SECRET)[1:-1]
FORMS = {
    "JSON in JSON": json.dumps(_WRITTEN)[1:-1],
    "slashes escaped": _WRITTEN.replace("/", "\\/"),
    "escapes throughout": "".join(f"\\u{ord(letter):04x}" for letter in SECRET),
    "HTML": html.escape(SECRET),
    "percent throughout": "".join(f"%{byte:02X}" for byte in SECRET.encode()),
    "hexadecimal in capitals": SECRET.encode().hex().upper(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_text_is_stored_without_it(form: str) -> None:
    assert "before <secret:KEY> after" == Redactor({"KEY": SECRET}).text(f"before {form} after")


def test_an_agent_does_not_see_it_however_its_json_is_escaped() -> None:
    told = '{"a": "' + FORMS["escapes throughout"] + '", "b": ["' + FORMS["slashes escaped"] + '"], "c": 1.0}'
    assert SECRET == json.loads(told)["a"]
    assert b'{"a":"<secret:KEY>","b":["<secret:KEY>"],"c":1.0}' == Redactor({"KEY": SECRET}).for_agent(told.encode())


def test_an_answer_with_escapes_and_without_a_secret_stays_byte_for_byte() -> None:
    told = b'{ "a": "line\\nbreak \\u0041", "b" : 1.0}'
    assert told == Redactor({"KEY": SECRET}).for_agent(told)


@pytest.mark.parametrize("name", ["ang", "angle"])
def test_no_name_of_an_entity_leaves_the_end_of_a_longer_one(name: str) -> None:
    assert "before <secret:KEY> after" == Redactor({"KEY": "s3cret\u2220"}).text(f"before s3cret&{name}; after")


def test_a_secret_of_several_lines_is_known_as_json_in_json() -> None:
    secret = "s3cret\nof the day"
    twice = json.dumps(json.dumps(secret)[1:-1])[1:-1]
    assert "before <secret:KEY> after" == Redactor({"KEY": secret}).text(f"before {twice} after")


def test_of_two_secrets_that_begin_alike_the_longer_is_found_whatever_they_are_called() -> None:
    known = {"LONGER_NAME": "sk-live-0815", "K": "sk-live-0815-and-more"}
    assert "<secret:K> <secret:LONGER_NAME>" == Redactor(known).text("sk-live-0815-and-more sk-live-0815")
