"""What is refused: hosted tools, what is past a limit or the budget, what no recording answers, what has no key."""

import json
from functools import partial

import pytest

from harness.errors import GatewayError, UsageError
from harness.gateway.budgets import Budget, budget_of
from harness.suite.cases import Case, Limits
from harness.suite.models import ModelServer, ModelSpec
from harness.suite.suites import Suite
from tests.gateway.models.agents import anthropic_agent, chat_agent
from tests.gateway.models.conftest import KEY
from tests.gateway.models.model_server import ModelServer as Models
from tests.gateway.models.model_server import Thought

HELLO = {"model": "small-1", "messages": [{"role": "user", "content": "Hello"}]}
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
INLINE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
BY_ID = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}
BY_URL = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}


@pytest.mark.parametrize(
    ("path", "more", "named"),
    [
        (CHAT, {"web_search_options": {}}, "web_search_options"),
        (CHAT, {"tools": [{"type": "web_search"}]}, "web_search"),
        (CHAT, {"tools": [{"type": ["web_search"]}]}, "web_search"),
        (CHAT, {"messages": [{"role": "user", "content": [PICTURE]}]}, "image"),
        (RESPONSES, {"input": "Hi", "tools": [{"type": "code_interpreter"}]}, "code_interpreter"),
        (RESPONSES, {"input": "Hi", "tools": [{"type": {"code_interpreter": 1}}]}, "code_interpreter"),
        (RESPONSES, {"input": "Hi", "tools": [{"type": "mcp", "server_url": "https://x"}]}, "mcp"),
        (RESPONSES, {"input": "Hi", "tools": [{"type": "file_search"}]}, "file_search"),
        (RESPONSES, {"input": "Hi", "tools": [{"type": "computer_use_preview"}]}, "computer_use_preview"),
        (RESPONSES, {"input": [{"role": "user", "content": [{"file_url": "https://x/a.pdf"}]}]}, "file"),
        (MESSAGES, {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "web_search_20250305"),
        (MESSAGES, {"tools": [{"type": "code_execution_20250825", "name": "run"}]}, "code_execution_20250825"),
        (MESSAGES, {"mcp_servers": [{"type": "url", "url": "https://x"}]}, "mcp_servers"),
        (MESSAGES, {"messages": [{"role": "user", "content": [BY_URL]}]}, "image"),
        (MESSAGES, {"messages": [{"role": "user", "content": [BY_ID]}]}, "image"),
        (
            MESSAGES,
            {"messages": [{"role": "user", "content": [{"type": "container_upload", "file_id": "f"}]}]},
            "files",
        ),
        (CHAT, {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]}, "file_id"),
        (RESPONSES, {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]}, "file_id"),
        (
            RESPONSES,
            {"input": [{"role": "user", "content": [{"type": "i", "image_url": " HTTPS://x/a"}]}]},
            "image_url",
        ),
        (
            RESPONSES,
            {"input": [{"role": "user", "content": [{"type": "i", "image_url": "file:///etc/x"}]}]},
            "image_url",
        ),
    ],
)
def test_tools_that_the_provider_would_run_are_refused(play, suite: Suite, models: Models, path, more, named) -> None:
    answers = []
    ask = HELLO | more

    record = play("live", lambda agent: answers.append(agent.ask("POST", path, ask)), model="live")
    status, answer = answers[0]
    assert (403, "hosted_tool") == (status, answer["error"]["type"])
    assert named in answer["error"]["message"]
    assert [] == models.seen
    assert ["hosted_tool"] == [s.attributes["error.type"] for s in record.spans if "error.type" in s.attributes]

    allowed = suite.model_copy(update={"model": suite.model.model_copy(update={"allow": ("hosted_tools",)})})
    play("live", lambda agent: answers.append(agent.ask("POST", path, ask)), model="live", suite=allowed)
    assert 200 == answers[1][0]


def test_tools_that_the_agent_runs_are_let_pass(play, models: Models) -> None:
    asks = [
        (CHAT, {"tools": [{"type": "function", "function": {"name": "look"}}, {"type": "custom"}]}),
        (CHAT, {"messages": [{"role": "user", "content": [INLINE]}]}),
        (RESPONSES, {"input": "Hi", "tools": [{"type": "function", "name": "look"}, {"type": "local_shell"}]}),
        (MESSAGES, {"tools": [{"name": "look"}, {"type": "bash_20250124", "name": "bash"}]}),
        (MESSAGES, {"tools": [{"type": "computer_20250124", "name": "computer", "display_width_px": 1}]}),
    ]
    answers = []

    def act(agent) -> None:
        answers.extend(agent.ask("POST", path, HELLO | more)[0] for path, more in asks)

    play("live", act, model="live")
    assert [200] * 5 == answers


@pytest.mark.parametrize("limits", [{"tokens": 110}, {"cost_usd": 0.00018}], ids=["tokens", "cost"])
@pytest.mark.parametrize("mode", ["live", "replay"])
def test_the_call_after_the_one_that_reaches_a_limit_is_refused(play, case: Case, mode: str, limits) -> None:
    limited = case.model_copy(update={"limits": Limits(**limits)})
    answers = []

    def act(agent) -> None:
        for path in (CHAT, CHAT, MESSAGES):
            answers.append(agent.ask("POST", path, HELLO))

    play("live", lambda agent: agent.ask("POST", CHAT, HELLO), model="record")
    record = play("live", act, model=mode, case=limited)

    assert [200, 403, 403] == [status for status, _ in answers]
    assert "limit_reached" == answers[1][1]["error"]["type"] == answers[2][1]["error"]["type"]
    assert "error" == answers[2][1]["type"]  # Anthropic's own shape
    assert record.limit_reached in ("110 tokens", "0.00018 USD")
    assert record.out_of_budget is None


def test_tokens_that_are_not_told_are_estimated_for_limits_and_stay_unknown_in_the_trace(
    play, case: Case, models: Models
) -> None:
    models.tells_usage = False
    limited = case.model_copy(update={"limits": Limits(tokens=60)})
    answers = []

    def act(agent) -> None:
        answers.extend(agent.ask_raw("POST", CHAT, HELLO | {"stream": True})[0] for _ in range(2))

    record = play("live", act, model="live", case=limited)

    assert [200, 403] == answers
    assert 1 == record.used.replies
    chats = [span.attributes for span in record.spans if span.name.startswith("chat")]
    assert all("gen_ai.usage.input_tokens" not in told for told in chats)


def test_an_agent_that_names_a_model_without_a_price_under_a_cost_limit_reaches_it(play, case: Case, suite) -> None:
    limited = case.model_copy(update={"limits": Limits(cost_usd=1)})
    ask = HELLO | {"model": "unpriced"}
    answers = []

    record = play("live", lambda agent: answers.append(agent.ask("POST", CHAT, ask)), model="live", case=limited)

    assert [(403, "limit_reached")] == [(status, answer["error"]["type"]) for status, answer in answers]
    assert "'unpriced'" in record.limit_reached
    assert "(priced: small-1)" in record.limit_reached

    unpriced = suite.model_copy(update={"model": suite.model.model_copy(update={"prices": {}})})
    with pytest.raises(GatewayError, match="'unpriced'"):  # no agent could have named another
        play("live", lambda agent: agent.ask("POST", CHAT, ask), model="live", case=limited, suite=unpriced)


def test_a_budget_is_spent_by_real_calls_only_and_over_all_trials(play, case: Case) -> None:
    budget = Budget(tokens=250)
    play("live", chat_agent, model="record")
    for _ in range(3):
        play("live", chat_agent, model="replay", budget=budget)
    assert 0 == budget.spent_tokens

    first = play("live", chat_agent, model="live", budget=budget)
    assert (220, None, None) == (budget.spent_tokens, budget.reached, first.out_of_budget)
    answers = []

    def ask_twice(agent) -> None:
        answers.extend(agent.ask("POST", CHAT, HELLO) for _ in range(2))

    second = play("live", ask_twice, model="live", budget=budget)
    assert [200, 403] == [status for status, _ in answers]
    assert "budget: 330 of 250 tokens spent" == second.out_of_budget == budget.reached


def test_a_budget_of_requests_is_held_by_models_and_tools_together(play) -> None:
    budget = Budget(requests=3)
    answers = []

    def ask(agent) -> None:
        for _ in range(2):
            answers.append(agent.ask("POST", CHAT, HELLO)[0])
            answers.append(agent.call("look", q="egg")[0])

    record = play("live", ask, model="live", budget=budget)
    assert [200, 200, 200, 403] == answers
    assert (3, "budget: 3 requests sent") == (budget.spent_requests, record.out_of_budget)


def test_a_budget_counts_the_calls_of_a_tool(play) -> None:
    budget = budget_of(["calls:look=2"], ["look"])
    answers = []

    def act(agent) -> None:
        answers.extend(agent.call("look", q="egg")[0] for _ in range(3))
        answers.append(agent.call("order")[0])

    record = play("live", act, model="replay", budget=budget)
    assert [200, 200, 403, 200] == answers
    assert "budget: 2 calls of look made" == record.out_of_budget
    assert (
        None is play("replay", lambda agent: agent.call("look", q="egg"), model="replay", budget=budget).out_of_budget
    )


@pytest.mark.parametrize(
    "limit", ["usd", "usd=", "usd=0", "usd=nan", "usd=inf", "tokens=1.5", "tokens=-1", "call:look=1", "calls:look=x"]
)
def test_a_budget_that_is_none_is_refused(limit: str) -> None:
    with pytest.raises(UsageError, match="expected usd=AMOUNT, tokens=N or calls:TOOL=N"):
        budget_of([limit], ["look"])


def test_a_budget_of_a_tool_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no tool 'lok'"):
        budget_of(["calls:lok=2"], ["look"])


@pytest.mark.parametrize(
    ("loop", "path"), [(chat_agent, CHAT), (anthropic_agent, MESSAGES)], ids=["openai", "anthropic"]
)
def test_a_miss_names_the_nearest_is_never_retried_and_makes_the_trial_inconclusive(play, loop, path: str) -> None:
    play("record", loop, model="record")
    answers = []
    ask = HELLO | ({"max_tokens": 100} if path == MESSAGES else {"stream": False})

    record = play("replay", lambda agent: answers.append(agent.ask_raw("POST", path, ask)), model="replay")

    status, headers, body = answers[0]
    assert (424, "false") == (status, headers["x-should-retry"])
    told = json.loads(body)
    assert "replay_miss" == told["error"]["type"]
    assert ("type" in told) == (path == MESSAGES)
    (miss,) = record.misses
    assert ("chat small-1", "small-1") == (miss["tool"], miss["arguments"]["model"])
    assert 2 == len(miss["nearest"])
    assert "$." in miss["nearest"][0]["difference"]
    assert {"miss": 1} == record.model_tiers
    assert {} == record.tiers


@pytest.mark.parametrize("mode", ["live", "record"])
def test_a_missing_key_is_refused_before_anything_runs(run, models: Models, mode: str) -> None:
    with pytest.raises(UsageError, match="MODEL_KEY"):
        run("replay", chat_agent, model_mode=mode)
    assert [] == models.seen


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_the_provider_refuses_is_never_a_result(play, models: Models, status: int) -> None:
    models.statuses = [status]
    outage = play("live", lambda agent: agent.ask("POST", CHAT, HELLO), model="record").outage
    assert (True, True) == (outage.refused, outage.reason.startswith(str(status)))
    assert "MODEL_KEY" in outage.reason


def test_a_provider_that_the_suite_does_not_declare_is_refused(play, suite: Suite, models: Models) -> None:
    only = ModelSpec(providers={"anthropic": ModelServer(base_url=models.url)})
    answers = []
    other = suite.model_copy(update={"model": only})
    play("live", lambda agent: answers.append(agent.ask("POST", CHAT, HELLO)), model="live", suite=other)
    assert (403, "not_declared") == (answers[0][0], answers[0][1]["error"]["type"])


def test_without_a_model_there_are_no_model_endpoints(run, suite: Suite) -> None:
    answers = []
    other = suite.model_copy(update={"model": None})
    run("live", lambda agent: answers.append(agent.ask("POST", CHAT, HELLO)[0]), suite=other)
    assert [404] == answers


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"a": NaN}', b"\xff"])
def test_a_body_that_is_no_json_object_is_refused(play, models: Models, body: bytes) -> None:
    answers = []
    play("live", lambda agent: answers.append(agent.ask("POST", CHAT, body)), model="live")
    assert (400, "invalid_request") == (answers[0][0], answers[0][1]["error"]["type"])
    assert [] == models.seen


def test_keys_and_addresses_follow_the_declaration() -> None:
    usual = ModelSpec().servers["openai"]
    assert ("https://api.openai.com/v1", "OPENAI_API_KEY") == (usual.base_url, usual.api_key)
    local = ModelSpec(base_url="http://127.0.0.1:8080")
    assert {"openai", "anthropic"} == set(local.servers)
    assert () == local.secrets
    both = ModelSpec(providers={"openai": ModelServer(), "anthropic": ModelServer(api_key="MINE")})
    assert ("OPENAI_API_KEY", "MINE") == both.secrets
    prices = {name: {"input_usd_per_mtok": 1, "output_usd_per_mtok": 1} for name in ("gpt-5", "gpt-5-mini")}
    priced = ModelSpec.model_validate({"prices": prices})
    assert priced.priced["gpt-5-mini"] is priced.price_of("gpt-5-mini-2026-01-01")
    assert None is priced.price_of("gpt-51")


def test_the_model_that_says_nothing_costs_what_it_read(play, models: Models) -> None:
    models.think = lambda _: Thought(None)
    record = play("live", partial(chat_agent, use_tools=False), model="live")
    assert (100, 10, KEY not in repr(record)) == (record.used.input_tokens, record.used.output_tokens, True)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_after_the_key_was_accepted_is_the_agent_s_own(play, models: Models, status: int) -> None:
    """An agent that names a model that is not open to the key would otherwise get another attempt."""
    answers = []

    def act(agent) -> None:
        answers.append(agent.ask("POST", CHAT, HELLO)[0])
        models.statuses = [status]
        answers.append(agent.ask("POST", CHAT, HELLO | {"model": "not-open"})[0])

    play("live", act, model="live")
    assert [200, status] == answers


@pytest.mark.parametrize("limits", [{"tokens": 5}, {"cost_usd": 0.000005}], ids=["tokens", "cost"])
def test_embeddings_are_charged_too(play, case: Case, limits) -> None:
    limited = case.model_copy(update={"limits": Limits(**limits)})
    asked = {"model": "small-1", "input": "egg " * 100}
    answers = []

    def act(agent) -> None:
        answers.extend(agent.ask("POST", "/v1/embeddings", asked)[0] for _ in range(2))

    record = play("live", act, model="live", case=limited)
    assert [200, 403] == answers
    assert record.limit_reached
    assert (0, True) == (record.used.replies, record.used.input_tokens > 5)


def test_embeddings_without_a_price_are_refused_under_a_limit_of_cost(play, case: Case) -> None:
    limited = case.model_copy(update={"limits": Limits(cost_usd=1)})
    asked = {"model": "unpriced", "input": "egg"}
    answers = []
    play(
        "live", lambda agent: answers.append(agent.ask("POST", "/v1/embeddings", asked)[0]), model="live", case=limited
    )
    assert [403] == answers
