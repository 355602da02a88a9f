"""`harness notify`: what is posted, to whom, and what is refused."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import harness
from harness.drift.messages import send_message
from harness.errors import TrackerUnavailable, UsageError
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import Score, Scorecard
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial

PATH = "/services/T000/B000/onlyForThisTest"
SECRET = "key-0123456789abcdef"
NAME = "HARNESS_WEBHOOK_URL"


class Chat(ThreadingHTTPServer):
    """Keeps what is posted to it; answers with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.status, self.location = 200, ""
        self.posted: list[tuple[str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{PATH}"


class Answering(BaseHTTPRequestHandler):
    server: Chat

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posted.append((self.path, json.loads(body)))
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def chat() -> Iterator[Chat]:
    with Chat() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a stored run of two trials, one of which failed."""
    CliRunner().invoke(harness, ["init", str(tmp_path)])
    suite = tmp_path / "suites/hello/suite.yaml"
    suite.write_text(suite.read_text() + "secrets: [SHOP_KEY]\n")
    cards = [_card("hello-ada", success=False), _card("hello-world", success=True)]
    manifest = RunManifest(
        run="nightly", created="2026-01-31T12:00:00Z", harness_version="0.1.0", suite="hello", suite_digest="d" * 64,
        agent="v1", agent_digest="a" * 64, snapshot_digest="e" * 64, tools_digest="f" * 64, tool_mode="replay",
        provider="local", isolates=False, planned=tuple(PlannedTrial(case_id=one.case_id, attempt=1) for one in cards),
    )  # fmt: skip
    with RunFolder.create(tmp_path / "runs", manifest) as folder:
        for one in cards:
            trajectory = Trajectory(trace_id="t", agent="v1", steps=())
            folder.commit(
                Trial(case_id=one.case_id, attempt=1, outcome="finished", trajectory=trajectory, duration_s=1.5),
                (),
                one,
            )
    return tmp_path


def _card(case: str, *, success: bool) -> Scorecard:
    hostile = "@here ![x](https://a.example/p.png) [y](//b.example) www.c.example"
    reason = "" if success else f"<!channel> the answer has {SECRET} {hostile}"
    return Scorecard(
        case_id=case, attempt=1, category="greeting", difficulty="easy", outcome="finished", success=success,
        digest="d",
        verdicts=(Verdict(check="greets", verifier="final_answer", version="1", passed=success, reason=reason),),
        scores=(Score(metric="cost_usd", version="1", value=0.25), Score(metric="steps", version="1", value=3)),
    )  # fmt: skip


def notify(project: Path, url: str, *options: str) -> Result:
    environment = {NAME: url, "SHOP_KEY": SECRET}
    return CliRunner().invoke(harness, ["--project", str(project), "notify", "nightly", *options], env=environment)


def test_a_summary_is_posted_without_secrets_and_mentions(project: Path, chat: Chat) -> None:
    done = notify(project, chat.url, "--link", "https://ci.example.com/jobs/7")

    assert done.exception is None, done.output
    assert "posted the summary of nightly to 127.0.0.1\n" == done.output
    ((path, body),) = chat.posted
    assert PATH == path
    lines = body["text"].splitlines()
    assert "*hello: v1*, run nightly" == lines[0]
    assert "per trial: cost_usd 0.25, steps 3" in lines
    assert "• hello-ada/1: greets: &lt;!channel&gt; the answer has <secret:SHOP_KEY>" in body["text"]
    assert "https://ci.example.com/jobs/7" == lines[-1]
    assert SECRET not in body["text"]


def test_what_an_agent_wrote_alerts_nobody_leads_nowhere_and_begins_no_line(project: Path, chat: Chat) -> None:
    """Mattermost and others read `@channel` and Markdown in the text; a run folder may come from anybody."""
    folder = project / "runs/nightly"
    told = json.loads((folder / "manifest.json").read_text())
    told["agent"] = "v1\n*hello: v1*: 100 % of 1 succeed @channel"
    (folder / "manifest.json").write_text(json.dumps(told))
    done = notify(project, chat.url, "--link", "https://ci.example.com/jobs/7")

    assert done.exception is None, done.output
    ((_, body),) = chat.posted
    text, _, link = body["text"].rpartition("\n")
    assert "https://ci.example.com/jobs/7" == link
    assert ["*hello: v1"] == [line[:10] for line in text.splitlines() if line.startswith("*")]
    assert [] == [one for one in ("@channel", "@here", "](", "://", "www.") if one in text]
    assert "here !" in text


def test_a_dry_run_prints_the_message_and_sends_nothing(project: Path, chat: Chat) -> None:
    done = notify(project, chat.url, "--dry-run")

    assert done.output.startswith("*hello: v1*, run nightly\n")
    assert [] == chat.posted


@pytest.mark.parametrize("status", [301, 307, 308, 403, 500])
def test_a_redirect_is_not_followed_and_no_error_has_the_address(project: Path, chat: Chat, status: int) -> None:
    chat.status, chat.location = status, f"{chat.url}/elsewhere" if status < 400 else ""

    done = notify(project, chat.url)

    assert isinstance(done.exception, TrackerUnavailable)
    assert 3 == done.exception.exit_code
    assert f"HTTP {status}" in str(done.exception)
    assert PATH not in str(done.exception)
    assert [PATH] == [path for path, _ in chat.posted]


@pytest.mark.parametrize(
    "url",
    [
        "", "hooks.example.com/x", "http://hooks.example.com/x", "http://10.0.0.7/x", "https://169.254.169.254/latest",
        "https://[fe80::1]/x", "https://user:word@hooks.example.com/x", "file:///etc/passwd", "https:///x",
        "https://hooks.example.com:port/x", "https://hooks.example.com/x\ny",
    ],
)  # fmt: skip
def test_an_unsafe_address_is_refused_unsaid(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        send_message({NAME: url}, NAME, "text")

    assert NAME in refused.value.message
    assert not url or url not in str(refused.value)


def test_a_host_that_does_not_answer_is_named_without_the_path(chat: Chat) -> None:
    closed = Chat()
    closed.server_close()

    with pytest.raises(TrackerUnavailable, match=r"\b127\.0\.0\.1\b") as refused:
        send_message({NAME: closed.url}, NAME, "text")

    assert PATH not in str(refused.value)
