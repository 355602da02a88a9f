"""What a recorded program reads from its environment: keys, values, and where its interpreter is."""

import base64
import sys
from pathlib import Path

import yaml
from aiohttp import BasicAuth, web

from tests.cli.record.conftest import LOCAL
from tests.judging.judge.serving import served
from tests.walks.conftest import Walk

KEY = "k3y/%41+of-the-shop"
PROGRAM = """
import base64, json, os, sys, urllib.parse, urllib.request

key = os.environ["SHOP_KEY"]
for path, headers, body in [
    ("/bearer", {"Authorization": "Bearer " + key}, None),
    ("/basic", {"Authorization": "Basic " + base64.b64encode(b"me:" + key.encode()).decode()}, None),
    ("/query?key=" + urllib.parse.quote(key, safe=""), {}, None),
    ("/json", {"Content-Type": "application/json"}, json.dumps({"key": key}).encode()),
    ("/form", {}, urllib.parse.urlencode({"key": key}).encode()),
]:
    request = urllib.request.Request(os.environ["SHOP_API"] + path, body, headers)
    print(sys.argv[1], os.environ["SHOP_REGION"], urllib.request.urlopen(request).read().decode())
"""


async def given_key(request: web.Request) -> object:
    header = request.headers.get("Authorization", "")
    match request.path:
        case "/bearer":
            return header.removeprefix("Bearer ")
        case "/basic":
            return BasicAuth.decode(header).password
        case "/query":
            return request.query["key"]
        case "/json":
            return (await request.json())["key"]
        case "/form":
            return (await request.post())["key"]
    return None


def test_a_key_reaches_the_api_and_no_file(walk: Walk) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        key = await given_key(request)
        asked.extend([] if key is None else [request.path])
        return web.json_response({"said back": key}, status=200 if key == KEY else 401)

    (walk.folder / "shop.py").write_text(PROGRAM)
    with served(answer, path="") as shop:
        env = {"SHOP_API": shop, "SHOP_KEY": KEY, "SHOP_REGION": "eu", "OTHER_KEY": "of-another-program"}
        said = walk("record", "--allow-writes", *LOCAL, "--", "python3", "shop.py", "all wares", env=env).stdout
        walk("run", *LOCAL, "--fail-under", "task_success=1")
        once = list(asked)
        unset = walk("run", *LOCAL, "--live", "tools", status=2).stderr
        walk("run", *LOCAL, "--live", "tools", "--fail-under", "task_success=1", env=env)
    path = walk.folder / "suites/shop/suite.yaml"
    suite = yaml.safe_load(path.read_text())
    forms = (KEY, base64.b64encode(f"me:{KEY}".encode()).decode(), "k3y%2F%2541%2Bof-the-shop")
    files = [one.read_text(errors="replace") for one in walk.folder.rglob("*") if one.is_file()]
    path.write_text(path.read_text().replace("secrets:\n- SHOP_KEY\n", ""))
    undeclared = walk("run", *LOCAL, status=2).stderr

    assert "complete, and equal" in said
    assert ["/bearer", "/basic", "/query", "/json", "/form"] == once
    assert 2 * once == asked
    assert ["SHOP_KEY"] == suite["secrets"]
    env = {"SHOP_API": "http://shop-api.test", "SHOP_KEY": "${SHOP_KEY}", "SHOP_REGION": "eu"}
    assert env == suite["agents"]["command"]["env"]
    assert [] == [form for form in forms for text in files if form in text]
    assert "SHOP_KEY is not set" in unset
    assert "add SHOP_KEY to `secrets`" in undeclared


def test_a_program_of_a_virtual_environment_is_found_where_another_machine_has_it(tmp_path: Path) -> None:
    venv, moved, walk = tmp_path / "one/venv", tmp_path / "other/venv", Walk(tmp_path / "project")
    packages = venv / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    for folder in (packages, venv / "bin", moved.parent, walk.folder):
        folder.mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\n")
    (venv / "bin/python").symlink_to(f"{sys.base_prefix}/bin/python3")
    (packages / "own_sdk.py").write_text("NAME = 'own'\n")
    (walk.folder / "agent.py").write_text("import own_sdk, sys\nprint(own_sdk.NAME, sys.argv[1])\n")
    (walk.folder / "requirements.txt").write_text("own-sdk\n")
    words = ("agent.py", "all wares")
    said = walk("record", "--", "python", *words, env={"PATH": f"{venv}/bin:/usr/bin:/bin"}).stdout
    venv.rename(moved)
    env = {"PATH": f"{moved}/bin:/usr/bin:/bin"}
    walk("run", "--fail-under", "task_success=1", env=env)
    walk("record", "agent", env=env)
    typed = walk("record", "typed", "--", f"{moved}/bin/python", *words, env=env).stdout
    refused = walk("record", "none", "--", f"{moved}/bin/python", *words, status=2).stderr
    walk("init", ".", "--ci", "github", env=env)
    (walk.folder / "requirements.txt").unlink()
    walk("init", ".", "--ci", "shell", env=env)
    workflow = (walk.folder / ".github/workflows/harness-pull-request.yml").read_text()

    assert "next: harness run     replays" in said
    assert "complete, and equal" in typed
    assert f"`source {moved}/bin/activate`" in refused
    for name in ("agent", "typed"):
        assert str(tmp_path) not in (walk.folder / f"suites/{name}/suite.yaml").read_text()
        assert f'{{suite: {name}, options: "--sandbox local"}}' in workflow
    assert "&& exit 2" in (walk.folder / "ci/harness-pull-request.sh").read_text()
    assert 1 == workflow.count(".venv/bin/python -m pip install -r requirements.txt\n")
