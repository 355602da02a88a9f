"""How long it takes to compare an answer with its recording, by the number of items in it.

python -m qa.bench.drift
"""

import json
import time

from pydantic import JsonValue

from harness.cassettes.keys import initial_state
from harness.cassettes.profiles import OperationProfile
from harness.cassettes.recordings import Mark, Recording
from harness.drift.answers import AnswerBaseline, answer_of
from harness.drift.compare import compare
from harness.drift.forms import PathRules

ROUNDS = 5


def recording(value: JsonValue) -> Recording:
    mark = Mark(server="s", tool="t", effect="read", key="0" * 32, state=initial_state("s"), writes=0, occurrence=0)
    return Recording(mark=mark, arguments="{}", status=200, body=json.dumps(value).encode())


def answer(items: int, release: int) -> JsonValue:
    found: list[JsonValue] = [
        {
            "id": number,
            "name": f"item {number}",
            "price": number / 7 + release,
            "tags": ["a", "b", str(number % 5)],
            "stock": {"here": number % 9, "there": None if number % 3 else 1},
            **({"size": "L"} if release == 0 else {"sizes": ["L", "M"]}),
        }
        for number in range(items)
    ]
    return {"items": found, "total": items, "at": f"2026-01-0{release + 1}T00:00:00Z"}


def best_ms(items: int) -> tuple[float, float, int]:
    """Milliseconds without reading the JSON: of an equal answer, and of one in which every item changed."""
    old = recording(answer(items, 0))
    baseline, rules = AnswerBaseline([old], OperationProfile(), PathRules([])), PathRules([])
    times: list[list[float]] = [[], []]
    found = 0
    for release in (0, 1):
        before, after = answer_of(old), answer_of(recording(answer(items, release)))
        for _ in range(ROUNDS):
            began = time.perf_counter()
            found = len(compare(before, after, baseline, rules).changes)
            times[release].append((time.perf_counter() - began) * 1000)
    return min(times[0]), min(times[1]), found


if __name__ == "__main__":
    print(f"{'items':>7} {'kB':>7} {'equal ms':>9} {'changed ms':>11} {'changes':>8}")
    for items in (10, 100, 1000, 5000):
        size = len(json.dumps(answer(items, 0))) / 1000
        equal, changed, count = best_ms(items)
        print(f"{items:>7} {size:>7.0f} {equal:>9.1f} {changed:>11.1f} {count:>8}")
