"""Requests by which an agent would use the provider's key for something else: none of them reaches the provider."""

import json
import random
import socket
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from qa.soak.attacks.project import Project, project, row_of, sandboxes
from qa.soak.rows import Row
from tests.gateway.models.model_server import ModelServer, serve_models

Request = tuple[str, str, str | None, dict[str, str]]
CHAT, RESPONSES, MESSAGES, EMBEDDINGS = "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings"
KEY = "sk-model-endpoint-0815-4711"
HELLO: dict[str, Any] = {"model": "small-1", "messages": [{"role": "user", "content": "Hello"}]}
ASKED = {CHAT: HELLO, RESPONSES: {"model": "small-1", "input": "Hello"}, MESSAGES: HELLO | {"max_tokens": 9}}
_SUITE = """\
secrets: [MODEL_KEY]
model: {{base_url: "{url}", api_key: MODEL_KEY}}
"""
_AWAY = (
    "..",
    "%2e%2e",
    ".%2E",
    "%252e%252e",
    "..%2f..",
    "..%5c..",
    "..\\..",
    "..;",
    "%2e%2e%3b",
    "..%00",
    "%c0%ae%c0%ae",
)
_OTHERS = (
    "/v1/files",
    "/v1/fine_tuning/jobs",
    "/v1/assistants",
    "/v1/threads/runs",
    "/v1/batches",
    "/v1/messages/batches",
    "/v1/images/generations",
    "/v1/audio/speech",
    "/v1/moderations",
    "/v1/realtime",
    "/v1/containers",
    "/v1/vector_stores",
    "/v1/responses/resp_1",
    "/v1/responses/resp_1/cancel",
    "/v1/conversations",
    "/v1/uploads",
    "/v1/organization/api_keys",
    "/v1/complete",
    "/v1/completions",
    "/v1/chat/completions/",
    "/v1//chat/completions",
    "/v1/./chat/completions",
    "/v1/Chat/Completions",
    "/V1/chat/completions",
    "/v1/chat/completions%20",
    "/v1/chat/completions%0d%0aX-A:%20b",
    "/v1/chat/completions;a=b",
    "//127.0.0.1/v1/models",
)
_METHODS = ("GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "HEAD", "post", "X")
_QUERIES = ("?plugins=web", "?beta=true&key=x", "?api-version=2", "?model=other", "?%62eta=1&x=y", "?a=b%26beta=1")
_TOOLS = {
    CHAT: ("web_search", "web_search_preview", "code_interpreter", "mcp", "browser_search", "openrouter:web"),
    RESPONSES: ("web_search", "web_search_preview", "code_interpreter", "mcp", "file_search", "computer_use_preview",
                "image_generation", "shell", "apply_patch_remote"),
    MESSAGES: ("web_search_20250305", "web_fetch_20250910", "code_execution_20250825", "mcp_toolset",
               "tool_search_tool_regex_20251119", "custom_web_search"),
}  # fmt: skip
_FIELDS: dict[str, tuple[dict[str, Any], ...]] = {
    CHAT: (
        {"web_search_options": {}},
        {"web_search_options": {"search_context_size": "low"}},
        {"plugins": [{"id": "web"}]},
        {"Tools": [{"type": "web_search"}]},
        {"tools ": [{"type": "web_search"}]},
        {"tools": {"0": {"type": "web_search"}}},
        {"tools": [[{"type": "web_search"}]]},
        {"tools": [{"function": {"name": "f"}, "type": ["web_search"]}]},
        {"extra_body": {"tools": [{"type": "web_search"}]}},
        {"web_search": True},
        {"enable_search": True},
        {"search_parameters": {"mode": "on"}},
        {"data_sources": [{"type": "azure_search"}]},
        {"models": ["other-1"]},
        {"provider": {"order": ["x"]}},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/a.png"}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": "https://x/a"}}]}]},
    ),
    RESPONSES: (
        {"prompt": {"id": "pmpt_1"}},
        {"background": True},
        {"conversation": "conv_1"},
        {"tools": [{"type": "function", "name": "f"}, {"type": "mcp", "server_url": "https://x", "server_label": "x"}]},
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "https://x/a.png"}]}]},
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "https://x/a.pdf"}]}]},
    ),
    MESSAGES: (
        {"mcp_servers": [{"type": "url", "url": "https://x", "name": "x"}]},
        {"container": {"skills": [{"skill_id": "xlsx"}]}},
        {"container": "container_1"},
        {"tools": [{"type": "web_search_20250305", "name": "web_search", "input_schema": {"type": "object"}}]},
        {
            "messages": [
                {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://x/a"}}]}
            ]
        },
        {
            "messages": [
                {"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": "https://x"}}]}
            ]
        },
    ),
}
_TWICE = (
    (CHAT, '{"model":"small-1","messages":[],"tools":[{"type":"web_search"}],"tools":[]}'),
    (CHAT, '{"model":"small-1","messages":[],"tools":[],"tools":[{"type":"web_search"}]}'),
    (CHAT, '{"model":"small-1","messages":[],"tool\\u0073":[{"type":"web_search"}],"tools":[]}'),
    (CHAT, '{"model":"small-1","model":"large-1","messages":[]}'),
    (RESPONSES, '{"model":"small-1","input":"Hi","tools":[{"type":"mcp","type":"function","name":"f"}]}'),
    (RESPONSES, '{"model":"small-1","input":"Hi","background":true,"background":false}'),
    (MESSAGES, '{"model":"small-1","messages":[],"mcp_servers":[{"url":"x"}],"mcp_servers":[]}'),
)
_NO_OBJECT = ("[]", "null", '"x"', "{", "", "{}{}", '{"model": NaN}', "\u0000{}", "[" * 5_000)
GOOD: tuple[Request, ...] = (
    *(("POST", path, json.dumps(body), {}) for path, body in ASKED.items()),
    ("POST", EMBEDDINGS, json.dumps({"model": "small-1", "input": "Hi"}), {}),
    ("GET", "/v1/models", None, {}),
    ("GET", "/v1/models/small-1", None, {}),
)


def attacks() -> list[Request]:
    """Each is a request of which nothing may go upstream."""
    hello = json.dumps(HELLO)
    paths = [f"/v1/models/{away}/{rest}" for away in _AWAY for rest in ("admin", "..", "files")] + list(_OTHERS)
    paths += [f"{path}/{away}/files" for path in ASKED for away in _AWAY]
    found: list[Request] = [("GET", path, None, {}) for path in paths] + [("POST", path, hello, {}) for path in paths]
    for path, body in ASKED.items():
        text = json.dumps(body)
        found += [(method, path, text, {}) for method in _METHODS]
        found += [("POST", f"{path}{query}", text, {}) for query in _QUERIES]
        found += [
            ("POST", path, json.dumps(body | {"tools": [{"type": kind, "name": "x"}]}), {}) for kind in _TOOLS[path]
        ]
        found += [("POST", path, json.dumps(body | more), {}) for more in _FIELDS[path]]
        found += [("POST", path, told, {}) for told in _NO_OBJECT]
    found += [("POST", path, told, {}) for path, told in _TWICE]
    return [*found, ("GET", "/v1/models", hello, {}), ("DELETE", "/v1/models/small-1", None, {})]


def rows(random: random.Random, scale: float) -> Iterator[Row]:
    for sandbox in sandboxes(scale):
        with serve_models() as models, project() as here:
            _write(here, models.url)
            every = attacks()
            tried = every if scale >= 0.1 else random.sample(every, 120)
            yield _refused(here, models, sandbox, tried)
            yield _sent_on(here, models, sandbox)


def _write(here: Project, url: str) -> None:
    agent = Path(__file__).with_name("sender.py").read_text(encoding="utf-8")
    here.write(_SUITE.format(url=url), "- {id: c, task: x, limits: {seconds: 300}}\n", agent)


def _asked(here: Project, run: str, sandbox: str, requests: list[Request]) -> list[str]:
    """What the agent was answered."""
    (here.suite / "agent" / "requests.json").write_text(json.dumps(requests), encoding="utf-8")
    words = ["run", "s", "--sandbox", sandbox, "--live", "model", "--run-name", run]
    done = here(*words, env={"MODEL_KEY": KEY}, timeout_s=400)
    assert done.returncode == 0, done.stderr[-500:]
    with tarfile.open(here.folder / "runs" / run / "trials" / "c" / "1" / "end_state.tar") as tar:
        kept = next(entry for entry in tar if entry.name.endswith("answers.json"))
        stream = tar.extractfile(kept)
        assert stream is not None
        answers: list[str] = json.loads(stream.read())
    return answers


def _refused(here: Project, models: ModelServer, sandbox: str, tried: list[Request]) -> Row:
    missing = [] if _counted(models) else ["the server does not count strange requests"]
    models.seen.clear()
    answers = _asked(here, "attacks", sandbox, tried)
    wrong = [
        ("whole", f"asked upstream: {path} {body[:80]!r}") for path, headers, body in models.seen if _by_agent(headers)
    ]
    for (method, path, body, _), answer in zip(tried, answers, strict=True):
        status = answer.partition(" ")[2][:3]
        if not answer or not status.startswith("4"):
            wrong.append((f"{method} {path} {(body or '')[:120]}", f"answered {answer[:60]!r}"))
    return row_of(f"model endpoint, {sandbox}: nothing else reaches the provider", len(tried), wrong, missing)


def _by_agent(headers: dict[str, str]) -> bool:
    """The harness itself asks whether the server is there, without a key."""
    return KEY in headers.get("authorization", "") + headers.get("x-api-key", "")


def _counted(models: ModelServer) -> bool:
    """The control: sent straight to the provider, a path that leads away is served and counted there."""
    models.seen.clear()
    place = urlsplit(models.url)
    assert place.hostname is not None
    with socket.create_connection((place.hostname, place.port or 80), timeout=30) as connection:
        connection.sendall(b"GET /v1/models/%2e%2e/files HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        connection.recv(1 << 16)
    return len(models.seen) == 1


def _sent_on(here: Project, models: ModelServer, sandbox: str) -> Row:
    """What ordinary agents ask reaches the provider, with the key, which the agent does not see."""
    models.seen.clear()
    answers = _asked(here, "good", sandbox, list(GOOD))
    reached = [path for path, headers, _ in models.seen if _by_agent(headers)]
    wrong = [(path, "did not reach the provider") for _, path, _, _ in GOOD if path not in reached]
    wrong += [
        (path, answer[:80]) for (_, path, _, _), answer in zip(GOOD, answers, strict=True) if " 200 " not in answer[:20]
    ]
    wrong += [
        (path, "the agent is told the key") for (_, path, _, _), said in zip(GOOD, answers, strict=True) if KEY in said
    ]
    return row_of(f"model endpoint, {sandbox}: ordinary requests reach it", len(GOOD), wrong)
