"""Speed of the receiver, the store and scoring by rules, on this machine: `python -m qa.production.speed`.

Wall time and processor time stand side by side, since the machine may be shared.
"""

import argparse
import hashlib
import json
import random
import resource
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from harness.production.days import DayFacts
from harness.production.record import StoredRecord, stored
from harness.production.scores import SessionSampling, SessionScore
from harness.production.scoring import ScoringRequest, score_sessions
from harness.production.settings import OnlineSettings
from harness.production.storage import StoreLayout, add_records, transaction
from harness.production.store import SessionStore
from harness.production.watch import daily_report
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import Scorecard
from harness.suite.loading import load_suite
from harness.traces.otlp import RawRecord
from qa.production.senders import PROJECT, ReceiverProgram

WORDS = [hashlib.md5(str(number).encode()).hexdigest()[:6] for number in range(5000)]


def body(drawn: random.Random, spans: int = 500) -> bytes:
    """A request of conversations of ten spans, about 1.4 KB a span."""
    message = ExportTraceServiceRequest()
    scope = message.resource_spans.add().scope_spans.add()
    for number in range(spans):
        if number % 10 == 0:
            trace, session = drawn.randbytes(16), f"c{drawn.getrandbits(48):x}"
        one = scope.spans.add(trace_id=trace, span_id=drawn.randbytes(8), name="chat m")
        one.start_time_unix_nano, one.end_time_unix_nano = 10**18 + number, 10**18 + number + 5
        told = [{"role": "user", "parts": [{"type": "text", "content": " ".join(drawn.choices(WORDS, k=140))}]}]
        facts = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.input.messages": json.dumps(told),
        }
        for key, value in {**facts, "gen_ai.conversation.id": session}.items():
            one.attributes.add(key=key).value.string_value = value
    return message.SerializeToString()


def process_figures(pid: int) -> tuple[float, float]:
    """(processor seconds, resident megabytes) of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    return (int(fields[11]) + int(fields[12])) / 100, resident / 1e6


def ingest(requests: int, senders: int = 8) -> dict[str, Any]:
    """Requests of 500 spans from several senders at once, each waiting for its answer, on the receiver's machine.

    The senders encode nothing while the clock runs: the requests are made before. What the senders' side costs all the
    same is in `senders_cpu_s`; it is taken from the receiver's two cores.
    """
    drawn = random.Random(1)
    bodies = [body(drawn) for _ in range(requests)]
    with tempfile.TemporaryDirectory() as folder:
        program = ReceiverProgram(Path(folder) / "online")
        resident: list[float] = []

        def send(own: list[bytes]) -> None:
            for one in own:
                headers = {"Content-Type": "application/x-protobuf"}
                asked = urllib.request.Request(f"{program.url}/v1/traces", data=one, headers=headers)
                with urllib.request.urlopen(asked, timeout=120) as response:
                    response.read()
                resident.append(process_figures(program.process.pid)[1])

        send(bodies[:4])
        before, began, own = process_figures(program.process.pid)[0], time.monotonic(), time.process_time()
        threads = [threading.Thread(target=send, args=(bodies[4 + number :: senders],)) for number in range(senders)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        wall, used = time.monotonic() - began, process_figures(program.process.pid)[0] - before
        own = time.process_time() - own
        program.end()
    spans = 500 * (requests - 4)
    third = len(resident) // 3
    return {
        "spans": spans,
        "senders": senders,
        "senders_cpu_s": round(own, 1),
        "receiver_cpu_s": round(used, 1),
        "spans_per_s_wall": round(spans / wall),
        "spans_per_cpu_s": round(spans / used),
        "resident_mb_by_third": [round(max(resident[place : place + third])) for place in (0, third, 2 * third)],
    }


def written(layout: StoreLayout, records: Iterator[StoredRecord]) -> None:
    """Stores records in transactions of 5,000, as a receiver under load does."""
    layout.create()
    with closing(layout.open()) as connection:
        while batch := [*islice(records, 5_000)]:
            with transaction(connection):
                add_records(connection, batch)


def conversations(spans: int) -> Iterator[StoredRecord]:
    """Of ten spans each."""
    drawn, now_ns = random.Random(2), time.time_ns()
    for number in range(spans // 10):
        trace = f"{drawn.getrandbits(128):032x}"
        for place in range(10):
            facts: dict[str, Any] = {"gen_ai.input.messages": " ".join(drawn.choices(WORDS, k=100))}
            if place == 0:
                facts["gen_ai.conversation.id"] = f"c{number + 1}"
            one = RawRecord(
                kind="span",
                trace_id=trace,
                span_id=f"{number * 10 + place + 1:016x}",
                name="chat",
                start_ns=place + 1,
                end_ns=place + 2,
                attributes=facts,
            )
            yield stored(one, source="default", trusted=False, received_ns=now_ns)


def timed(work: Callable[[], Any], times: int) -> dict[str, float]:
    wall, used = list[float](), list[float]()
    for _ in range(times):
        began, cpu = time.monotonic(), time.process_time()
        work()
        wall.append(1000 * (time.monotonic() - began))
        used.append(1000 * (time.process_time() - cpu))
    return {"median_wall_ms": round(sorted(wall)[times // 2], 1), "median_cpu_ms": round(sorted(used)[times // 2], 1)}


def scores(count: int) -> Iterator[SessionScore]:
    card = Scorecard(case_id="production", attempt=1, category="general", outcome="finished",
                     success=True, digest="d")  # fmt: skip
    for number in range(count):
        verdict = Verdict(check="order", verifier="v", version="1", passed=number % 7 != 0, reason="r")
        yield SessionScore(session=f"default:c{number}", digest="d", kind="rules", scorer="s", scored_at="2026",
                           suite="shop", source="default", release=str(number % 3), received_ns=time.time_ns(),
                           sampling=SessionSampling(rule="all", rate=1, in_base=True),
                           card=card.model_copy(update={"verdicts": (verdict,)}))  # fmt: skip


def store(spans: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        layout = StoreLayout(Path(folder))
        began = time.monotonic()
        written(layout, conversations(spans))
        filled_s = time.monotonic() - began
        opened = SessionStore.open(layout.folder)
        drawn = random.Random(3)
        opened.session("c1")
        fetch = timed(lambda: opened.session(f"default:c{drawn.randint(1, spans // 10)}").spans, 15)
        rows = timed(opened.sessions, 3)
        opened.score_store.add(scores(spans // 10))
        facts = DayFacts(opened.score_store, "shop")
        day = datetime.now(UTC).strftime("%Y-%m-%d")
        report = timed(lambda: daily_report(facts, "shop", layout.watch, day), 3)
        size = layout.file.stat().st_size / sum(len(one.body) for one in conversations(spans))
    return {
        "spans": spans,
        "made_and_stored_s": round(filled_s, 1),
        "session_fetched": fetch,
        "all_sessions_listed": rows,
        "report_of_a_day": report,
        "file_by_bodies": round(size, 2),
        "resident_mb_most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000,
    }


def scoring(sessions: int) -> dict[str, Any]:
    suite = load_suite(PROJECT, "drive_thru")
    with tempfile.TemporaryDirectory() as folder:
        layout = StoreLayout(Path(folder))
        made = (one for number in range(sessions) for one in conversation(number))
        written(layout, (stored(one, source="default", trusted=False, received_ns=time.time_ns()) for one in made))
        opened = SessionStore.open(layout.folder)
        began, cpu = time.monotonic(), time.process_time()
        done = score_sessions(opened, ScoringRequest(suite=suite, settings=OnlineSettings(pause_s=0)))
        wall, used = time.monotonic() - began, time.process_time() - cpu
    return {"sessions": done.scored, "wall_s": round(wall, 1), "cpu_s": round(used, 1)}


def conversation(number: int) -> Iterator[RawRecord]:
    """A guest orders: six model calls and five tool calls."""
    history: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"type": "text", "content": f"Two coffees, {number}."}]}
    ]
    trace, at = f"{number + 1:032x}", 1
    root: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": f"c{number}"}
    yield RawRecord(kind="span", trace_id=trace, span_id=f"{at:016x}", name="invoke_agent", start_ns=1, end_ns=10**9,
                  attributes=root)  # fmt: skip
    for turn in range(6):
        part: dict[str, Any] = {"type": "text", "content": "Here you are."}
        if turn < 5:
            part = {
                "type": "tool_call",
                "id": f"t{turn}",
                "name": "add_item",
                "arguments": {"item": WORDS[turn], "quantity": 1},
            }
        reply = {"role": "assistant", "parts": [part]}
        at += 1
        facts: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(history),
                                 "gen_ai.output.messages": json.dumps([reply])}  # fmt: skip
        yield RawRecord(kind="span", trace_id=trace, span_id=f"{at:016x}", parent_id=f"{1:016x}", name="chat",
                      start_ns=at * 1000, end_ns=at * 1000 + 900, attributes=facts)  # fmt: skip
        if turn < 5:
            answered = {"type": "tool_call_response", "id": f"t{turn}", "response": {"ok": True, "line": turn}}
            history += [reply, {"role": "tool", "parts": [answered]}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--sessions", type=int, default=2_000)
    parser.add_argument("--senders", type=int, default=8)
    parser.add_argument("--only", choices=("scoring", "ingest", "store"))
    given = parser.parse_args()
    parts = {
        "scoring": lambda: scoring(given.sessions),
        "ingest": lambda: ingest(given.requests, given.senders),
        "store": lambda: store(given.spans),
    }
    for name, part in parts.items():
        if given.only in (None, name):
            print(json.dumps({name: part()}), flush=True)


if __name__ == "__main__":
    main()
