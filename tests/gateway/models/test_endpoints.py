"""Model endpoints on a trial's socket, with a real model server behind."""

from functools import partial
from pathlib import Path

import pytest

from harness.cassettes.cassette import load_cassette
from harness.cassettes.check import check_cassette
from tests.gateway.models.agents import anthropic_agent, chat_agent, responses_agent
from tests.gateway.models.conftest import KEY
from tests.gateway.models.model_server import ModelServer

LOOPS = {
    "chat": chat_agent,
    "chat, streamed": partial(chat_agent, stream=True),
    "responses": responses_agent,
    "responses, streamed": partial(responses_agent, stream=True),
    "responses, history at the provider": partial(responses_agent, at_provider=True),
    "messages": anthropic_agent,
    "messages, streamed": partial(anthropic_agent, stream=True),
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_what_was_recorded_is_replayed_without_provider_or_key(play, run, models, shop, tmp_path: Path, loop) -> None:
    said = []
    recorded = play("record", lambda agent: said.append(loop(agent)), model="record")
    asked = len(models.seen), len(shop.seen)
    again = play("record", lambda agent: said.append(loop(agent)), model="record")
    replayed = run("replay", lambda agent: said.append(loop(agent)), model_mode="replay")
    replayed_again = run("replay", lambda agent: said.append(loop(agent)))

    assert ['Found: {"found": ["egg"]} {"found": ["ham"]}'] * 4 == said
    assert ({"live": 2}, {"live": 2}) == (recorded.tiers, recorded.model_tiers)
    assert 0 == again.recorded  # new ids, the same requests
    assert ({"exact": 2}, {"exact": 2}) == (replayed.tiers, replayed.model_tiers)
    assert () == replayed.misses == replayed_again.misses
    assert (2 * asked[0], 2 * asked[1]) == (len(models.seen), len(shop.seen))
    assert () == check_cassette(tmp_path / "cassettes/breakfast/c1.yaml", {"MODEL_KEY": KEY})


def test_the_key_is_added_behind_the_door_and_stands_nowhere(play, models: ModelServer, tmp_path: Path) -> None:
    record = play("live", chat_agent, model="live")
    anthropic = play("record", anthropic_agent, model="record")

    assert f"Bearer {KEY}" == models.seen[0][1]["authorization"]
    assert KEY == models.seen[-1][1]["x-api-key"]
    assert KEY not in repr(record) + repr(anthropic)
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert {"model"} == {
        r.mark.kind for r in load_cassette(tmp_path / "cassettes/breakfast/c1.yaml").only("model").recordings
    }
