"""`harness cassette show` tells requests to a model apart: their beginning, then what each adds to the one before."""

import json
from pathlib import Path

from harness.cassettes.check import show_cassette

PROMPT = "You take orders. " + "Be brief. " * 300


def test_a_request_is_shown_from_its_beginning_and_the_next_from_where_it_differs(play, tmp_path: Path) -> None:
    history: list[dict[str, str]] = [{"role": "user", "content": PROMPT}]

    def order(agent) -> None:
        for wish in ("first: an egg", "second: some ham"):
            history.append({"role": "user", "content": wish})
            body = json.dumps({"model": "small-1", "messages": history}).encode()
            assert 200 == agent.ask_raw("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})[0]

    play("replay", order, model="record")
    shown = show_cassette(tmp_path / "cassettes" / "breakfast" / "c1.yaml")
    asked = [line for line in shown.splitlines() if "chat" in line and "(" in line]
    assert 2 == len(asked)
    assert "You take orders." in asked[0]
    assert "characters more)" in asked[0]
    assert "characters as in the request before)" in asked[1]
    assert "first: an egg" in asked[1]  # recordings stand in the order of their keys
    assert "You take orders." not in asked[1]
    assert all(len(line) < 1200 for line in asked)
