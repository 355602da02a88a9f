"""What a big cassette costs: to open, and for each hit. `make bench`.

json          opening a cassette of 10,000 recordings in JSON
yaml, first   the same in YAML, which has no index yet; at most a third of 9.1 s, what it took once
yaml, again   through the index that the first opening has left
hit           one look-up in a cassette of 10 and in one of 10,000, each call asked once, in an order of its own
"""

import argparse
import gc
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from figures import Target, show

from harness.cassettes.cassette import Cassette, index_path, open_cassette, save_cassette
from harness.cassettes.keys import CallKey, initial_state, key_digest
from harness.cassettes.player import Played, Player
from harness.cassettes.recordings import Mark, Recording
from harness.values import canonical_json

TARGETS = (
    Target(figure="json, of which processor s", bound=1.2),
    Target(figure="yaml, first, of which processor s", bound=3),
    Target(figure="yaml, again, of which processor s", bound=1.2),
    Target(figure="hit, big cassette against small", bound=2),
)
SMALL = 10


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--recordings", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as folder:
        figures = opened(Path(folder), chosen.recordings, chosen.rounds) | hits(chosen.recordings, chosen.rounds)
    print(json.dumps(figures)) if chosen.json else show(figures, TARGETS)


def cassette_of(count: int) -> Cassette:
    """Distinct reads with answers of some hundred bytes."""
    state = initial_state("menu")
    made = []
    for number in range(count):
        arguments = canonical_json({"query": f"burger {number}", "limit": 3, "filters": {"price_max": number / 7}})
        key = key_digest("find_items", arguments)
        mark = Mark(server="menu", tool="find_items", effect="read", key=key, state=state, writes=0, occurrence=0)
        items = [
            {
                "id": f"item-{number}-{size}",
                "name": f"Burger {number}, size {size}",
                "price": 4.5 + size,
                "tags": ["new"],
            }
            for size in range(6)
        ]
        body = json.dumps({"items": items, "total": len(items)}).encode()
        headers = {"content-type": "application/json"}
        made.append(Recording(mark=mark, arguments=arguments, status=200, headers=headers, body=body))
    return Cassette(made)


def opened(folder: Path, count: int, rounds: int) -> dict[str, float]:
    """Seconds to open one cassette in both formats."""
    cassette = cassette_of(count)
    as_json, as_yaml = (folder / "cassettes" / "bench" / f"big.{ending}" for ending in ("json", "yaml"))
    for path in (as_json, as_yaml):
        save_cassette(path, cassette, suite="bench", case="big")
    figures = {
        "recordings": float(count),
        "json, MB": as_json.stat().st_size / 1e6,
        "yaml, MB": as_yaml.stat().st_size / 1e6,
        **seconds("json", lambda: open_cassette(as_json), rounds),
        **seconds("yaml, first", lambda: open_cassette(as_yaml), 1),
        **seconds("yaml, again", lambda: open_cassette(as_yaml), rounds),
        "yaml, index MB": index_path(as_yaml).stat().st_size / 1e6,
    }
    assert open_cassette(as_yaml).recordings == open_cassette(as_json).recordings == cassette.recordings
    return figures


def seconds(name: str, act: Callable[[], object], rounds: int) -> dict[str, float]:
    """Medians, by the clock and of the processor: on a busy machine the first says more about the others."""
    taken, spent = [], []
    for _ in range(rounds):
        gc.collect()
        began, before = time.perf_counter(), time.thread_time()
        act()
        taken.append(time.perf_counter() - began)
        spent.append(time.thread_time() - before)
    return {f"{name}, opening s": statistics.median(taken), f"{name}, of which processor s": statistics.median(spent)}


def hits(count: int, rounds: int) -> dict[str, float]:
    """Microseconds of a hit in a small cassette and in a big one, by turns."""
    cassettes = {"small": cassette_of(SMALL), "big": cassette_of(count)}
    taken: dict[str, list[float]] = {name: [] for name in cassettes}
    asked = {name: [call_of(recording) for recording in cassette.recordings] for name, cassette in cassettes.items()}
    gc.collect()
    for number in range(rounds):
        for name, cassette in cassettes.items():
            calls = random.Random(number).sample(asked[name], len(asked[name]))
            for start in range(0, 1000, SMALL):  # batches of one length: a longer one is interrupted more often
                at = start % len(calls)
                taken[name].append(hit_us(Player(cassette), calls[at : at + SMALL]))
    small, big = statistics.median(taken["small"]), statistics.median(taken["big"])
    return {
        "hit, small cassette us": small,
        "hit, big cassette us": big,
        "hit, big cassette against small": big / small,
    }


def hit_us(player: Player, calls: list[CallKey]) -> float:
    began = time.perf_counter()
    for call in calls:
        played = player.play(call)
        assert isinstance(played, Played), played
    return (time.perf_counter() - began) / len(calls) * 1e6


def call_of(recording: Recording) -> CallKey:
    mark = recording.mark
    return CallKey(server=mark.server, tool=mark.tool, effect=mark.effect, arguments=recording.arguments, key=mark.key)


if __name__ == "__main__":
    main()
