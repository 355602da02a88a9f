"""The trajectory of an agent that acts by itself is read from its model traffic, each action once."""

import json
from functools import partial

import pytest

from harness.traces.projection import trajectory_from
from harness.traces.trajectory import Trajectory
from tests.gateway.models.agents import anthropic_agent, chat_agent, responses_agent
from tests.gateway.models.model_server import ModelServer, Thought
from tests.gateway.models.test_endpoints import LOOPS


def shown(trajectory: Trajectory) -> list[tuple]:
    return [
        (
            step.source,
            step.message,
            [(call.name, call.arguments) for call in step.calls],
            [seen.content for seen in step.observations],
        )
        for step in trajectory.steps
    ]


TWO_STEPS = [
    ("user", "Eggs?", [], []),
    (
        "agent",
        "Let me look.",
        [("look", {"q": "egg"}), ("look", {"q": "ham"})],
        [{"found": ["egg"]}, {"found": ["ham"]}],
    ),
    ("agent", 'Found: {"found": ["egg"]} {"found": ["ham"]}', [], []),
]


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_calls_that_pass_the_gateway_are_seen_once(play, run, loop) -> None:
    recorded = trajectory_from(play("record", loop, model="record").spans)
    replayed = trajectory_from(run("replay", loop).spans)

    assert TWO_STEPS == shown(recorded)
    assert recorded.digest == replayed.digest
    reply = recorded.steps[1]
    assert ("The guest wants breakfast.", "small-1-2026") == (reply.thought, reply.model)
    assert reply.usage is not None
    assert (100, 10, 0.00018) == (
        reply.usage.input_tokens,
        reply.usage.output_tokens,
        round(reply.usage.cost_usd or 0, 8),
    )
    assert ["live", "live"] == [seen.replayed for seen in reply.observations]
    assert TWO_STEPS[-1][1] == recorded.final_output


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_calls_inside_the_agents_own_program_are_read_from_the_history(play, loop) -> None:
    trajectory = trajectory_from(play("replay", partial(loop, use_tools=False), model="live").spans)

    answer = 'Found: {"here": {"q": "egg"}} {"here": {"q": "ham"}}'
    calls = [("look", {"q": "egg"}), ("look", {"q": "ham"})]
    assert [
        ("user", "Eggs?", [], []),
        ("agent", "Let me look.", calls, [{"here": {"q": "egg"}}, {"here": {"q": "ham"}}]),
        ("agent", answer, [], []),
    ] == shown(trajectory)
    assert 2 == len({call.id for call in trajectory.calls})


def test_a_reply_told_to_the_user_is_no_second_step(play) -> None:
    def order(agent) -> None:
        agent.ask("GET", "/turn")
        agent.ask("POST", "/reply", {"message": chat_agent(agent)})
        agent.ask("POST", "/reply", {"message": "And a good day."})

    trajectory = trajectory_from(play("live", order, model="live").spans)

    assert ["user", "agent", "agent", "agent"] == [step.source for step in trajectory.steps]
    assert "One egg, please." == trajectory.steps[0].message  # what the user said is not told twice either
    assert "And a good day." == trajectory.final_output


def test_arguments_that_a_framework_completes_or_rewrites_are_one_call(play, models: ModelServer) -> None:
    models.think = lambda results: (
        Thought("Done.") if results else Thought(None, (("mcp__harness__look", {"q": "egg"}), ("look", {"q": "HAM"})))
    )

    def order(agent) -> None:
        body = {"model": "small-1", "messages": [{"role": "user", "content": "Eggs?"}]}
        agent.ask("POST", "/v1/chat/completions", body)
        agent.call("look", q="ham", limit=2)
        agent.call("look", q="egg", limit=5)
        agent.call("order")

    trajectory = trajectory_from(play("live", order, model="live").spans)

    assert [[], ["look", "look"], ["order"]] == [[call.name for call in step.calls] for step in trajectory.steps]
    assert [{"q": "ham", "limit": 2}, {"q": "egg", "limit": 5}] == [
        call.arguments for call in trajectory.steps[1].calls
    ]  # as they crossed, not as they were named


def test_arguments_that_are_no_json_and_failures_are_told(play, models: ModelServer) -> None:
    models.think = lambda results: Thought("Sorry.") if results else Thought(None, (("look", '{"q": egg}'),))

    def order(agent) -> None:
        messages = [{"role": "user", "content": "Eggs?"}]
        _, reply = agent.ask("POST", "/v1/chat/completions", {"model": "small-1", "messages": messages})
        call = reply["choices"][0]["message"]["tool_calls"][0]
        messages += [reply["choices"][0]["message"]]
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": "no JSON"}]
        agent.ask("POST", "/v1/chat/completions", {"model": "small-1", "messages": messages})

    trajectory = trajectory_from(play("live", order, model="live").spans)

    (call,) = trajectory.calls
    assert (None, '{"q": egg}', "no JSON") == (call.arguments, call.unparsed, trajectory.observations[call.id].content)


def test_failed_results_of_anthropic_agents_are_errors(play, models: ModelServer) -> None:
    def order(agent) -> None:
        messages = [{"role": "user", "content": "Eggs?"}]
        _, reply = agent.ask("POST", "/v1/messages", {"model": "small-1", "max_tokens": 9, "messages": messages})
        used = [block["id"] for block in reply["content"] if block["type"] == "tool_use"]
        failed = {"type": "tool_result", "tool_use_id": used[0], "is_error": True, "content": "out of eggs"}
        messages += [{"role": "assistant", "content": reply["content"]}, {"role": "user", "content": [failed]}]
        agent.ask("POST", "/v1/messages", {"model": "small-1", "max_tokens": 9, "messages": messages})

    trajectory = trajectory_from(play("live", order, model="live").spans)

    (seen,) = trajectory.observations.values()
    assert seen.error is not None
    assert ("tool_error", "out of eggs") == (seen.error.type, seen.error.message)


def test_ids_that_a_model_repeats_are_different_calls(play, models: ModelServer) -> None:
    models.mint = lambda kind: f"{kind}_1"
    models.think = lambda results: (
        Thought("Done.") if len(results) > 1 else Thought(None, (("look", {"q": f"egg {len(results)}"}),))
    )
    trajectory = trajectory_from(play("live", partial(chat_agent, use_tools=False), model="live").spans)

    assert [{"q": "egg 0"}, {"q": "egg 1"}] == [call.arguments for call in trajectory.calls]
    assert [{"here": {"q": "egg 0"}}, {"here": {"q": "egg 1"}}] == [
        trajectory.observations[call.id].content for call in trajectory.calls
    ]


def test_other_instructions_are_another_agent_and_its_steps_belong_to_the_caller(play) -> None:
    def order(agent) -> None:
        ask = {"model": "small-1", "messages": [{"role": "system", "content": "You coordinate."}]}
        agent.ask("POST", "/v1/chat/completions", ask)
        sub = {"model": "small-1", "max_tokens": 9, "system": "You cook.", "messages": []}
        agent.ask("POST", "/v1/messages", sub)
        agent.ask("POST", "/v1/chat/completions", ask)

    trajectory = trajectory_from(play("live", order, model="live").spans)

    assert [("a", None), ("a/2", 0), ("a", None)] == [(step.agent, step.parent) for step in trajectory.steps]


def test_every_span_tells_messages_usage_and_cost_in_the_conventions_names(play) -> None:
    record = play("live", partial(anthropic_agent, stream=True), model="live")
    first, second = [span for span in record.spans if span.name.startswith("chat ")]

    told = first.attributes
    assert ("chat small-1", "chat", "anthropic") == (
        first.name,
        told["gen_ai.operation.name"],
        told["gen_ai.provider.name"],
    )
    assert (100, 40, 10) == (
        told["gen_ai.usage.input_tokens"],
        told["gen_ai.usage.cache_read.input_tokens"],
        told["gen_ai.usage.output_tokens"],
    )
    assert '["tool_use"]' == told["gen_ai.response.finish_reasons"]
    assert told["gen_ai.response.time_to_first_chunk"] > 0
    roles = [message["role"] for message in json.loads(second.attributes["gen_ai.input.messages"])]
    assert ["user", "assistant", "tool"] == roles
    assert (2, 200, 20) == (record.used.replies, record.used.input_tokens, record.used.output_tokens)


def test_history_that_is_kept_at_the_provider_is_joined_too(play) -> None:
    loop = partial(responses_agent, at_provider=True, use_tools=False)
    trajectory = trajectory_from(play("live", loop, model="live").spans)

    assert [2, 0] == [len(step.observations) for step in trajectory.steps if step.source == "agent"]
