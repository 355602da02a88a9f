"""The Langfuse adapter against a real HTTP server that answers as its public API is described."""

import base64

import pytest
from aiohttp import web

from harness.gateway.upstream.langfuse import LangfuseError
from harness.judging.langfuse import Langfuse
from harness.judging.verdicts import JudgeIdentity, Judgement
from tests.judge.judge.serving import served

PROMPTS = {
    ("greeter", "production"): {"version": 3, "type": "text", "prompt": "Say hello."},
    ("greeter", "candidate"): {"version": 4, "type": "chat", "prompt": [{"role": "system", "content": "Say hi."}]},
    ("odd/name", "production"): {"version": 1, "type": "text", "prompt": "Odd."},
    ("broken", "production"): {"version": 1},
}


class Server:
    """Keeps scores by id, as Langfuse does."""

    def __init__(self) -> None:
        self.scores: dict[str, dict] = {}
        self.seen: list[str] = []

    async def handle(self, request: web.Request) -> web.Response:
        self.seen.append(f"{request.method} {request.raw_path}")
        if request.headers["Authorization"] != "Basic " + base64.b64encode(b"pk:sk").decode():
            return web.json_response({"message": "Invalid credentials"}, status=401)
        if request.method == "POST":
            score = await request.json()
            self.scores[score["id"]] = score
            return web.json_response({"id": score["id"]})
        name = request.path.removeprefix("/api/public/v2/prompts/")
        found = PROMPTS.get((name, request.query.get("label", "production")))
        if found is None:
            return web.json_response({"message": "Prompt not found"}, status=404)
        return web.json_response({"name": name, **found})


@pytest.fixture
def server():
    kept = Server()
    with served(kept.handle, path="") as url:
        kept.url = url
        yield kept


def judgement(**fields) -> Judgement:
    values = {
        "run": "r",
        "case_id": "c",
        "attempt": 1,
        "trace_id": "trace-1",
        "trajectory": "t",
        "rubric": "shop",
        "rubric_version": "2",
        "rubric_digest": "d",
        "criterion": "grounded",
        "criterion_version": "1",
        "eligible": True,
        "passed": False,
        "rationale": "made up",
        "spans": ("step:1", "span-9"),
        "judge": JudgeIdentity(model="m", prompt="judge", prompt_version="7"),
    }
    return Judgement(**values | fields)


def test_a_prompt_by_label(server):
    langfuse = Langfuse(server.url, "pk", "sk")
    assert ("3", "Say hello.", "langfuse") == tuple(
        getattr(langfuse.prompt("greeter"), name) for name in ("version", "text", "source")
    )
    assert ("4", "Say hi.") == (
        langfuse.prompt("greeter", "candidate").version,
        langfuse.prompt("greeter", "candidate").text,
    )
    assert "Odd." == langfuse.prompt("odd/name").text
    assert "GET /api/public/v2/prompts/odd%2Fname?label=production" == server.seen[-1]


def test_a_prompt_that_is_not_there_falls_back(server):
    langfuse = Langfuse(server.url, "pk", "sk")
    assert ("fallback", "Hi.") == (
        langfuse.prompt("nobody", fallback="Hi.").version,
        langfuse.prompt("nobody", fallback="Hi.").text,
    )
    with pytest.raises(LangfuseError, match="404"):
        langfuse.prompt("nobody")
    with pytest.raises(LangfuseError, match="'broken'"):
        langfuse.prompt("broken")


def test_a_server_that_is_away_falls_back_too(server):
    gone = Langfuse("http://127.0.0.1:9", "pk", "sk")
    assert "Hi." == gone.prompt("greeter", fallback="Hi.").text
    with pytest.raises(LangfuseError, match=r"http://127\.0\.0\.1:9"):
        gone.prompt("greeter")


def test_wrong_keys_are_told_and_not_shown(server):
    with pytest.raises(LangfuseError, match="401") as refused:
        Langfuse(server.url, "pk", "other-secret").prompt("greeter")
    assert "other-secret" not in str(refused.value)
