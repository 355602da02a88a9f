"""No secret reaches a cassette, a span or a record; nor does the agent ever see the gateway's own."""

import json
from pathlib import Path

import pytest

from harness.cassettes.check import check_cassette
from harness.errors import CassetteError, UsageError
from harness.gateway.gateway import Gateway
from harness.suite.suites import Suite
from harness.traces.projection import trajectory_from

SECRETS = {"SHOP_KEY": "sk-live-0123456789"}


@pytest.fixture
def suite_with_secret(suite: Suite) -> Suite:
    server = suite.servers["shop"].model_copy(update={"headers": {"Authorization": "Bearer ${SHOP_KEY}"}})
    return suite.model_copy(update={"secrets": ("SHOP_KEY",), "servers": {"shop": server}})


def stored(record, folder: Path) -> str:
    """Everything that a trial leaves."""
    spans = "".join(span.model_dump_json() for span in record.spans)
    told = json.dumps([record.final_reply, dict(record.states), record.misses])
    return spans + told + "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


def test_a_header_is_sent_to_the_service_and_stored_nowhere(run, shop, suite_with_secret, tmp_path: Path) -> None:
    record = run("record", lambda agent: agent.call("look", q="egg"), suite=suite_with_secret, secrets=SECRETS)

    assert {headers["Authorization"] for _, _, headers, _ in shop.seen} == {"Bearer sk-live-0123456789"}
    assert SECRETS["SHOP_KEY"] not in stored(record, tmp_path)


def test_a_secret_that_comes_back_is_replaced_everywhere_and_replays(run, shop, suite_with_secret, tmp_path) -> None:
    shop.answer = (200, {"Set-Cookie": "id=c00kie-value"}, b'{"echo": "your key is sk-live-0123456789", "a": 1}')

    def play(agent) -> None:
        key = agent.call("answer")[1]["echo"].split()[-1]
        agent.call("look", q=key)
        agent.ask("POST", "/thought", {"text": f"I know {key}", "plan": [key]})
        agent.call("nope", key=key)
        agent.ask("POST", "/tools/look", f"{{{key}".encode())
        agent.ask("POST", "/reply", {"message": f"It is {key}."})

    recorded = run("record", play, suite=suite_with_secret, secrets=SECRETS)
    assert SECRETS["SHOP_KEY"] not in stored(recorded, tmp_path)
    assert "c00kie-value" not in stored(recorded, tmp_path)
    assert recorded.final_reply == "It is <secret:SHOP_KEY>."
    assert check_cassette(tmp_path / "cassettes/breakfast/c1.yaml", SECRETS) == ()

    # Whoever replays the cassette need not have the secret.
    replayed = run("replay", play, suite=suite_with_secret)
    assert replayed.misses == ()
    assert trajectory_from(replayed.spans).digest == trajectory_from(recorded.spans).digest


def test_a_token_that_the_service_hands_out_is_replaced_and_still_works_in_a_replay(run, shop, tmp_path) -> None:
    shop.answer = (200, {}, b'{"access_token": "tok-abcdefgh"}')

    def play(agent) -> None:
        token = agent.call("answer")[1]["access_token"]
        assert agent.call("look", q=token)[0] == 200

    recorded = run("record", play)
    assert "tok-abcdefgh" not in stored(recorded, tmp_path)
    assert run("replay", play).misses == ()


def test_a_recording_that_would_keep_a_secret_fails_the_trial_and_writes_nothing(run, shop, tmp_path) -> None:
    shop.answer = (200, {}, b'{"serial": 99481516234299}')
    with pytest.raises(CassetteError, match="'PIN'"):
        run("record", lambda agent: agent.call("answer"), secrets={"PIN": "4815162342"})

    assert list(tmp_path.rglob("*.yaml")) == []
    assert "4815162342" not in "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())


def test_a_cassette_on_which_a_secret_stands_is_not_replayed(run, shop) -> None:
    shop.answer = (200, {}, b'"my-password-1"')
    run("record", lambda agent: agent.call("answer"))
    with pytest.raises(CassetteError, match=r"answer\({}\).*'SHOP_KEY'"):
        run("replay", lambda agent: None, secrets={"SHOP_KEY": "my-password-1"})


def test_a_header_whose_variable_is_not_set_is_told(suite_with_secret: Suite, shop, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="SHOP_KEY"):
        Gateway(suite_with_secret, "live", cassettes=tmp_path, services=shop)


def test_a_gateway_refuses_a_secret_that_it_could_not_hide(suite: Suite, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fewer than 4"):
        Gateway(suite, "replay", cassettes=tmp_path, secrets={"PIN": "12"})
