"""Which parts of a request choose its answer: a replay gives the answer that the host would give, or none."""

import contextlib
import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.suite.hosts import HostSpec
from tests.gateway.web.choosing import CLIENTS, Choosing, Server, serving
from tests.gateway.web.conftest import Browser
from tests.gateway.web.hostile import HOST
from tests.gateway.web.test_secrets import ENCODERS

ALICE = {"Authorization": "Bearer alice-4711-0815"}
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "multipart/form-data; boundary=x"}
PART = b'--x\r\nContent-Disposition: form-data; name="a"\r\n%s\r\n1\r\n--x--\r\n'
Asked = tuple[str, str, dict[str, str], bytes | None]


@pytest.fixture
def outside() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def host(outside: Server) -> HostSpec:
    return HostSpec(host=HOST, base_url=outside.url, disposable=True)


def asking(*requests: Asked, into: list | None = None):
    def play(browser: Browser) -> None:
        for method, target, headers, body in requests:
            answer = browser.ask_raw(method, target, body, **headers)
            if into is not None:
                into.append(answer)

    return play


def get(target: str = "/", **headers: str) -> Asked:
    return "GET", target, headers, None


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        (get(**ALICE), get()),
        (get(), get(**ALICE)),
        (get(**ALICE), get(Authorization="Bearer bob-4711-0815")),
        (get(X_Api_Key="k-alice-1"), get(X_Api_Key="k-bob-1")),
        (get("/?api_key=alice-1"), get("/?api_key=bob-1")),
        (get("/?sig=alice-1"), get("/?sig=bob-1")),
        (get(Cookie="session=alice-1"), get(Cookie="session=bob-1")),
        (get(X_Amz_Target="Tables.List"), get(X_Amz_Target="Tables.Delete")),
        (get(Accept_Language="de"), get(Accept_Language="en")),
        (get(Accept_Language="de;q=0.5, en"), get(Accept_Language="de, en;q=0.5")),
        (get(X_Tenant="a"), get(X_Tenant="b")),
        (get(X_Api_Version="1"), get(X_Api_Version="2")),
        (get(Accept="text/html, */*;q=0.1"), get(Accept="*/*")),
        (get(Accept="application/json"), get(Accept="*/*")),
        (get(Accept="*/*, text/html;q=0"), get(Accept="*/*")),
        (get(Accept="text/html, */*"), get(Accept="application/json, */*")),
        (get(Accept_Language="de, *"), get(Accept_Language="*")),
        (get(Accept_Language="de, en"), get(Accept_Language="en, de")),
        (get(Accept='a/b;profile="A"'), get(Accept='a/b;profile="a"')),
        (("POST", "/", {"Content-Type": "a/b; p=A"}, b"x"), ("POST", "/", {"Content-Type": "a/b; p=a"}, b"x")),
        (get(Cookie="=a"), get(Cookie="=b")),
        (get("/?versions"), get("/?versions=")),
        (get("/?q=%zz"), get("/?q=%25zz")),
        (get(X_Never_Heard_Of="1"), get()),
        (get("/?answer-Vary=User-Agent", User_Agent="a"), get("/?answer-Vary=User-Agent", User_Agent="b")),
        (get("/?answer-Vary=User-Agent", User_Agent="a"), get("/?answer-Vary=User-Agent")),
        (get("/?answer-Vary=Accept", Accept="a/b, */*"), get("/?answer-Vary=Accept", Accept="*/*")),
        (get("/?answer-Vary=*", Sec_Fetch_Mode="cors"), get("/?answer-Vary=*", Sec_Fetch_Mode="navigate")),
        (("POST", "/", JSON, b'{"a": 1}'), ("POST", "/", {}, b'{"a": 1}')),
        (("POST", "/", JSON, b'{"a": 1}'), ("POST", "/", {"Content-Type": "application/vnd.api+json"}, b'{"a": 1}')),
        (("POST", "/", JSON, b'{"a": 9007199254740993.0}'), ("POST", "/", JSON, b'{"a": 9007199254740992.0}')),
        (("POST", "/", JSON, b"[1234567890123456789e-3]"), ("POST", "/", JSON, b"[1234567890123456788e-3]")),
        (("POST", "/", FORM, PART % b""), ("POST", "/", FORM, PART.replace(b"form-data", b"attachment") % b"")),
        (("POST", "/", JSON, b'{"a": 1, "a": 2}'), ("POST", "/", JSON, b'{"a": 2}')),
        (("POST", "/", FORM, PART % b"Content-ID: 1\r\n"), ("POST", "/", FORM, PART % b"Content-ID: 2\r\n")),
        (("POST", "/", FORM, PART % b"X-Owner: ann\r\n"), ("POST", "/", FORM, PART % b"")),
        (("POST", "/", JSON, b'{"password": "a1"}'), ("POST", "/", JSON, b'{"password": "b1"}')),
    ],
)
def test_what_chooses_the_answer_makes_another_call(browse, tmp_path: Path, recorded: Asked, asked: Asked) -> None:
    browse("record", asking(recorded))
    assert {"exact": 1} == browse("replay", asking(recorded)).tiers
    assert {"miss": 1} == browse("replay", asking(asked)).tiers
    assert "alice-" not in (tmp_path / "cassettes/breakfast/c1.yaml").read_text()


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_replays_what_another_has_recorded(browse, name: str) -> None:
    targets = ("/", "/?answer-Vary=Accept-Encoding,+Origin")

    def play(headers: dict[str, str]):
        posts = [
            ("POST", target, {**headers, "Content-Type": kind}, b'{"a":1}') for target in targets for kind in KINDS
        ]
        return asking(*(get(target, **headers) for target in targets), *posts[:2])

    browse("record", play(CLIENTS["requests"]))
    assert {"exact": 4} == browse("replay", play(CLIENTS[name])).tiers


KINDS = ("application/json", "application/json; charset=UTF-8")


@pytest.mark.parametrize("name", ["Idempotency-Key", "Cko-Idempotency-Key", "X-Goog-Gcs-Idempotency-Token"])
def test_an_idempotency_key_stands_for_the_call_that_it_was_new_in(browse, name: str) -> None:
    def play(*keys: str):
        return asking(*(("POST", "/pay", JSON | {name: key}, b"{}") for key in keys))

    browse("record", play("a", "b", "a"))
    assert {"exact": 3} == browse("replay", play("c", "d", "c")).tiers
    assert {"exact": 2, "miss": 1} == browse("replay", play("c", "d", "d")).tiers


def test_a_key_used_twice_is_no_two_new_ones(browse) -> None:
    browse("record", asking(*(("POST", "/pay", JSON | {"Idempotency-Key": "a"}, b"{}") for _ in range(2))))
    two = asking(*(("POST", "/pay", JSON | {"Idempotency-Key": key}, b"{}") for key in "ab"))
    assert {"exact": 1, "miss": 1} == browse("replay", two).tiers


def test_a_header_that_the_gateway_sets_itself_is_not_the_agents(browse, host) -> None:
    keyed = host.model_copy(update={"headers": {"Authorization": "Bearer ${KEY}"}})
    more = {"host": keyed, "suite": {"secrets": ("KEY",)}, "options": {"secrets": {"KEY": "hush-hush-4711"}}}
    browse("record", asking(get(**ALICE)), **more)
    assert {"exact": 1} == browse("replay", asking(get()), **more).tiers


def test_parts_of_a_multipart_form_do_not_depend_on_how_a_client_writes_them(browse) -> None:
    one = (
        b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x\r\nContent-Disposition: form-data; name="f";'
    )
    one += b' filename="f.txt"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--x--\r\n'
    other = (
        b"--y\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-disposition: form-data; name=a\r\n\r\n1\r\n--y\r\n"
    )
    other += b"Content-Disposition: form-data; name=f; filename=f.txt\r\nContent-Type: text/plain\r\n\r\nhello\r\n--y--"

    def send(boundary: str, body: bytes) -> Asked:
        return "POST", "/", {"Content-Type": f"multipart/form-data; boundary={boundary}"}, body

    browse("record", asking(send("x", one)))
    assert {"exact": 1} == browse("replay", asking(send('"y"', other))).tiers
    assert {"miss": 1} == browse("replay", asking(send("y", other.replace(b"hello", b"hallo")))).tiers


@pytest.mark.parametrize(
    ("rule", "requests"),
    [
        ("/query/ts", (get("/?ts=1&q=a"), get("/?q=a&ts=2"), get("/?q=b&ts=2"))),
        ("/headers/x-nonce", (get(X_Nonce="1"), get(X_Nonce="2"), get(X_Other="2"))),
        (
            "/headers/user-agent",
            tuple(get("/?answer-Vary=User-Agent", User_Agent=one, X_A=one[0]) for one in ("a", "ab", "b")),
        ),
        ("/cookies/visit", (get(Cookie="a=1; visit=1"), get(Cookie="visit=2; a=1"), get(Cookie="visit=2; a=2"))),
        (
            "/form/csrf",
            tuple(
                ("POST", "/", {"Content-Type": "application/x-www-form-urlencoded"}, body)
                for body in (b"csrf=1&a=1", b"a=1&csrf=2", b"a=2&csrf=2")
            ),
        ),
        ("/json/*/id", tuple(("POST", "/", JSON, b'[{"id": %d, "n": %d}]' % ids) for ids in ((1, 1), (2, 1), (2, 2)))),
        ({"at": "/url", "regex": "/runs/[0-9a-f]+"}, (get("/runs/0a/x"), get("/runs/1b/x"), get("/runs/1b/y"))),
        ({"regex": "tmp[0-9]+"}, (get("/tmp1?a=tmp2"), get("/tmp3?a=tmp4"), get("/tmp3?b=tmp4"))),
    ],
)
def test_what_is_ignored_is_no_part_of_the_key(browse, host, rule: object, requests: tuple[Asked, ...]) -> None:
    lax = HostSpec.model_validate(host.model_dump() | {"ignore": [rule]})
    browse("record", asking(requests[0]), host=lax)
    assert {"exact": 1} == browse("replay", asking(requests[1]), host=lax).tiers
    assert {"miss": 1} == browse("replay", asking(requests[2]), host=lax).tiers


@pytest.mark.parametrize(
    ("target", "headers", "body"),
    [
        ("/", {"X-HTTP-Method-Override": "GET"}, None),
        ("/", {"X_HTTP_Method_Override": "DELETE"}, None),
        ("/", {"x.http-method": "DELETE"}, None),
        ("/", {"X-Original-URL": "/purge"}, None),
        ("/", {"X_Rewrite_Url": "/purge"}, None),
        ("/", {"X-Forwarded-Method": "DELETE"}, None),
        ("/?a=1&_method=DELETE", {}, None),
        ("/?a=1;_method=DELETE", {}, None),
        ("/?a=%ff&_method=DELETE", {}, None),
        ("/?%255Fmethod=DELETE", {}, None),
        ("/?+.method=DELETE", {}, None),
        ("/?_method[]=DELETE", {}, None),
        ("/items;_method=DELETE", {}, None),
        ("/?x-http-method-override=PUT", {}, None),
        ("/", {"Content-Type": "application/x-www-form-urlencoded"}, b"a=1&_method=DELETE"),
        (
            "/",
            {"Content-Type": "multipart/form-data; boundary=x"},
            b'--x\r\ncontent-disposition: form-data; name="_method"',
        ),
        ("/", JSON, b'{"_method": "DELETE"}'),
        ("/", JSON, b'\xef\xbb\xbf{"_method": "DELETE"}'),
        ("/", JSON, '{"_method": "DELETE"}'.encode("utf-16")),
        ("/", JSON, b'{"n": NaN, "_method": "DELETE"}'),
        ("/", {"Content-Type": "application/x-www-form-urlencoded"}, b"a=" + b"1" * 1_100_000 + b"&_method=DELETE"),
        ("/?data[_method]=DELETE", {}, None),
        ("/?_method[0]=DELETE", {}, None),
        ("/", {"X-Tunnel-Method": "DELETE"}, None),
        ("/", {"HTTP_X_HTTP_METHOD_OVERRIDE": "DELETE"}, None),
        ("/", {"X-Proxy-Url": "/purge"}, None),
        ("/", {"Content-Type": "text/plain"}, b"a=1\r\n_method=DELETE"),
        ("/", {"Content-Type": "application/x-www-form-urlencoded; charset=utf-7"}, b"+AF8-method=DELETE"),
        ("/", {"Content-Type": "multipart/form-data; boundary=x"}, b"--x\r\nname*=UTF-8''%5Fmethod"),
        ("/", {"Content-Type": "multipart/form-data; boundary=x"}, b'--x\r\nname =\r\n "_method"'),
        ("/", {"Content-Type": "multipart/form-data; boundary=x"}, b'--x\r\nname*0="_met"; name*1="hod"'),
        ("/", JSON, b'{"data": [{"_method": "DELETE"}]}'),
        ("/", JSON, b'/* a */ {"_method": "DELETE"}'),
        ("/graphql?query=mutation{a}", {}, None),
        ("/graphql;a?query=mutation{a}", {}, b"no JSON"),
    ],
)
def test_a_disguised_write_is_refused_like_a_write(browse, host, outside, target, headers, body) -> None:
    kept = host.model_copy(update={"disposable": False, "reads": ("POST /*",)})
    answers: list[tuple[int, dict, bytes]] = []

    def play(browser: Browser) -> None:
        for method in ("GET", "POST"):
            browser._connection.request(method, target, body, headers)
            response = browser._connection.getresponse()
            answers.append((response.status, {}, response.read()))
        answers.append(browser.ask_raw("GET", "/?method=list&http_method=GET&url=x", X_Http="1"))

    browse("live", play, host=kept)
    assert [403, 403, 200] == [status for status, *_ in answers]
    assert ["/?method=list&http_method=GET&url=x"] == [path for _, path, *_ in outside.asked]


def test_a_body_in_an_encoding_that_nothing_is_found_in_is_refused(browse, host, outside) -> None:
    answers: list[tuple[int, dict, bytes]] = []
    coded = [("POST", "/", {"Content-Encoding": name}, b"\x1f\x8b") for name in ("x-gzip", "gzip, gzip", "compress")]
    browse("live", asking(*coded, into=answers), host=host)
    assert ([415] * 3, []) == ([status for status, *_ in answers], outside.asked)


@pytest.mark.parametrize(
    ("document", "effect"),
    [
        ({"query": "{ a }"}, "read"),
        ({"query": 'query Q($a: In = {b: 1}) { a(b: "mutation M {") } # mutation {'}, "read"),
        ({"query": "fragment F on T { a } query Q { a }"}, "read"),
        ({"query": "query Q { a } mutation M { b }", "operationName": "Q"}, "read"),
        ([{"query": "{ a }"}, {"query": "query { b }"}], "read"),
        ({"query": "mutation Login { a }"}, "read"),
        ({"query": "mutation { a }"}, "write"),
        ({"query": "query Q { a } mutation M { b }", "operationName": "M"}, "write"),
        ({"query": "query Q { a } mutation M { b }"}, "write"),
        ({"query": "query Q { a }", "operationName": "P"}, "write"),
        ({"query": "mutation M @query { a }"}, "write"),
        ([{"query": "{ a }"}, {"query": "mutation { b }"}], "write"),
        ({"query": "{ a }", "doc_id": 7}, "write"),
        ({"extensions": {"persistedQuery": {"sha256Hash": "a"}}}, "write"),
        ({"query": "query Expensive { a }"}, "write"),
    ],
)
def test_an_operation_of_graphql_has_the_effect_of_its_kind(browse, host, outside, document, effect: str) -> None:
    kept = host.model_copy(
        update={"disposable": False, "reads": ("POST /graphql#Login",), "writes": ("POST /graphql#Expensive",)}
    )
    answers: list[tuple[int, dict, bytes]] = []
    body = json.dumps(document).encode()
    browse("live", asking(("POST", "/graphql", JSON, body), ("POST", "/other", JSON, body), into=answers), host=kept)
    assert [200 if effect == "read" else 403, 403] == [status for status, *_ in answers]


class Cut(Choosing):
    """A host whose bodies end within the encoding that the path names, after a letter that can be read."""

    def do_GET(self) -> None:
        self.answer(200, ENCODERS[self.path[1:]](b"whole" * 9)[:-3], {"Content-Encoding": self.path[1:]})


@pytest.mark.parametrize("kind", ["gzip", "deflate", "br", "zstd"])
def test_a_body_that_ends_within_its_encoding_is_not_recorded(browse, host: HostSpec, kind: str) -> None:
    with serving(Cut) as server:
        cut = host.model_copy(update={"base_url": server.url})

        def play(browser: Browser) -> None:
            with contextlib.suppress(http.client.HTTPException, ConnectionError):
                browser.ask_raw("GET", f"/{kind}")

        assert 0 == browse("record", play, host=cut).recorded
        assert {"miss": 1} == browse("replay", play, host=cut).tiers


class Odd(Choosing):
    def do_GET(self) -> None:
        self.wfile.write(b"HTTP/1.1 999 Odd\r\nSet-Cookie: nameless\r\nContent-Length: 0\r\n\r\n")


def test_a_status_and_a_cookie_out_of_the_ordinary_are_replayed_as_they_came(browse, host: HostSpec) -> None:
    got: list[tuple[int, dict[str, str], bytes]] = []
    with serving(Odd) as server:
        for mode in ("record", "replay"):
            browse(mode, asking(get(), into=got), host=host.model_copy(update={"base_url": server.url}))
    assert [(999, "nameless")] * 2 == [(status, headers["set-cookie"]) for status, headers, _ in got]
