"""Large requests are recorded, replayed and traced in the same order and to the same bytes as small ones."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from harness.traces import names
from tests.gateway.conftest import Agent
from tests.gateway.models.conftest import KEY
from tests.gateway.models.model_server import ModelServer

_LONG = f"order 17, key {KEY[:9]}, not {KEY}; " * 9000
_TIMES = frozenset({names.STARTED_MONOTONIC, names.ENDED_MONOTONIC})


def long_and_short(agent: Agent) -> None:
    """A large request before each small one, to the model and to a tool."""
    for text in (_LONG, "and now?", _LONG + "again", "thanks"):
        asked = {"model": "small-1", "messages": [{"role": "user", "content": text}]}
        assert 200 == agent.ask("POST", "/v1/chat/completions", asked)[0]
        assert 200 == agent.call("add", item=text)[0]
        assert 200 == agent.call("order")[0]
    assert 204 == agent.ask("POST", "/thought", {"text": _LONG})[0]
    assert 204 == agent.ask("POST", "/reply", {"message": _LONG})[0]


def told(record: Any) -> list[tuple[str, dict[str, Any]]]:
    return [
        (span.name, {k: v for k, v in span.attributes.items() if k not in _TIMES}) for span in record.spans[1:]
    ]  # without the root, which has the id of the trial


@pytest.mark.slow
def test_large_requests_are_recorded_the_same_twice_and_replay_alike(
    play: Any, models: ModelServer, tmp_path: Path
) -> None:
    def recorded() -> tuple[dict[str, bytes], Any]:
        models.numbers = itertools.count(1)
        record = play("record", long_and_short, model="record")
        folder = (tmp_path / "cassettes").rename(tmp_path / f"cassettes-{len(list(tmp_path.iterdir()))}")
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.yaml")}, record

    (first, record), (second, _) = recorded(), recorded()
    (tmp_path / "cassettes").mkdir()
    for name, content in first.items():
        (tmp_path / "cassettes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cassettes" / name).write_bytes(content)
    replays = [play("replay", long_and_short, model="replay") for _ in range(2)]

    assert first
    assert first == second
    assert not any(KEY.encode() in content for content in first.values())
    assert told(replays[0]) == told(replays[1])
    assert [name for name, _ in told(record)] == [name for name, _ in told(replays[0])]
    texts = json.dumps([told(record), told(replays[0])])
    assert KEY not in texts
    assert texts.count("not <secret:MODEL_KEY>") >= 9000
    assert () == replays[0].misses
    assert record.final_reply == replays[0].final_reply
