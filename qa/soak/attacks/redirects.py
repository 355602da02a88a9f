"""Servers that send their callers on to another origin: no client of the harness takes its keys along."""

import http.server
import json
import os
import random
import ssl
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trustme

from qa.soak.attacks.project import PATIENCE_S, Project, row_of
from qa.soak.canaries import CHANNELS, found_in
from qa.soak.rows import Row
from qa.soak.telling import write_project
from tests.cli.starting import HARNESS

STATUSES = (301, 302, 303, 307, 308)
KINDS = {"echo", "refuse", "host", "model", "judge", "repos", "collector"}
"""First words of the paths: tools, declared hosts, models, judges, GitHub, the collector of spans."""
_TOLD = [{"role": "user", "content": "Eggs?"}, {"role": "assistant", "content": "Twelve."}]
_RUN = ["run", "s", "--sandbox", "local"]


@dataclass
class Origins:
    """`first` sends everybody on to `other`, which keeps what it is sent."""

    status: int = 307
    first: str = ""
    other: str = ""
    asked: set[str] = field(default_factory=set)
    came: list[bytes] = field(default_factory=list)


def _handler(origins: Origins, sends_on: bool) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):
                return self.answer
            raise AttributeError(name)

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if sends_on:
                origins.asked.add(self.path.split("/")[1].split("?")[0])
                self.send_response(origins.status)
                self.send_header("Location", origins.other + self.path)
            else:
                origins.came.append(f"{self.path}\n{self.headers}\n".encode() + body)
                self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@contextmanager
def _served(handler: type[http.server.BaseHTTPRequestHandler], context: ssl.SSLContext | None) -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def _origins(folder: Path, *, secure: bool) -> Iterator[tuple[Origins, dict[str, str]]]:
    """Both servers, and what makes clients trust the first one where it speaks TLS."""
    origins, env, context = Origins(), dict[str, str](), None
    if secure:
        authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
        trusted = folder / "authority.pem"
        authority.cert_pem.write_to_path(str(trusted))
        env = dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"), str(trusted))
    with ExitStack() as stack:
        other = stack.enter_context(_served(_handler(origins, False), None))
        first = stack.enter_context(_served(_handler(origins, True), context))
        origins.first = f"{'https' if secure else 'http'}://localhost:{first}"
        origins.other = f"http://127.0.0.1:{other}"
        yield origins, env


def rows(random: random.Random, scale: float) -> Iterator[Row]:
    few = tuple(random.sample(STATUSES, max(1, min(round(2 * scale), len(STATUSES)))))
    for secure in (False, True):
        yield _row(secure, few)


def _row(secure: bool, statuses: tuple[int, ...]) -> Row:
    wrong: list[tuple[str, str]] = []
    missing: list[str] = []
    tries = 0
    with tempfile.TemporaryDirectory(prefix="attacked-", ignore_cleanup_errors=True) as kept:
        folder = Path(kept)
        with _origins(folder, secure=secure) as (origins, env):
            missing += _naive(origins, env)
            for status in statuses:
                origins.status = status
                origins.asked.clear()
                origins.came.clear()
                here = Project(folder / f"project-{status}")
                write_project(here.folder, origins.first, CHANNELS)
                judge = f"model: small\nbase_url: {origins.first}/judge\napi_key: JUDGE_KEY\n"
                (here.folder / "judge.yaml").write_text(judge)
                (here.folder / "told.jsonl").write_text(json.dumps({"messages": _TOLD}))
                for words, more in _verbs(origins):
                    tries += 1
                    # In a process of its own: whom it trusts is read when the program is.
                    done = subprocess.run(
                        [HARNESS, *words],
                        cwd=here.folder,
                        env=os.environ | CHANNELS | env | {"GITHUB_TOKEN": ""} | more,
                        capture_output=True,
                        text=True,
                        timeout=PATIENCE_S,
                        check=False,
                    )
                    came = b"\n\n".join(origins.came)
                    origins.came.clear()
                    what = f"{status}, {' '.join(words)[:60]}"
                    for found in found_in(iter([("what the other origin was sent", came)]), CHANNELS):
                        wrong.append((what, found))
                    if "Traceback" in done.stderr:
                        wrong.append((what, done.stderr[-200:]))
                if unasked := KINDS - origins.asked:
                    missing.append(f"{status}: nobody asked {', '.join(sorted(unasked))}")
    way = "from https to http" if secure else "to another origin"
    return row_of(f"redirects {way}: keys stay with their server", tries, wrong, missing)


def _verbs(origins: Origins) -> list[tuple[list[str], dict[str, str]]]:
    url = origins.first
    collector = {"OTEL_EXPORTER_OTLP_HEADERS": f"x-collector-key={CHANNELS['COLLECTOR_KEY']}"}
    github = {
        "GITHUB_TOKEN": CHANNELS["GITHUB_TOKEN"],
        "GITHUB_REPOSITORY": "acme/x",
        "GITHUB_API_URL": url,
    }
    return [
        (["tool", "refresh", "s"], {}),
        ([*_RUN, "--live", "all", "--run-name", "live", "--otlp", f"{url}/collector"], collector),
        ([*_RUN, "--live", "all,record", "--run-name", "record"], {}),
        # A trial whose model answered nobody is no measurement, and is not judged.
        (["import", "openai-chat", "told.jsonl", "--run-name", "told"], {}),
        (["judge", "run", "told", "--rubric", "tool_agent"], {}),
        (["issue", "list", "--tracker", "github"], github),
    ]


def _naive(origins: Origins, env: dict[str, str]) -> Iterator[str]:
    """A client that follows: the other origin is sent the key, and that is seen."""
    key = CHANNELS["JUDGE_KEY"]
    request = urllib.request.Request(f"{origins.first}/judge", headers={"Authorization": f"Bearer {key}"})
    context = ssl.create_default_context(cafile=env["SSL_CERT_FILE"]) if env else None
    origins.status = 302
    with urllib.request.urlopen(request, timeout=30, context=context) as answer:
        answer.read()
    if not found_in(iter([("it", b"\n".join(origins.came))]), {"JUDGE_KEY": key}):
        yield "a client that follows with its key is not seen"
