"""Ids that stand for earlier turns: two conversations that go on alike are not answered alike."""

from functools import partial
from typing import Any

import pytest

from harness.suite.suites import Suite
from tests.gateway.conftest import Agent
from tests.gateway.models.test_failures_inside import whole
from tests.gateway.models.test_usage_dialects import CHAT, MESSAGES, RESPONSES

ASK = {"model": "small-1"}
DONE = {"type": "function_call_output", "output": "ok"}


def reply(number: int, said: str, **more: Any) -> dict[str, Any]:
    """As the provider gives it: with new ids each time."""
    call = {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": "look",
        "arguments": "{}",
    }
    text = {"type": "message", "id": f"msg_{number}", "content": [{"type": "output_text", "text": said}]}
    thought = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"sealed_{number}-_"}
    return {"id": f"resp_{number}", "status": "completed", "output": [thought, text, call]} | more


REFERENCES: dict[str, Any] = {
    "previous response": lambda of: {"previous_response_id": of["id"], "input": "Go on."},
    "item": lambda of: {"input": [{"type": "item_reference", "id": of["output"][1]["id"]}]},
    "reasoning": lambda of: {"input": [{"type": "reasoning", "id": of["output"][0]["id"], "summary": []}]},
    "sealed": lambda of: {"input": [of["output"][0] | {"encrypted_content": f"sealed_{of['id'].lstrip('resp_')}+/"}]},
    "call": lambda of: {"input": [DONE | {"call_id": of["output"][2]["call_id"]}]},
    "conversation": lambda of: {"conversation": {"id": "conv_1"}, "input": "Go on."},
}


@pytest.fixture
def open_suite(every_suite: Suite) -> Suite:
    return every_suite.model_copy(update={"model": every_suite.model.model_copy(update={"allow": ("hosted_tools",)})})


@pytest.mark.parametrize("name", REFERENCES)
def test_what_goes_on_from_another_conversation_is_another_request(play, open_suite, models, name: str) -> None:
    got: list[Any] = []
    begin = ASK | ({"conversation": "conv_1"} if name == "conversation" else {})

    def talk(mode: str, who: str) -> Any:
        def act(agent: Any) -> None:
            first = agent.ask("POST", RESPONSES, begin | {"input": f"I am {who}."})[1]
            got.append(agent.ask("POST", RESPONSES, ASK | REFERENCES[name](first))[1])

        return play(mode, act, model="record" if mode == "live" else mode, suite=open_suite)

    for number, who in enumerate(("Ann", "Bob", "Ann"), start=1):
        models.said = [whole(reply(number, "Hi.")), whole(reply(number + 10, f"You are {who}."))]
        assert (0 if number == 3 else 2) == talk("live", who).recorded  # other ids, the same conversation
    talk("replay", "Bob")
    talk("replay", "Ann")
    assert ["Ann", "Bob", "Ann", "Bob", "Ann"] == [one["output"][1]["content"][0]["text"][8:-1] for one in got]


SAID = {"role": "user", "content": "Go on."}
CHOICE = {"message": {"role": "assistant", "audio": {"id": "audio_1"}, "content": "a"}, "finish_reason": "stop"}


@pytest.mark.parametrize(
    ("path", "first", "second"),
    [
        (RESPONSES, *({"input": [{"type": "item_reference", "id": name}]} for name in ("msg_8", "msg_9"))),
        (RESPONSES, *({"input": "Hi", "previous_response_id": name} for name in ("resp_8", "resp_9"))),
        (RESPONSES, *({"input": "Hi", "conversation": name} for name in ("conv_8", "conv_9"))),
        (
            CHAT,
            *({"messages": [SAID, {"role": "assistant", "audio": {"id": name}}]} for name in ("audio_8", "audio_9")),
        ),
        (
            CHAT,
            *({"messages": [{"role": "tool", "tool_call_id": name, "content": "x"}]} for name in ("call_8", "call_9")),
        ),
        (
            MESSAGES,
            *(
                {
                    "messages": [
                        {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": name}]}
                    ],
                    "max_tokens": 9,
                }
                for name in ("sealed_8", "sealed_9")
            ),
        ),
        (CHAT, {"messages": [SAID], "seed": 1}, {"messages": [SAID], "seed": 2}),
    ],
)
def test_an_id_that_the_gateway_never_gave_stands_for_itself(play, open_suite, models, path, first, second) -> None:
    done = {"content": [], "stop_reason": "end_turn"} if path == MESSAGES else reply(1, "a") | {"choices": [CHOICE]}
    models.said, statuses = [whole(done)], []
    for mode, body in (("live", first), ("replay", first), ("replay", second)):
        asked = partial(Agent.ask, method="POST", path=path, body=ASK | body)
        model = "record" if mode == "live" else mode
        play(mode, lambda agent, asked=asked: statuses.append(asked(agent)[0]), model=model, suite=open_suite)
    assert [200, 200, 424] == statuses
