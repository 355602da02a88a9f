"""A key that a model's stream holds in pieces, one in each delta, is whole nowhere: at the agent or in a recording."""

from typing import Any

import pytest

from harness.cassettes.transience import events_in
from tests.gateway.models.conftest import KEY
from tests.gateway.models.model_server import ModelServer, Thought

PHRASE = "correct horse battery staple"
SECRETS = {"MODEL_KEY": KEY, "PHRASE": PHRASE}
HI = {"model": "small-1", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "Hi"}]}


def joined(events: list[Any], names: set[str]) -> str:
    """The texts of members of these names, as a client joins them."""
    found = ""
    for event in events:
        waiting = [event]
        while waiting:
            one = waiting.pop(0)
            items = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
            for name, item in items:
                if name in names and isinstance(item, str):
                    found += item
                waiting.append(item)
    return found


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_the_deltas_make_no_key_together(run, models: ModelServer, suite, path: str) -> None:
    names = {"content", "arguments", "text", "partial_json"}
    headers = {"anthropic-version": "2023-06-01"} if "messages" in path else {}
    models.think = lambda _: Thought(f"It is {PHRASE}, of course", (("look", {"q": KEY}),))
    answers: list[bytes] = []

    def act(agent: Any) -> None:
        answers.append(agent.ask_raw("POST", path, HI, headers)[2])

    chosen = suite.model_copy(update={"secrets": tuple(SECRETS)})
    for mode in ("record", "replay"):
        run("live" if mode == "record" else mode, act, suite=chosen, model_mode=mode, secrets=SECRETS)

    told = joined(events_in(answers[0])[0], names)
    assert answers[0] == answers[1]
    assert "It is <secret:PHRASE>, of course" in told
    assert "<secret:MODEL_KEY>" in told
    assert KEY not in told
