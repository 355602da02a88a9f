"""A replay answers what the real tool would have answered, or misses: never anything else.

A small world with state is recorded on one path, and replayed to agents that leave it: further reads, reads in
another order, writes dropped, added, swapped. Every answer is compared with the world's own.
"""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cassettes.cassette import load_cassette
from harness.cassettes.journals import TrialJournal, merge
from harness.cassettes.keys import StateChain, call_key, complete_arguments
from harness.cassettes.player import Player
from harness.cassettes.redaction import Redactor
from harness.cassettes.trial_recording import TrialRecording
from harness.gateway.exchange import ReplaySource
from harness.gateway.recording import Recorder, RecordingSource, ToolCodec
from harness.gateway.upstream.sources import ToolAnswer, ToolMiss, ToolRequest, TrialTools
from harness.suite.tools import HttpRoute, ToolSpec

GET = ToolSpec(name="get", server="store", effect="read", http=HttpRoute(path="/"))
PUT = ToolSpec(name="put", server="store", effect="write", http=HttpRoute(path="/"))
OTHER = ToolSpec(name="other", server="elsewhere", effect="write", http=HttpRoute(path="/"))
TOOLS = {tool.name: tool for tool in (GET, PUT, OTHER)}
Call = tuple[str, dict[str, Any]]


class Store:
    """Two servers in memory; the second one counts its calls."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self.calls = 0

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        arguments = request.arguments
        match request.tool.name:
            case "get":
                content: Any = self.values.get(str(arguments["key"]))
            case "put":
                self.values[str(arguments["key"])] = int(str(arguments["value"]))
                content = len(self.values)
            case _:
                self.calls += 1
                content = self.calls
        await asyncio.sleep(0)
        return ToolAnswer(outcome="answer", tier="live", status=200, body=json.dumps(content).encode())


def recording(store: TrialTools, journal: TrialJournal, redactor: Redactor) -> RecordingSource:
    """A source that records the answers of another into the journal."""
    kept = TrialRecording(journal=journal, chain=StateChain())
    return RecordingSource(store, Recorder(codec=ToolCodec(), trial_recording=kept, redactor=redactor))


def requests(path: list[Call]) -> list[ToolRequest]:
    redactor = Redactor({})
    return [
        ToolRequest(
            tool=TOOLS[name],
            arguments=arguments,
            key=call_key(TOOLS[name], complete_arguments(TOOLS[name], arguments), redactor),
        )
        for name, arguments in path
    ]


def answers(source: TrialTools, path: list[Call]) -> list[ToolAnswer | ToolMiss]:
    async def in_order() -> list[ToolAnswer | ToolMiss]:
        return [await source.call(request) for request in requests(path)]

    return asyncio.run(in_order())


def recorded(*paths: list[Call]) -> TrialTools:
    """A replay of all these paths, each recorded by a trial of its own in a fresh world."""
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            redactor = Redactor({})
            journal = TrialJournal(Path(folder), suite="s", case="c", redactor=redactor)
            answers(recording(Store(), journal, redactor), path)
            merge(journal, Path(folder), suite="s", case="c")
        cassette = Path(folder) / "s/c.yaml"
        return ReplaySource(Player(load_cassette(cassette)))


def wrong(replayed: list[ToolAnswer | ToolMiss], true: list[ToolAnswer | ToolMiss]) -> list[Any]:
    """Answers that are not misses and not what the world says."""
    return [
        (here, there)
        for here, there in zip(replayed, true, strict=True)
        if isinstance(here, ToolAnswer) and isinstance(there, ToolAnswer) and here.body != there.body
    ]


keys = st.sampled_from("ab")
calls = (
    st.builds(lambda key: ("get", {"key": key}), keys)
    | st.builds(lambda key, value: ("put", {"key": key, "value": value}), keys, st.integers(1, 2))
    | st.just(("other", {}))
)
paths = st.lists(calls, min_size=1, max_size=10)


@st.composite
def deviations(draw: st.DrawFn) -> tuple[list[Call], list[Call]]:
    """A path, and one that deviates from it in a few places."""
    path = draw(paths)
    other = list(path)
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(other)))
        match draw(st.sampled_from(["add", "drop", "swap"])):
            case "add":
                other.insert(place, draw(calls))
            case "drop" if place < len(other):
                del other[place]
            case "swap" if place + 1 < len(other):
                other[place], other[place + 1] = other[place + 1], other[place]
            case _:
                pass
    return path, other


@settings(max_examples=150, deadline=None)
@given(deviations())
def test_whatever_the_agent_changes_no_answer_is_wrong(paths: tuple[list[Call], list[Call]]) -> None:
    path, other = paths

    assert wrong(answers(recorded(path), other), answers(Store(), other)) == []


@settings(max_examples=50, deadline=None)
@given(paths, paths)
def test_a_cassette_of_two_paths_replays_both_without_a_miss(first: list[Call], second: list[Call]) -> None:
    for path in (first, second):
        replayed = answers(recorded(first, second), path)

        assert [answer for answer in replayed if isinstance(answer, ToolMiss)] == []
        assert wrong(replayed, answers(Store(), path)) == []


READ_A, READ_B = ("get", {"key": "a"}), ("get", {"key": "b"})
WRITE_A, WRITE_B = ("put", {"key": "a", "value": 1}), ("put", {"key": "b", "value": 2})


def tiers(recorded_path: list[Call], path: list[Call]) -> list[str]:
    return [
        "miss" if isinstance(answer, ToolMiss) else answer.tier for answer in answers(recorded(recorded_path), path)
    ]


def test_reads_between_writes_may_be_reordered_repeated_and_left_out() -> None:
    path = [READ_A, READ_B, WRITE_A, READ_A, READ_B]

    assert tiers(path, [READ_B, READ_A, WRITE_A, READ_B]) == ["exact"] * 4
    assert tiers(path, [READ_A, READ_A, WRITE_A, READ_A, READ_A]) == [
        "exact",
        "exact_reused",
        "exact",
        "exact",
        "exact_reused",
    ]


def test_after_a_dropped_or_swapped_write_nothing_is_guessed() -> None:
    path = [READ_A, WRITE_A, WRITE_B, READ_A]

    assert tiers(path, [READ_A, WRITE_B, READ_A]) == ["exact", "miss", "miss"]
    assert tiers(path, [WRITE_B, WRITE_A, READ_A]) == ["miss", "miss", "miss"]
    assert tiers(path, [WRITE_A, WRITE_A, READ_A]) == ["exact", "miss", "miss"]


def test_a_write_on_another_server_does_not_matter() -> None:
    assert tiers([READ_A, WRITE_A, READ_A], [("other", {}), READ_A, WRITE_A, READ_A]) == [
        "miss",
        "exact",
        "exact",
        "exact",
    ]


def test_calls_made_at_the_same_time_are_recorded_as_if_one_after_the_other(tmp_path: Path) -> None:
    redactor, store = Redactor({}), Store()
    journal = TrialJournal(tmp_path, suite="s", case="c", redactor=redactor)
    source = recording(store, journal, redactor)
    path = [READ_A, WRITE_A, READ_A, WRITE_B, READ_B] * 20

    async def all_at_once(asked: TrialTools) -> list[ToolAnswer | ToolMiss]:
        return await asyncio.gather(*(asked.call(request) for request in requests(path)))

    given = asyncio.run(all_at_once(source))
    merge(journal, tmp_path, suite="s", case="c")
    player = Player(load_cassette(tmp_path / "s/c.yaml"))

    replayed = asyncio.run(all_at_once(ReplaySource(player)))
    assert wrong(replayed, given) == []
    assert {answer.tier for answer in replayed if isinstance(answer, ToolAnswer)} == {"exact"}
