"""Published conversations as a day's traffic: `python -m qa.production.traffic --sessions 2000`.

Each conversation is sent in the shape of several public exporters. Spans of many sessions are mixed and out of order;
some requests are sent twice, some are cut in the middle, refused, and sent again; some spans come first as their sender
had them before they ended. What is read back is held against what the conversation's own importer reads.
"""

import argparse
import gzip
import json
import random
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from harness.production.store import SessionStore
from harness.traces.trajectory import Trajectory
from qa.converters import imported
from qa.production.senders import ReceiverProgram
from tests.production.receiving import request
from tests.production.shapes import SHAPES, Message, spans_in

SETS = (("tau2", "tau2"), ("tau-bench", "taubench/historical_trajectories"), ("tau2", "tau2_toolorchestra"))
BATCH = 200
WINDOW = 2_000
"""Spans that are mixed with each other."""


@dataclass(frozen=True)
class Sent:
    """One session, and what it is to be read as."""

    shape: str
    session: str
    users: list[str]
    calls: list[tuple[str, Any]]
    answers: list[str]
    results: list[Any]


def conversations(data: Path) -> Iterator[list[Message]]:
    """Those in which the user calls no tool."""
    for form, place in SETS:
        for path in sorted((data / place).glob("*.json")):
            for trial, _ in imported(form, path).trials:
                messages = messages_of(trial.trajectory)
                if messages is not None:
                    yield messages


def messages_of(trajectory: Trajectory) -> list[Message] | None:
    """None where the user calls tools, where a call has no result, or where the agent says nothing."""
    messages: list[Message] = []
    for step in trajectory.steps:
        if step.source == "system" or (step.source == "user" and not step.message):
            continue
        if step.source == "user" and step.calls:
            return None
        calls = [(f"t{step.index}-{place}", call.name, call.arguments or {}) for place, call in enumerate(step.calls)]
        role = "user" if step.source == "user" else "assistant"
        messages.append({"role": role, "content": step.message, "calls": calls})
        seen = {one.call_id: one.content for one in step.observations}
        for (number, name, _), call in zip(calls, step.calls, strict=True):
            if call.id not in seen:
                return None
            messages.append({"role": "tool", "id": number, "name": name, "content": seen[call.id]})
    return messages if any(one["role"] == "assistant" for one in messages) else None


def traffic(data: Path, count: int) -> Iterator[tuple[Sent, list[dict[str, Any]]]]:
    """Sessions and their spans; every shape gets every conversation in turn."""
    known = list(islice(conversations(data), count))
    for number in range(count):
        messages = known[number % len(known)]
        shape = list(SHAPES)[(number + number // len(known)) % len(SHAPES)]
        sent = Sent(
            shape=shape,
            session=f"day-{number}",
            users=[one["content"] for one in messages if one["role"] == "user" and _is_answered(messages, one)],
            calls=[(name, arguments) for one in messages for _, name, arguments in one.get("calls", ())],
            answers=[one["content"] for one in messages if one["role"] == "assistant" and one["content"]],
            results=[one["content"] for one in messages if one["role"] == "tool"],
        )
        yield sent, list(spans_in(shape, sent.session, number + 1, messages))


def _is_answered(messages: Sequence[Message], one: Message) -> bool:
    """No span tells of a message after which the agent did nothing."""
    place = next(number for number, message in enumerate(messages) if message is one)
    return any(message["role"] == "assistant" for message in messages[place:])


class Exporter:
    """Sends as exporters do that lose connections: what is not answered is sent again."""

    def __init__(self, url: str, seed: int) -> None:
        self.url = url
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()

    def send(self, spans: list[dict[str, Any]]) -> None:
        body = gzip.compress(json.dumps(request(*spans)).encode(), compresslevel=1)
        if self.random.random() < 0.05:
            self.counts["cut"] += 1
            assert 400 == self._post(body[: len(body) // 2])
        for _ in range(2 if self.random.random() < 0.1 else 1):
            self.counts["requests"] += 1
            while (status := self._post(body)) != 200:
                assert status in (429, 503), status
                time.sleep(0.2)
        self.counts["spans"] += len(spans)

    def _post(self, body: bytes) -> int:
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        asked = urllib.request.Request(f"{self.url}/v1/traces", data=body, headers=headers)
        try:
            with urllib.request.urlopen(asked, timeout=120) as response:
                response.read()
                return int(response.status)
        except urllib.error.HTTPError as error:
            error.read()
            return error.code


def early(span: dict[str, Any]) -> dict[str, Any]:
    """The span as some exporters give it before it has ended: without the end of its attributes, and ended at once."""
    kept = span["attributes"][: len(span["attributes"]) // 2]
    return {**span, "attributes": kept, "endTimeUnixNano": span["startTimeUnixNano"]}


def send_all(exporter: Exporter, days: Iterator[tuple[Sent, list[dict[str, Any]]]], batch: int) -> list[Sent]:
    sent: list[Sent] = []
    waiting: list[dict[str, Any]] = []
    for one, spans in days:
        sent.append(one)
        waiting += spans
        waiting += [early(span) for span in spans[1:] if exporter.random.random() < 0.05]
        if len(waiting) >= WINDOW:
            exporter.random.shuffle(waiting)
            while len(waiting) > WINDOW // 2:
                exporter.send(waiting[-batch:])
                del waiting[-batch:]
    while waiting:
        exporter.send(waiting[-batch:])
        del waiting[-batch:]
    return sent


def read_back(store: SessionStore, sent: Sequence[Sent]) -> dict[str, Counter[str]]:
    """By shape: sessions that were sent and found, and of these what is read as it was sent."""
    rows = {row.key: row for row in store.sessions()}
    told: dict[str, Counter[str]] = {shape: Counter() for shape in SHAPES}
    told["all"] = Counter(extra=len(rows) - len(sent))
    for start in range(0, len(sent), 100):
        some = [one for one in sent[start : start + 100] if f"default:{one.session}" in rows]
        loaded = store.load_many([rows[f"default:{one.session}"] for one in some])
        for one, session in zip(some, loaded, strict=True):
            told[one.shape].update(compared(one, session.trajectory))
    for one in sent:
        told[one.shape]["sent"] += 1
    for shape in SHAPES:
        told["all"].update(told[shape])
    return told


def compared(one: Sent, found: Trajectory | None) -> Counter[str]:
    if found is None:
        return Counter(found=1, unreadable=1)
    users = [step.message for step in found.steps if step.source == "user"]
    answers = [step.message for step in found.steps if step.source == "agent" and step.message]
    seen = found.observations
    same = {
        "users": one.users == users,
        "calls": one.calls == [(call.name, call.arguments) for call in found.calls],
        "answers": one.answers == answers,
        "results": [_plain(one) for one in one.results] == [_plain(seen[call.id].content) for call in found.calls],
        "once": len(found.calls) == len(one.calls),
    }
    return Counter(found=1, whole=int(all(same.values())), **{f"same_{name}": int(held) for name, held in same.items()})


def _plain(content: Any) -> Any:
    """A result as it is meant: some exporters write it as text, ADK as the one member of an object."""
    if isinstance(content, str):
        try:
            return _plain(json.loads(content)) if content[:1] in '{["' else content
        except ValueError:
            return content
    return _plain(content["result"]) if isinstance(content, dict) and content.keys() == {"result"} else content


def measured(data: Path, count: int, folder: Path, *, seed: int = 1, batch: int = BATCH) -> dict[str, Any]:
    program = ReceiverProgram(folder)
    exporter = Exporter(program.url, seed)
    began = time.monotonic()
    try:
        sent = send_all(exporter, traffic(data, count), batch)
    finally:
        took = time.monotonic() - began
        program.end()
    told = read_back(SessionStore.open(folder), sent)
    return {
        "sessions": len(sent),
        "seconds": round(took, 1),
        **exporter.counts,
        "read_back": {shape: dict(counts) for shape, counts in told.items()},
    }


def main() -> None:
    from tests.real_data import FOLDER

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=2_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measured(FOLDER, given.sessions, Path(folder) / "online"), indent=1))


if __name__ == "__main__":
    main()
