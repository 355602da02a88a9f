"""One trial's tools replayed, recorded, live and sealed."""

from pathlib import Path

import pytest

from harness.cassettes.cassette import Cassette, load_cassette, save_cassette
from harness.cassettes.check import check_cassette
from harness.cassettes.keys import key_digest
from harness.errors import CassetteError, GatewayError, ServiceError, UsageError
from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.suite.suites import Suite, ToolServer
from harness.traces.projection import trajectory_from


def order_an_egg(agent) -> None:
    agent.ask("GET", "/turn")
    assert agent.call("look", q="egg") == (200, {"found": ["egg"]})
    assert agent.call("add", item="egg") == (200, {"lines": 1})
    assert agent.call("order") == (200, {"lines": [{"item": "egg"}]})
    agent.ask("POST", "/reply", {"message": "One egg."})


def test_what_was_recorded_is_replayed_without_the_service(run, shop, tmp_path: Path) -> None:
    recorded = run("record", order_an_egg)
    seen = len(shop.seen)
    replayed = run("replay", order_an_egg)

    assert (recorded.recorded, recorded.differs, recorded.tiers) == (4, 0, {"live": 4})
    assert (replayed.tiers, replayed.misses) == ({"exact": 4}, ())
    assert replayed.states == recorded.states == {"order": {"lines": [{"item": "egg"}]}}
    assert len(shop.seen) == seen
    assert check_cassette(tmp_path / "cassettes/breakfast/c1.yaml", {}) == ()


def test_every_mode_gives_the_same_trajectory(run) -> None:
    digests = {trajectory_from(run(mode, order_an_egg).spans).digest for mode in ("record", "replay", "live", "sealed")}

    assert len(digests) == 1


def test_recording_the_same_again_changes_no_byte_and_another_path_is_added(run, tmp_path: Path) -> None:
    cassette = tmp_path / "cassettes/breakfast/c1.yaml"
    run("record", order_an_egg)
    first = cassette.read_bytes()
    assert run("record", order_an_egg).recorded == 0
    assert cassette.read_bytes() == first

    def order_ham(agent) -> None:
        agent.call("add", item="ham")

    assert run("record", order_ham).recorded == 2
    assert run("replay", order_an_egg).misses == ()
    assert run("replay", order_ham).misses == ()


def test_a_call_that_was_not_recorded_is_a_miss_that_no_client_retries(run) -> None:
    run("record", order_an_egg)
    answers = []
    record = run("replay", lambda agent: answers.append(agent.ask_raw("POST", "/tools/look", {"q": "ham"})))

    ((status, headers, body),) = answers
    assert (status, headers["x-should-retry"]) == (424, "false")
    assert b'"replay_miss"' in body
    assert record.tiers == {"miss": 2}
    miss, _ = record.misses  # the other is the probe's: the cassette knows the order only with an egg in it
    assert (miss["tool"], miss["arguments"]) == ("look", {"limit": 5, "q": "ham"})
    assert miss["nearest"][0]["difference"] == '$.q: "ham" here, "egg" in the recording'


def test_a_read_after_another_write_is_a_miss_and_so_is_the_probe(run) -> None:
    run("record", order_an_egg)

    def order_ham(agent) -> None:
        assert agent.call("add", item="ham")[0] == 424
        assert agent.call("order")[0] == 424

    record = run("replay", order_ham)
    assert record.states == {}
    assert [miss.get("probe") for miss in record.misses] == [None, None, "order"]


def test_a_damaged_cassette_is_told_when_the_session_is_opened(run, tmp_path: Path) -> None:
    path = tmp_path / "cassettes/breakfast/c1.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("interactions: [")
    with pytest.raises(CassetteError, match=r"c1\.yaml:"):
        run("replay", order_an_egg)


def test_a_refusal_is_recorded_and_a_failure_of_the_moment_is_not(run) -> None:
    told = []

    def fail(agent) -> None:
        told.append([agent.call(name) for name in ("slow", "reset")] + [agent.call("item", id="nothing")])

    assert {"slow": 1, "reset": 1} == run("record", fail).recording.failed
    assert ["slow", "reset"] == [miss["tool"] for miss in run("replay", fail).misses]
    assert [(status, answer["error"]["type"]) for status, answer in told[0]] == [
        (504, "timeout"),
        (502, "reset"),
        (404, "tool_error"),
    ]
    assert [(424, "replay_miss")] * 2 == [(status, answer["error"]["type"]) for status, answer in told[1][:2]]
    assert told[0][2] == told[1][2]


@pytest.mark.parametrize(("outcome", "tool"), [("timeout", "slow"), ("reset", "reset")])
def test_a_failure_on_a_cassette_is_replayed_in_the_words_of_a_live_one(
    run, tmp_path: Path, outcome: str, tool: str
) -> None:
    told = []

    def fail(agent) -> None:
        told.append(agent.call(tool))

    def look(agent) -> None:
        agent.call("look", q="egg")

    run("record", look)
    path = tmp_path / "cassettes/breakfast/c1.yaml"
    (looked,) = load_cassette(path).of_tool("look")
    mark = looked.mark.model_copy(update={"tool": tool, "key": key_digest(tool, "{}"), "outcome": outcome})
    lost = looked.model_copy(update={"mark": mark, "arguments": "{}", "status": 504, "body": b""})
    save_cassette(path, Cassette([*load_cassette(path).recordings, lost]), suite="breakfast", case="c1")

    run("live", fail)
    assert () == run("replay", fail).misses
    assert told[0] == told[1]


@pytest.mark.parametrize("status", [408, 425, 429, 502, 503, 504])
def test_what_says_something_about_the_moment_alone_is_not_recorded(run, shop, status: int) -> None:
    shop.answer = (status, {}, b"{}")

    assert run("record", lambda agent: agent.call("answer")).recorded == 1  # the probe


def test_an_answer_that_changed_is_counted_and_replaces_the_old_one_only_on_refresh(run, shop) -> None:
    given = []

    def ask(agent) -> None:
        given.append(agent.call("answer")[1])

    shop.answer = (200, {}, b'{"price": 1}')
    run("record", ask)
    shop.answer = (200, {}, b'{"price": 2}')
    assert run("record", ask).differs == 1
    run("replay", ask)
    run("record", ask, refresh=True)
    run("replay", ask)

    assert [answer["price"] for answer in given] == [1, 1, 1, 2, 2]


def test_sealed_trials_have_a_service_each_and_live_ones_share_it(run, shop) -> None:
    run("sealed", order_an_egg)
    run("sealed", order_an_egg)
    run("live", order_an_egg)

    assert shop.opened == shop.closed == ["trial-1", "trial-2", "shared"]


def test_a_case_with_a_snapshot_of_its_own_has_services_of_its_own_where_others_share_theirs(run, shop, case) -> None:
    run("live", order_an_egg, case=case.model_copy(update={"snapshot": "small"}))

    assert [("shared", None), ("trial-1", "small")] == list(zip(shop.opened, shop.snapshots, strict=True))


def test_a_service_that_cannot_keep_trials_apart_is_not_shared(run, shop, suite: Suite) -> None:
    apart = suite.model_copy(update={"servers": {"shop": ToolServer(service="shop", disposable=True)}})
    run("record", order_an_egg, suite=apart)

    assert shop.opened == ["trial-1"]


def test_the_session_header_reaches_the_service_and_no_recording(run, shop, tmp_path: Path) -> None:
    run("record", order_an_egg)

    (sent,) = {headers["X-Order-Session"] for _, _, headers, _ in shop.seen}
    assert sent.startswith("trial-1.")
    assert "trial-1" not in (tmp_path / "cassettes/breakfast/c1.yaml").read_text()


def test_a_trial_that_is_tried_again_does_not_find_what_the_first_try_left(suite, case, shop, tmp_path, agent) -> None:
    request = SessionRequest(trial_id="t", case=case, attempt=1, agent="a")
    with Gateway(suite, "record", cassettes=tmp_path, services=shop) as gateway:
        with gateway.open(request) as first:
            agent(first.socket).call("add", item="egg")
        with gateway.open(request) as second:
            assert agent(second.socket).call("order") == (200, {"lines": []})


def test_a_service_that_is_gone_is_the_harness_failure_and_no_tools(run, shop) -> None:
    shop.url = "http://127.0.0.1:1"
    got = []
    with pytest.raises(ServiceError, match="'shop'"):
        run("record", lambda agent: got.append(agent.call("look", q="egg")))

    assert [(status, answer["error"]["type"]) for status, answer in got] == [(500, "harness_failed")]


def test_defaults_are_sent_and_arguments_stay_in_their_place(run, shop, suite: Suite) -> None:
    def play(agent) -> None:
        agent.call("look", q="a&b=c d/é")
        agent.call("item", id="a/b?c#d%2e")

    run("live", play)

    assert [path for _, path, _, _ in shop.seen][:2] == [
        "/items?q=a%26b%3Dc%20d%2F%C3%A9",
        "/items/a%2Fb%3Fc%23d%252e",
    ]


@pytest.mark.parametrize(
    "path",
    ["..", ".", "../../admin", "%2e%2e", "%2E%2e/admin", "%252e%252e", "..\\admin", "a/../b", "..;/x", "a%00b", ""],
)
def test_an_argument_cannot_lead_to_another_path(run, shop, path: str) -> None:
    answers = []
    run("live", lambda agent: answers.append(agent.call("item", id=path)))

    assert answers[0][0] == 422
    assert [seen for _, seen, _, _ in shop.seen] == ["/order"]


def test_live_calls_keep_to_the_rate_limit_and_replayed_ones_need_not(run, suite: Suite) -> None:
    def limited(per_s: float) -> Suite:
        limit = f"2/{per_s}s"
        tools = (spec.model_copy(update={"rate_limit": limit}) if spec.name == "look" else spec for spec in suite.tools)
        return suite.model_copy(update={"tools": tuple(tools)})

    def look_five_times(agent) -> None:
        for _ in range(5):
            agent.call("look", q="egg")

    def answered_s(record) -> list[float]:
        """Seconds from the beginning of the first call, which never waits, to the end of each."""
        steps = trajectory_from(record.spans).steps
        return [
            (step.started_ns - steps[0].started_ns) / 1e9 + step.observations[0].duration_ms / 1e3 for step in steps
        ]

    live = answered_s(run("record", look_five_times, suite=limited(0.3)))
    replayed = answered_s(run("replay", look_five_times, suite=limited(60)))

    assert live[2] >= 0.3
    assert live[4] >= 0.6
    assert replayed[4] < 60


def base_url(suite: Suite, **server) -> Suite:
    return suite.model_copy(update={"servers": {"shop": ToolServer(**server)}})


@pytest.mark.parametrize(
    ("mode", "server", "said"),
    [
        ("live", {"base_url": "http://api.example"}, "is not disposable, and add would write to it in live mode"),
        ("record", {"base_url": "http://api.example"}, "is not disposable"),
        ("sealed", {"base_url": "http://api.example", "disposable": True}, "cannot be sealed"),
        ("live", {"base_url": "api.example", "disposable": True}, "base_url: .*'api.example'"),
        ("live", {"service": "shop", "headers": {"X": "Bearer ${KEY}"}}, "not one of the suite's secrets"),
    ],
)
def test_what_a_mode_cannot_do_is_told_before_any_trial(
    suite: Suite, tmp_path: Path, shop, mode, server, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        Gateway(base_url(suite, **server), mode, cassettes=tmp_path, services=shop)
    Gateway(base_url(suite, **server), "replay", cassettes=tmp_path)


def test_a_server_of_reads_alone_may_be_live(run, shop, suite: Suite) -> None:
    reads = base_url(suite, base_url=shop.url).model_copy(
        update={"tools": tuple(spec for spec in suite.tools if spec.effect == "read")}
    )

    assert run("live", lambda agent: agent.call("look", q="egg"), suite=reads).tiers == {"live": 2}
    assert shop.opened == []


def test_a_service_that_the_environment_lacks_is_named(run, suite: Suite) -> None:
    lacking = base_url(suite, service="bank", disposable=True)
    with pytest.raises(ServiceError, match="'bank'"):
        run("sealed", order_an_egg, suite=lacking)


def test_services_that_nobody_starts_are_told(suite: Suite, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tools replayed"):
        Gateway(suite, "sealed", cassettes=tmp_path)


def test_a_gateway_that_was_not_entered_opens_no_session(suite: Suite, case, tmp_path: Path) -> None:
    gateway = Gateway(suite, "replay", cassettes=tmp_path)
    with pytest.raises(GatewayError, match=r"with Gateway\("):
        gateway.open(SessionRequest(trial_id="t", case=case, attempt=1, agent="a"))
