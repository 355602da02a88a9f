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
