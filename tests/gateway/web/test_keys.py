"""When two requests are the same one, and what of them is kept."""

import json
from pathlib import Path

import pytest

from tests.gateway.web.conftest import Browser, order_an_egg

AS_JSON = {"Content_Type": "application/json; charset=UTF-8"}


def test_a_request_that_was_not_recorded_is_a_miss_that_no_client_retries(browse) -> None:
    browse("record", order_an_egg)
    answers = []
    record = browse("replay", lambda browser: answers.append(browser.ask_raw("GET", "/items?q=ham")))

    ((status, headers, body),) = answers
    assert (424, "false") == (status, headers["x-should-retry"])
    assert "replay_miss" == json.loads(body)["error"]["type"]
    assert '$.query.q: "ham" here, "egg" in the recording' == record.misses[0]["nearest"][0]["difference"]


def test_the_order_of_query_and_keys_does_not_matter_and_ignored_parts_neither(browse, host) -> None:
    lax = host.model_copy(update={"ignore": ("/query/ts", "/json/request_id")})

    def first(browser: Browser) -> None:
        browser.ask("GET", "/items?q=egg&page=1&ts=1")
        browser.ask("POST", "/order", {"item": "egg", "request_id": "a"})

    def second(browser: Browser) -> None:
        assert 200 == browser.ask("GET", "/items?ts=2&page=1&q=egg")[0]
        assert 200 == browser.ask("POST", "/order", b'{"request_id": "b", "item":  "egg"}', **AS_JSON)[0]

    browse("record", first, host=lax)
    assert {"exact": 2} == browse("replay", second, host=lax).tiers


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("application/x-www-form-urlencoded", b"a=1&b=2", b"b=2&a=1"),
        ("multipart/form-data; boundary=xyz", b"--xyz\r\n\r\nhello\r\n--xyz--", b"--123\r\n\r\nhello\r\n--123--"),
        ("application/octet-stream", b"\xff\x00\x01", b"\xff\x00\x01"),
        ("text/plain", b"hello", b"hello"),
    ],
)
def test_bodies_of_every_kind_have_keys(browse, kind: str, first: bytes, second: bytes) -> None:
    again = kind.replace("xyz", "123")
    browse("record", lambda browser: browser.ask("POST", "/items?raw", first, Content_Type=kind))

    def ask_again(browser: Browser) -> None:
        browser.ask_raw("POST", "/items?raw", second, Content_Type=again)
        browser.ask_raw("POST", "/items?raw", second + b"!", Content_Type=again)

    assert {"exact": 1, "miss": 1} == browse("replay", ask_again).tiers


def test_an_effect_can_be_declared(browse, host) -> None:
    search = host.model_copy(update={"reads": ("POST /order",)})
    browse("record", lambda browser: browser.ask("POST", "/order", {"item": "egg"}), host=search)

    def ask_twice(browser: Browser) -> None:
        assert 200 == browser.ask("POST", "/order", {"item": "egg"})[0]
        assert 200 == browser.ask("POST", "/order", {"item": "egg"})[0]

    assert {"exact": 1, "exact_reused": 1} == browse("replay", ask_twice, host=search).tiers


def test_secrets_are_added_in_the_gateway_and_stand_in_nothing_that_is_kept(browse, host, shop, tmp_path: Path) -> None:
    value = "hush-hush-4711"
    keyed = host.model_copy(update={"headers": {"Authorization": "Bearer ${SHOP_KEY}"}})
    options = {"secrets": {"SHOP_KEY": value}}

    def play(browser: Browser) -> None:
        browser.ask("GET", f"/items?q={value}&api_key=abcdefgh")
        browser.ask("POST", "/order", {"password": "open sesame"})

    record = browse("record", play, host=keyed, suite={"secrets": ("SHOP_KEY",)}, options=options)
    assert [f"Bearer {value}"] * 2 == [headers["Authorization"] for _, _, headers, _ in shop.seen]
    kept = (tmp_path / "cassettes/breakfast/c1.yaml").read_text() + "".join(s.model_dump_json() for s in record.spans)
    assert [False] * 3 == [secret in kept for secret in (value, "abcdefgh", "open sesame")]
    replayed = browse("replay", play, host=keyed, suite={"secrets": ("SHOP_KEY",)}, options=options)
    assert {"exact": 2} == replayed.tiers
