"""Servers and SDKs from the package index, unchanged: recorded live, replayed without them, one trajectory digest."""

import json
import socket
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

import pytest

from harness.traces.trajectory import Trajectory

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SERVERS = ("mcp-server-git", "mcp-server-time")
OF_SDK_1 = ("mcp-server-sqlite", "mcp<2")  # it says that it takes any SDK, and takes only the first
OVER_HTTP = """
import sys
from mcp.server.fastmcp import FastMCP

server = FastMCP("counter", host="127.0.0.1", port=int(sys.argv[1]))
total = {"value": 0}

@server.tool()
def add(number: int) -> dict[str, int]:
    "Adds to the total."
    total["value"] += number
    return dict(total)

server.run(transport="streamable-http")
"""
# The same program for both SDKs; only how a client is opened differs.
SDK_AGENT = """
import asyncio, json, os, sys, time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site"))
import urllib.request

URL = os.environ["HARNESS_MCP_URL"]

async def play(client):
    listed = await client.list_tools()
    told = [sorted(tool.name for tool in listed.tools)]
    for name, arguments in (("note_add", {"text": "eggs"}), ("note_add", {"text": "ham"}), ("notes", {}), ("fail", {})):
        result = await client.call_tool(name, arguments)
        told.append(json.loads(result.model_dump_json(by_alias=True, exclude_none=True)))
    try:
        await client.call_tool("nothing", {})
    except Exception as error:
        told.append(type(error).__name__)
    return told

async def main():
    import mcp
    if hasattr(mcp, "Client"):
        told = []
        for mode in sys.argv[1:]:
            async with mcp.Client(URL, mode=mode, cache=None) as client:
                told.append(await play(client))
    else:
        from mcp.client.streamable_http import streamable_http_client
        async with streamable_http_client(URL) as (read, write, *_), mcp.ClientSession(read, write) as client:
            await client.initialize()
            told = [await play(client)]
    body = json.dumps({"message": json.dumps(told)}).encode()
    urllib.request.urlopen(urllib.request.Request(os.environ["HARNESS_GATEWAY_URL"] + "/reply", body))

asyncio.run(main())
"""


def pip(python: Path, *words: str) -> None:
    done = subprocess.run([python, "-m", "pip", *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"pip {' '.join(words)}\n{done.stderr}"


def new_environment(folder: Path, *packages: str) -> Path:
    """The bin folder of a virtual environment; where the index cannot be reached, the test fails."""
    venv.create(folder, with_pip=True)
    pip(folder / "bin" / "python", "install", "--quiet", "--disable-pip-version-check", *packages)
    return folder / "bin"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_environment(tmp_path_factory.mktemp("servers") / "env", *SERVERS)


@pytest.fixture(scope="module")
def servers_of_sdk_1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_environment(tmp_path_factory.mktemp("servers1") / "env", *OF_SDK_1)


def digest(trial: dict[str, Any]) -> str:
    assert trial["outcome"] == "finished", trial["reason"]
    return Trajectory.model_validate(trial["trajectory"]).digest


def check_same(own_project: Any, calls: int) -> None:
    recorded = own_project.run("record", "recorded")
    replayed = own_project.run("replay", "replayed")
    assert replayed["tiers"] == {"exact": calls}
    assert digest(replayed) == digest(recorded)
    print("digest", digest(recorded))


def test_git_time_and_sqlite_are_recorded_live_and_replayed_sealed(
    own_project, servers: Path, servers_of_sdk_1: Path
) -> None:
    groups = [
        {"mcp": {"command": [str(servers / "mcp-server-git")], "files": "repository"}, "server": "git"},
        {"mcp": {"command": [str(servers / "mcp-server-time"), "--local-timezone", "UTC"]}, "server": "time"},
        {"mcp": {"command": [str(servers_of_sdk_1 / "mcp-server-sqlite"), "--db-path", "{work}/a.db"]}, "server": "db"},
    ]
    (own_project.suite / "repository").mkdir()
    (own_project.suite / "repository" / "menu.txt").write_text("eggs\n")
    subprocess.run(
        ["git", "init", "--quiet", "--initial-branch", "main"], cwd=own_project.suite / "repository", check=True
    )
    convert = {"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "UTC"}
    calls = [
        ["mcp", "git_status", {"repo_path": "."}],
        ["mcp", "git_add", {"repo_path": ".", "files": ["menu.txt"]}],
        ["http", "git_status", {"repo_path": "."}],
        ["http", "git_diff_staged", {"repo_path": "."}],
        ["mcp", "convert_time", convert],
        ["mcp", "convert_time", convert | {"target_timezone": "Nowhere/City"}],
        ["mcp", "create_table", {"query": "create table orders (item text, quantity integer)"}],
        ["mcp", "write_query", {"query": "insert into orders values ('eggs', 2)"}],
        ["http", "read_query", {"query": "select * from orders"}],
    ]
    own_project.write([group | {"disposable": True} for group in groups], calls)
    own_project.type("tool", "refresh", "s")
    check_same(own_project, len(calls))
    answers = json.loads(own_project.trial("replayed")["trajectory"]["final_output"])
    assert "new file:   menu.txt" in answers[2][1]["content"][0]["text"]
    assert "+eggs" in answers[3][1]["content"][0]["text"]
    assert answers[5][1]["result"]["isError"] is True
    assert answers[8][1]["content"][0]["text"] == "[{'item': 'eggs', 'quantity': 2}]"


def test_a_server_of_the_official_sdk_over_http_is_recorded_and_replayed(
    own_project, servers_of_sdk_1: Path, tmp_path: Path
) -> None:
    (tmp_path / "server.py").write_text(OVER_HTTP)
    port = free_port()
    server = subprocess.Popen(
        [servers_of_sdk_1 / "python", tmp_path / "server.py", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        group = {"mcp": {"base_url": f"http://127.0.0.1:{port}/mcp"}, "server": "counter", "disposable": True}
        calls = [["mcp", "add", {"number": 2}], ["http", "add", {"number": 3}], ["mcp", "add", {"number": "x"}]]
        own_project.write([group], calls)
        wait_until_open(port)
        own_project.type("tool", "refresh", "s")
        recorded = own_project.run("record", "recorded")
    finally:
        server.terminate()
        server.wait(60)
    assert digest(own_project.run("replay", "replayed")) == digest(recorded)
    first, second, wrong = json.loads(recorded["trajectory"]["final_output"])
    assert first[1]["result"]["structuredContent"]["value"] == 2
    assert second[1]["structuredContent"]["value"] == 5
    assert wrong[1]["result"]["isError"] is True


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


def wait_until_open(port: int) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server did not start")


@pytest.mark.docker
@pytest.mark.parametrize(
    ("package", "modes"), [("mcp<2", []), ("mcp>=2,<3", ["auto", "legacy", "2026-07-28"])], ids=["sdk-1", "sdk-2"]
)
def test_clients_of_the_official_sdk_call_tools_inside_and_outside_of_the_container(
    own_project, package: str, modes: list[str], base_image: str
) -> None:
    here = Path(__file__).parent
    (own_project.suite / "tiny_server.py").write_bytes((here / "tiny_server.py").read_bytes())
    group = {
        "mcp": {"command": [sys.executable, "{suite}/tiny_server.py"]},
        "server": "tiny",
        "disposable": True,
    }
    command = ["python3", "{agent}/agent.py", *modes]
    own_project.write([group], [], agents={"a": {"command": command, "files": "agent"}})
    (own_project.suite / "agent" / "agent.py").write_text(SDK_AGENT)
    site = own_project.suite / "agent" / "site"
    pip(Path(sys.executable), "install", "--quiet", "--disable-pip-version-check", "--target", str(site), package)
    (own_project.folder / "images").symlink_to(here.parents[2] / "images")
    own_project.type("tool", "refresh", "s")
    recorded = own_project.run("record", "recorded")
    outside = own_project.run("replay", "outside")
    own_project.type("run", "s", "--run-name", "inside")
    inside = own_project.trial("inside")
    assert {digest(trial) for trial in (recorded, outside, inside)} == {digest(recorded)}
    told = json.loads(inside["trajectory"]["final_output"])
    assert [item[0] for item in told] == [["fail", "note_add", "notes"]] * max(1, len(modes))
    assert told[0][1]["content"] == [{"type": "text", "text": "1 notes"}]
    assert told[0][4]["isError" if "isError" in told[0][4] else "is_error"] is True
    assert told[0][5] in {"McpError", "MCPError"}
