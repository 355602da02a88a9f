"""What one trial can have written is bounded in every channel, and past the bound nothing happens unseen."""

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from harness.suite.hosts import HostSpec
from harness.traces.recorder import Volume
from tests.gateway.models.conftest import KEY
from tests.gateway.models.test_forged_evidence import forged_spans

HOST = "api.example.com"
LONG = "x" * 20_000
MOST = 1_000_000
CHAT = "/v1/chat/completions"


def asked(content: str, **more: Any) -> dict[str, Any]:
    return {"model": "small-1", "messages": [{"role": "user", "content": content}], **more}


CHANNELS: dict[str, Callable[[Any, int], int]] = {
    "tool": lambda agent, n: agent.call("look", q=f"{n}{LONG}")[0],
    "unknown tool": lambda agent, n: agent.call("nothing", q=f"{n}{LONG}")[0],
    "host": lambda agent, n: agent.ask_raw("GET", f"http://{HOST}/items?q={n}{LONG[:6000]}")[0],
    "model": lambda agent, n: agent.ask("POST", CHAT, asked(f"{n}{LONG}"))[0],
    "refused model": lambda agent, n: agent.ask("POST", CHAT, asked(f"{n}{LONG}", web_search_options={}))[0],
    "unreadable model": lambda agent, n: agent.ask("POST", CHAT, b"{" + LONG.encode())[0],
    "thought": lambda agent, n: agent.ask("POST", "/thought", {"text": f"{n}{LONG}"})[0],
    "reply": lambda agent, n: agent.ask("POST", "/reply", {"message": f"{n}{LONG}"})[0],
    "spans": lambda agent, n: forged_spans(agent, "look", {"q": f"{n}{LONG}"}) or 200,
}


@pytest.fixture
def flooded(run: Any, suite: Any, case: Any, shop: Any) -> Callable[..., tuple[list[int], list[int], Any]]:
    """Statuses of the requests of one channel until one is refused, then of each other channel, and the record."""

    def flood(mode: str, channel: str, volume: Volume) -> tuple[list[int], list[int], Any]:
        statuses, after = list[int](), list[int]()

        def act(agent: Any) -> None:
            with contextlib.suppress(AssertionError):  # of spans that are refused
                for number in range(3000):
                    statuses.append(CHANNELS[channel](agent, number))
                    if statuses[-1] == 403 and agent.ask("GET", "/tools")[0] == 403:
                        break
            after.extend(ask(agent, 0) for name, ask in CHANNELS.items() if name != "spans")

        host = HostSpec(host=HOST, base_url=shop.url, disposable=True)
        chosen = {
            "suite": suite.model_copy(update={"hosts": (host,)}),
            "case": case.model_copy(update={"limits": case.limits.model_copy(update={"steps": 10_000})}),
        }
        secrets = {"MODEL_KEY": KEY}
        return statuses, after, run(mode, act, model_mode=mode, secrets=secrets, volume=lambda: volume, **chosen)

    return flood


@pytest.mark.parametrize("mode", ["live", "record"])
@pytest.mark.parametrize("channel", [name for name in CHANNELS if name not in {"refused model", "unreadable model"}])
def test_bytes_are_bounded_in_every_channel(flooded, channel: str, mode: str) -> None:
    statuses, after, record = flooded(mode, channel, Volume(most_bytes=MOST))

    assert 5 < len(statuses) < 500
    assert {403} == set(after)
    assert record.limit_reached == f"{MOST} bytes of trace and recordings"
    stored = sum(len(json.dumps(span.attributes)) for span in record.spans)
    assert stored < 1.3 * MOST


@pytest.mark.parametrize("mode", ["live", "replay"])
@pytest.mark.parametrize("channel", ["refused model", "unreadable model", "model"])
def test_model_requests_without_a_reply_are_traced_in_short_and_counted(flooded, models, channel: str, mode) -> None:
    models.statuses = [400] * 1000
    statuses, after, record = flooded(mode, channel, Volume(most_requests=100))

    assert 200 not in statuses
    assert {403} == set(after)
    assert record.limit_reached == "100 requests"
    sizes = [len(json.dumps(span.attributes)) for span in record.spans if span.name.startswith("chat")]
    assert 40 < len(sizes) <= 100
    assert max(sizes) < 10_000
