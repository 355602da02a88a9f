"""What was recorded of a declared host is replayed by stock vcrpy to the clients that people use."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.cassettes.cassette import Cassette, load_cassette, save_cassette
from harness.cassettes.check import check_cassette
from harness.cassettes.keys import initial_state, key_digest
from harness.cassettes.recordings import Mark, Recording
from harness.values import JsonObject, canonical_json
from tests.docs.blocks import ROOT, blocks_of

HOST = "http:api.example.com"
ASKED: tuple[tuple[JsonObject, bytes], ...] = (
    ({"method": "GET", "url": "https://api.example.com/items", "query": {"q": "a b", "page": ["1", "2"]}}, b'["egg"]'),
    ({"method": "POST", "url": "https://api.example.com/orders", "json": {"item": "egg"}}, b'{"id": 7}'),
    ({"method": "POST", "url": "http://api.example.com:8080/login", "form": {"user": "ann é"}}, b"welcome"),
    ({"method": "PUT", "url": "https://api.example.com/note", "text": "watered"}, b"kept"),
)
CLIENTS = {
    "requests": "import requests\nask = requests.request",
    "httpx": "import httpx\nask = httpx.request",
}
SCRIPT = """
import json, sys, vcr
{client}
with vcr.use_cassette(sys.argv[1], serializer=sys.argv[2], record_mode="none") as cassette:
    answers = [
        ask("GET", "https://api.example.com/items", params={{"page": ["1", "2"], "q": "a b"}}).json(),
        ask("POST", "https://api.example.com/orders", json={{"item": "egg"}}).json(),
        ask("POST", "http://api.example.com:8080/login", data={{"user": "ann é"}}).text,
        ask("PUT", "https://api.example.com/note", {raw}="watered").text,
    ]
    assert cassette.all_played
print(json.dumps(answers))
"""


def recording(asked: JsonObject, body: bytes) -> Recording:
    arguments = canonical_json(asked)
    mark = Mark(
        server=HOST,
        tool=HOST,
        effect="read" if asked["method"] == "GET" else "write",
        key=key_digest(HOST, arguments, "http"),
        state=initial_state(HOST),
        writes=0,
        occurrence=0,
        kind="http",
    )
    return Recording(mark=mark, arguments=arguments, status=200, headers={"content-type": "text/plain"}, body=body)


@pytest.mark.parametrize(("client", "ending"), list(zip(CLIENTS, ("yaml", "json"), strict=True)))
def test_stock_vcrpy_replays_a_client_of_a_declared_host(tmp_path: Path, client: str, ending: str) -> None:
    path = tmp_path / f"c.{ending}"
    save_cassette(path, Cassette(recording(*one) for one in ASKED), suite="s", case="c")
    script = SCRIPT.format(client=CLIENTS[client], raw="data" if client == "requests" else "content")

    done = subprocess.run(  # in a process of its own: vcrpy's patching is global
        [sys.executable, "-c", script, str(path), ending], capture_output=True, text=True, timeout=60, check=False
    )

    assert ("", 0) == (done.stderr, done.returncode)
    assert [["egg"], {"id": 7}, "welcome", "kept"] == json.loads(done.stdout)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_documented_program_replays_what_was_recorded_of_a_real_run(client: str) -> None:
    (program,) = [block.text for block in blocks_of(ROOT / "docs/how-to/gateway/http.md") if block.language == "python"]

    done = subprocess.run(
        [sys.executable, "-c", program.replace("requests", client)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ("", 0) == (done.stderr, done.returncode)


def test_it_is_read_back_as_it_was_and_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    held = Cassette(recording(*one) for one in ASKED)
    save_cassette(path, held, suite="s", case="c")

    assert held.recordings == load_cassette(path).recordings
    assert () == check_cassette(path, {})


def test_one_of_an_older_version_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    (held,) = (recording(*ASKED[0]),)
    save_cassette(path, Cassette([held]), suite="s", case="c")
    plain = yaml.safe_load(path.read_text(encoding="utf-8"))
    (interaction,) = plain["interactions"]
    interaction["request"] |= {
        "body": interaction["response"]["x-harness"].pop("arguments"),
        "method": "POST",
        "uri": "http://api.example.com.http.invalid/http:api.example.com",
    }
    path.write_text(yaml.safe_dump(plain), encoding="utf-8")

    assert (held,) == load_cassette(path).recordings
