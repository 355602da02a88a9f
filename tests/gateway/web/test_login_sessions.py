"""Sessions of hosts that log an agent in: they pass while they are recorded, and in every replay."""

import json
import secrets
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlencode

import pytest

from harness.suite.hosts import HostSpec
from tests.gateway.web.choosing import Choosing, serving
from tests.gateway.web.conftest import Browser
from tests.gateway.web.hostile import HOST

FORM = "application/x-www-form-urlencoded"
FOREVER = "Wed, 09 Jun 2100 10:18:14 GMT"


class Shop(Choosing):
    """GET /login gives a CSRF cookie; POST /login checks it and gives a session; /me wants the session."""

    def do_GET(self) -> None:
        state, jar = self.server.state, SimpleCookie(self.headers.get("Cookie", ""))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        session = jar["sid"].value if "sid" in jar else None
        if self.command == "GET" and self.path == "/login":
            token = state["csrf"] = state["new"]()
            page = json.dumps({"form": f'<input name="csrf" value="{unquote(token)}">', "token": unquote(token)})
            cookies = [f"csrftoken={token}; Path=/; SameSite=Lax", "theme=dark; Path=/"]
            self.answer(200, page.encode(), [("Set-Cookie", one) for one in cookies])
        elif self.path == "/login":
            shown = self.headers.get("X-CSRF-Token") or parse_qs(body).get("csrf", [""])[0] or json.loads(body)["csrf"]
            if "csrftoken" not in jar or unquote(jar["csrftoken"].value) != shown or shown != unquote(state["csrf"]):
                self.answer(403, b'{"error": "csrf"}', {})
                return
            state["sid"] = state["new"]()
            cookie = f"sid={state['sid']}; Expires={FOREVER}; Path=/; HttpOnly; Secure"
            self.answer(200, b'{"ok": true}', [("Set-Cookie", cookie), ("X-Auth-Token", state["sid"])])
        elif session != state.get("sid") or session is None:
            self.answer(401, b'{"error": "who are you?"}', {})
        elif self.path == "/logout":
            self.answer(200, b"{}", {"Set-Cookie": "sid=; Max-Age=0; Path=/"})
        else:
            self.answer(200, json.dumps({"name": "Alice", "session": session}).encode(), {})

    do_POST = do_GET


NEW = {
    "long": lambda: secrets.token_hex(16),
    "short": lambda: secrets.token_hex(2),
    "words": lambda: "".join(secrets.choice("abcdefgh") for _ in range(20)),
    "quoted": lambda: quote(secrets.token_urlsafe(12) + "=/+=", safe=""),
    "signed": lambda: f"s:{secrets.token_urlsafe(16)}.{secrets.token_hex(8)}",
}


class Agent:
    """Keeps cookies as a client does, and sends the token back in the way that it is told."""

    def __init__(self, way: str) -> None:
        self.way, self.jar, self.seen = way, dict[str, str](), list[object]()

    def __call__(self, browser: Browser) -> None:
        self.ask(browser, "GET", "/me")
        token = json.loads(self.ask(browser, "GET", "/login"))["token"]
        body, headers = b"", {}
        match self.way:
            case "header":
                headers = {"X-CSRF-Token": unquote(self.jar["csrftoken"])}
            case "form":
                body, headers = urlencode({"user": "alice", "csrf": token}).encode(), {"Content-Type": FORM}
            case "json":
                body, headers = json.dumps({"csrf": token}).encode(), {"Content-Type": "application/json"}
        self.ask(browser, "POST", "/login", body, **headers)
        assert {"csrftoken", "theme", "sid"} == set(self.jar)
        self.ask(browser, "GET", "/me")
        self.ask(browser, "POST", "/logout")
        self.ask(browser, "GET", "/me")

    def ask(self, browser: Browser, method: str, target: str, body: bytes = b"", **headers: str) -> bytes:
        if self.jar:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        browser._connection.request(method, target, body or None, headers)
        response = browser._connection.getresponse()
        told = response.read()
        for line in response.headers.get_all("Set-Cookie", []):
            name, _, value = line.partition("=")
            self.jar[name] = value.partition(";")[0]
            self.seen.append(line.partition(";")[2])
        self.seen.append((response.status, sorted(json.loads(told))))
        return told


@pytest.mark.parametrize(
    ("way", "kind"), [("form", next(iter(NEW))), ("json", next(iter(NEW))), *(("header", kind) for kind in NEW)]
)
def test_a_login_session_is_recorded_replayed_and_recorded_again(browse, tmp_path: Path, kind: str, way: str) -> None:
    cassette = tmp_path / "cassettes/breakfast/c1.yaml"
    with serving(Shop) as server:
        server.state["new"] = NEW[kind]
        host = HostSpec(host=HOST, base_url=server.url, disposable=True)
        first = Agent(way)
        browse("record", first, host=host)
        kept = cassette.read_text()
        issued = [server.state["csrf"], server.state["sid"]]
        again = Agent(way)
        browse("record", again, host=host)
        assert issued != [server.state["csrf"], server.state["sid"]]
    statuses = [seen[0] for seen in first.seen if isinstance(seen, tuple)]
    assert [401, 200, 200, 200, 200, 401] == statuses
    assert first.seen == again.seen
    assert kept == cassette.read_text()
    if kind != "short":
        assert not any(value in kept or unquote(value) in kept for value in issued)

    for agent in (Agent(way), Agent(way)):
        assert {"exact": 6} == browse("replay", agent, host=host).tiers
        assert _without_expiry(first.seen) == _without_expiry(agent.seen)
        assert any("2100" in str(seen) or "Expires=" in str(seen) for seen in agent.seen)
    stranger = Agent(way)
    stranger.jar = {"sid": "stolen-session-4711"}
    with pytest.raises(Exception, match=r".*"):
        browse("replay", stranger, host=host)


def _without_expiry(seen: list[object]) -> list[object]:
    return [str(one).partition("Expires")[0] for one in seen]
