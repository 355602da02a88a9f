"""Acts on pages, in a real Chromium in its own sandbox."""

import http.client
import json
import socket

import docker
import pytest

from harness.gateway.session import TrialSession
from harness.sandbox.browser import BrowserGone, PageQuery
from harness.traces.projection import trajectory_from
from tests.sandbox.browser.conftest import HOST

pytestmark = [pytest.mark.docker, pytest.mark.slow]
KILL_CHROMIUM = "for p in /proc/[0-9]*; do grep -qa '[c]hromium/chromium' $p/cmdline && kill -9 ${p#/proc/}; done"
PNG = b"\x89PNG\r\n\x1a\n"


def test_it_begins_at_the_known_address_and_acts_like_a_visitor(shared, site) -> None:
    assert '- heading "Start" [level=1]' in shared("read").said["outline"]
    assert f"http://{HOST}/form" == shared("click", target="text=form").said["url"]
    # What a script fetches afterwards is there before the answer is given.
    assert "came later" in shared("read").said["outline"]

    assert 200 == shared("type", target="#what", text="a kite").status
    assert 200 == shared("type", target="#size", text="large").status
    sent = shared("click", target='role=button[name="Send"]')

    assert (200, f"http://{HOST}/wish") == (sent.status, sent.said["url"])
    assert "POST /wish what=a+kite&size=large" in site[1]
    assert "what=a+kite&size=large" == shared.text("#heard")
    assert shared.browser.picture().startswith(PNG)


def test_what_cannot_be_done_is_said_in_words(shared) -> None:
    shared.go("/twins")

    several = shared("click", target="text=Go")
    missing = shared("click", target="#nothing")
    unreadable = shared("click", target="role=[[")
    elsewhere = shared("open", url="file:///etc/passwd")

    assert (409, True) == (several.status, "means 2 elements" in several.said["message"])
    assert (404, True) == (missing.status, "#nothing" in missing.said["message"])
    assert (400, True) == (unreadable.status, "role=[[" in unreadable.said["message"])
    assert (400, True) == (elsewhere.status, "http://" in elsewhere.said["message"])
    assert (200, 404) == ((no_page := shared.go("/no-such-page")).status, no_page.said["status"])


def test_no_other_host_is_reached_by_whatever_way(window, session: TrialSession) -> None:
    plain = window("open", url="http://other.example/")
    secure = window("open", url="https://other.example/")
    ours = window("open", url="http://127.0.0.1:8700/turn")
    window.go("/reaching-out")

    for _ in range(60):
        said = [one["text"] for one in _elements(window, "#log li")]
        if "done" in said:
            break

    assert (403, True) == (plain.status, "other.example:80" in plain.said["message"])
    assert (404, True) == (secure.status, "no such host" in secure.said["message"])
    assert (403, True) == (ours.status, "no host" in ours.said["message"])
    assert [
        "fetch failed",
        "reply opaque 0",  # refused by the gateway, which a page is not shown
        "tools failed",
        "proxied opaque 0",
        "engine failed",
        "metadata failed",
        "socket failed",
        "own-socket failed",
        "done",
    ] == said
    record = session.end()
    assert record.final_reply is None
    refused = {span.name for span in record.spans if span.attributes.get("error.type") == "not_allowed"}
    for host in (
        "fetched.example:443",
        "image.example:80",
        "script.example:443",
        "socket.example:443",
        "169.254.169.254:80",
    ):
        assert f"page http:{host}" in refused
    assert "page http:site.test" in {span.name for span in record.spans}
    assert () == trajectory_from(record.spans).calls


def test_what_pages_do_by_themselves_is_told(shared) -> None:
    shared.go("/dialogs")
    assert [{"kind": "confirm", "message": "Sure?", "answer": "dismissed"}] == shared("click", target="text=Ask").said[
        "events"
    ]
    assert "false" == shared.text("#out")
    shared("click", target="text=Ask", dialog="accept")
    assert "true" == shared.text("#out")
    assert "accepted" == shared("click", target="text=Tell").said["events"][0]["answer"]

    shared.go("/download")
    assert [{"kind": "download_refused", "file": "a.bin"}] == shared("click", target="text=take it").said["events"]
    assert f"http://{HOST}/download" == shared("read").said["url"]

    shared.go("/popup")
    opened = shared("click", target="text=another window").said
    assert (f"http://{HOST}/form", [{"kind": "new_page"}]) == (opened["url"], opened["events"])


def test_a_page_that_never_comes_or_never_ends_costs_its_time_and_no_more(shared) -> None:
    never = shared("open", within_s=4, url=f"http://{HOST}/never")
    loop = shared("open", within_s=6, url=f"http://{HOST}/loop")
    after = shared.go("/form")

    assert (408, True) == (never.status, "3.6 s" in never.said["message"])
    assert (408, True) == (loop.status, "within" in loop.said["message"])
    assert (200, "/form") == (after.status, after.said["title"])


def test_of_a_huge_page_the_beginning_is_read(shared) -> None:
    shared.go("/huge")

    read = shared("read", most_chars=5000).said

    assert (5000, True) == (len(read["outline"]), read["cut"].startswith("the first 5000 of "))
    assert 50 == len(_elements(shared, "p"))


def test_a_page_that_takes_all_memory_crashes_and_the_next_is_opened(window) -> None:
    crashed = window("open", url=f"http://{HOST}/hog")
    again = window.go("/form")

    assert crashed.status in {404, 410}
    assert "crashed" in crashed.said["message"].lower()
    assert (200, "/form") == (again.status, again.said["title"])


def test_a_sealed_profile_and_a_clock_are_what_pages_see(opened) -> None:
    cookie = {"name": "who", "value": "ada", "domain": HOST, "path": "/", "expires": -1}
    whole = cookie | {"httpOnly": False, "secure": False, "sameSite": "Lax"}
    window = opened(profile={"cookies": [whole], "origins": []}, clock="2030-05-06T07:08:09Z")

    window.go("/cookie")
    assert "who=ada" == window.text("#cookie")
    window.go("/leave-cookie")
    fresh = PageQuery(selectors=("#cookie",), url=f"http://{HOST}/cookie", fresh=True)
    assert "who=ada; left=crumb" == window.text("#cookie")
    assert "who=ada" == window.browser.look(fresh, 60.0).said["found"]["#cookie"]["elements"][0]["text"]
    assert f"http://{HOST}/leave-cookie" == window("read").said["url"]
    window.go("/clock")
    assert window.text("#now").startswith("2030-05-06T07:")


def test_a_browser_that_is_gone_is_a_failure_of_the_harness(window, session: TrialSession) -> None:
    session.attach_browser(lambda: window.browser)
    assert 200 == _called(session, "browser_read", {})[0]

    client = docker.from_env()
    (container,) = client.containers.list(filters={"label": f"harness.trial={window.label}"})
    assert "none" == container.attrs["HostConfig"]["NetworkMode"]
    container.exec_run(["sh", "-c", KILL_CHROMIUM])
    client.close()
    status, said = _called(session, "browser_read", {})

    assert (500, "harness_failed") == (status, said["error"]["type"])
    with pytest.raises(BrowserGone):
        session.end()


def _called(session: TrialSession, tool: str, arguments: dict) -> tuple[int, dict]:
    connection = http.client.HTTPConnection("gateway")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(session.socket))
    connection.request("POST", f"/tools/{tool}", json.dumps(arguments), {"Content-Type": "application/json"})
    response = connection.getresponse()
    said = json.loads(response.read())
    connection.close()
    return response.status, said


def _elements(window, selector: str) -> list[dict]:
    return window.browser.look(PageQuery(selectors=(selector,)), 60.0).said["found"][selector]["elements"]
