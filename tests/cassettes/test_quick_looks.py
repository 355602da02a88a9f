"""What a quick look decides about a value or a body is what the full search decides."""

import json
import random
from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from harness.cassettes.redacted_streams import stream_of
from harness.cassettes.redaction import Redactor
from harness.values import canonical_json, compact_json, spaced_json
from tests.cassettes.streaming import passed

SECRETS = {"KEY": "sk-live/aB3xY9+qLm=0815", "OTHER": "sk-live/other-key", "NUMBER": "12.0", "SPLIT": '1","b":2'}
FIELDS = [
    *("accessKey", "access_token", "api-key", "apisecret", "Authorization", "auth-token", "bearerToken"),
    *("client_secret", "cookie", "id_token", "passphrase", "passwd", "PASS-WORD", "private_key", "refreshToken"),
    *("secret", "secret-key", "to_ken", "session_token", "Set-Cookie", "x-api-key", "api\u212aey"),
]


def values(chance: random.Random) -> Iterator[JsonValue]:
    """Values with and without secrets and fields that are secret by their name."""
    key = SECRETS["KEY"]
    plain: list[JsonValue] = ["", "skis", "é\ud83d", '"\\\n', "1", 12, 12.0, 12.5, 1e300, True, None, "token", "monkey"]
    secret: list[JsonValue] = [key, f"my {key}.", f"<secret:KEY>{key[:5]}", 112.03, "<secret:token:01234567>"]
    while True:
        some = [*chance.choices(plain, k=4), *chance.choices(secret, k=chance.random() < 0.2)]
        names = [
            *chance.choices(["a", "b", "keys", "to ken", 'q"'], k=3),
            *chance.choices(FIELDS, k=chance.random() < 0.2),
        ]
        inner: JsonValue = dict(zip(names, chance.sample(some, len(some)), strict=False))
        yield chance.choice([inner, [inner, some], {"z": inner, "a": 1.0}, some[0]])


def full(value: JsonValue, *, learn: bool = False) -> JsonValue:
    """The value as a redactor cleans it that has learned something else: it takes no quick look."""
    redactor = Redactor(SECRETS)
    redactor.bind("something else", "<id:1>")
    return redactor.value(value, learn=learn)


def test_a_value_is_cleaned_as_by_the_full_search() -> None:
    chance = random.Random(20261127)
    some = values(chance)
    changed = 0
    for _ in range(600):
        value = next(some)
        clean = full(value)
        assert clean == Redactor(SECRETS).value(value)
        assert canonical_json(clean) == Redactor(SECRETS).canonical(value)
        body = json.dumps(value).encode()
        assert spaced_json(full(value, learn=True)) == Redactor(SECRETS).answer(json.loads(body), body)
        assert spaced_json(full(value, learn=True)) == Redactor(SECRETS).answer(value, None)
        changed += clean != value
    assert 100 < changed < 500


def test_what_an_answer_gives_out_is_learned_though_it_was_seen_before() -> None:
    body = b'{"token": "given-out-1234"}'
    for _ in range(2):
        redactor = Redactor(SECRETS)
        assert "given-out" not in redactor.answer(json.loads(body), body)
        assert "given-out" not in redactor.everywhere("again: given-out-1234")
        assert "given-out" not in redactor.answer(["given-out-1234"], b'["given-out-1234"]')


@pytest.mark.parametrize("name", FIELDS)
def test_every_secret_field_is_found(name: str) -> None:
    for value in ({name: "something"}, [{"a": {"b": [{name: 12345678}]}}]):
        assert value != Redactor({}).value(value)
        assert full(value) == Redactor(SECRETS).value(value)


def test_a_whole_body_is_cleaned_as_a_stream_of_its_events() -> None:
    """The stream searches the channels one by one."""
    chance = random.Random(815)
    changed = 0
    for _ in range(600):
        whole = chance.choice([*SECRETS.values(), "skis in the sky"])
        cuts = sorted(chance.sample(range(1, len(whole)), 2))
        pieces = [whole[: cuts[0]], whole[cuts[0] : cuts[1]], whole[cuts[1] :]]
        texts = [*pieces[: chance.choice((1, 3, 3))], chance.choice(["", "s", "sk-", "<secret:", "<secret:KEY>"])]
        if chance.random() < 0.3:
            chance.shuffle(texts)
        body = b"".join(
            b"data: " + json.dumps({"index": at * chance.choice((0, 0, 1)), "t": [text, {"u": "s"}]}).encode() + b"\n\n"
            for at, text in enumerate(texts)
        )
        stream = stream_of({"content-type": "text/event-stream"}, Redactor(SECRETS))
        clean = passed(stream, [body])
        assert clean == Redactor(SECRETS).for_agent(body) == Redactor(SECRETS).for_agent(bytes(bytearray(body)))
        changed += clean != body
    assert 100 < changed < 500


def test_json_is_written_as_by_the_standard_library() -> None:
    some = values(random.Random(4711))
    for value in (next(some) for _ in range(300)):
        assert json.dumps(value, ensure_ascii=False) == spaced_json(value)
        assert json.dumps(value, ensure_ascii=False, separators=(",", ":")) == compact_json(value)
