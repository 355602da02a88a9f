"""A suite whose second tool answers only when a collector has the first one's span: order proven without a clock."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.serving import Answering, listening
from tests.traces.receiver import Receiver

KEY = "sk-shown-to-nobody-0123456789"
SUITE = """\
secrets: [SHOP_KEY]
servers:
  shop: {{base_url: "{url}", headers: {{Authorization: "Bearer ${{SHOP_KEY}}"}}, disposable: true}}
tools:
  - {{name: first, server: shop, effect: read, http: {{path: /first}}}}
  - {{name: second, server: shop, effect: read, http: {{path: /second}}, timeout_s: 60}}
checks:
  - {{name: watched, verifier: final_answer, with: {{contains: "True"}}}}
"""
MAIN = """\
import json, os, urllib.request

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    url, headers = os.environ["HARNESS_GATEWAY_URL"] + path, {"Content-Type": "application/json"}
    request = urllib.request.Request(url, data, headers)
    answer = urllib.request.urlopen(request).read()
    return json.loads(answer) if answer else None

ask("/turn")
ask("/tools/first", {})
ask("/reply", {"message": str(ask("/tools/second", {})["seen"])})
"""
CASES = "- {id: a, task: look}\n"


@contextmanager
def shop(receiver: Receiver, *, host: str = "127.0.0.1") -> Iterator[str]:
    """Its address. `/first` tells the key that it was called with; `/second` waits for the collector."""

    class Handler(Answering):
        def do_GET(self) -> None:
            if self.path == "/first":
                told: dict[str, object] = {"key": self.headers["Authorization"]}
            else:
                told = {"seen": receiver.wait_for(lambda got: any(s.name == "execute_tool first" for s in got.spans))}
            self.give(200, told)

    with listening(Handler, host) as address:
        yield address


def check_arrived(receiver: Receiver, trials: int = 1) -> None:
    """Whole trees, with the run on each span, and without the key."""
    seconds = receiver.named("execute_tool second")
    assert trials == len(seconds) == len(receiver.named("invoke_agent s"))
    assert [["invoke_agent s", "turn"]] * trials == [receiver.path(span) for span in seconds]
    assert {("watched", "s", "v7")} == {
        tuple(span.resource[name] for name in ("harness.run.id", "harness.suite.name", "harness.release"))
        for span in receiver.spans
    }
    sent = b"".join(body for _, _, body in receiver.requests)
    assert b"<secret:SHOP_KEY>" in sent
    assert KEY.encode() not in sent
