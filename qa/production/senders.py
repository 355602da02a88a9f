"""A receiver as a program that is killed, and a sender that keeps what was not acknowledged.

python -m qa.production.senders --kills 100        the full test: `kill -9` at random moments
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.production.store import SessionStore
from tests.production.receiving import request, span

PROJECT = Path(__file__).parents[2]


class ReceiverProgram:
    """`harness ingest serve` as a process of its own."""

    def __init__(self, folder: Path, *, largest_file: int | None = None) -> None:
        """`largest_file`: in bytes; writing beyond it fails as on a full disk."""
        (folder.parent / "online.yaml").write_text(json.dumps({"store": folder.name}))
        project = ("--project", str(folder.parent))
        command = [sys.executable, "-m", "harness", *project, "ingest", "serve", "--port", "0", "--json"]
        if largest_file is not None:
            command = ["prlimit", f"--fsize={largest_file}", *command]
        self.process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.url = str(json.loads(line)["url"])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        if self.process.stdout is not None:
            self.process.stdout.close()


class Sender(threading.Thread):
    """Sends sessions of ten spans, out of order, some twice and some cut in halves, until it is stopped."""

    def __init__(self, seed: int) -> None:
        super().__init__(daemon=True)
        self.random = random.Random(seed)
        self.seed = seed
        self.url = ""
        self.accepted: set[tuple[int, int]] = set()
        self.sent: set[tuple[int, int]] = set()
        self.ended = threading.Event()
        self.count = 0

    def run(self) -> None:
        waiting: list[tuple[int, int]] = []
        while not self.ended.is_set():
            if len(waiting) < 60:
                self.count += 1
                trace = self.seed * 1_000_000 + self.count
                waiting += [(trace, number) for number in range(1, 11)]
                self.random.shuffle(waiting)
            size = self.random.randint(1, 25)
            batch, waiting = waiting[:size], waiting[size:]
            if self.accepted and self.random.random() < 0.2:
                batch.append(self.random.choice(list(self.accepted)))
            if not self._send(batch):
                waiting += batch
                time.sleep(0.01)

    def _send(self, batch: Sequence[tuple[int, int]]) -> bool:
        spans = [
            span(trace, number, attributes={"gen_ai.conversation.id": f"c{trace}"} if number == 1 else {})
            for trace, number in batch
        ]
        self.sent.update(batch)
        body = json.dumps(request(*spans)).encode()
        asked = urllib.request.Request(f"{self.url}/v1/traces", data=body, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(asked, timeout=20) as response:
                taken = response.status == 200
                response.read()
        except (OSError, urllib.error.HTTPError):
            return False
        self.accepted.update(batch if taken else ())
        return bool(taken)


def kill_at_random_moments(folder: Path, kills: int, *, seed: int = 1, senders: int = 2) -> dict[str, Any]:
    """The number of accepted spans, and of those that were lost or stored twice."""
    drawn = random.Random(seed)
    threads = [Sender(number + 1) for number in range(senders)]
    program = ReceiverProgram(folder)
    for one in threads:
        one.url = program.url
        one.start()
    for _ in range(kills):
        time.sleep(drawn.uniform(0.02, drawn.choice((0.3, 1.2, 6.0))))
        program.kill()
        program = ReceiverProgram(folder)
        for one in threads:
            one.url = program.url
    time.sleep(0.5)
    for one in threads:
        one.ended.set()
    for one in threads:
        one.join(30)
    program.end()
    return {"kills": kills, **compared(folder, threads)}


def compared(folder: Path, threads: Sequence[Sender]) -> dict[str, int]:
    """Compares the store with what the senders have sent and got accepted."""
    found: list[tuple[int, int]] = []
    store = SessionStore.open(folder)
    rows = store.sessions()
    for start in range(0, len(rows), 200):
        for session in store.load_many(rows[start : start + 200]):
            ids = [(int(one.trace_id, 16), int(one.span_id, 16) % 1000) for one in session.spans]
            found += ids
    accepted = {one for thread in threads for one in thread.accepted}
    sent = {one for thread in threads for one in thread.sent}
    counted = sum(row.records for row in rows)
    return {
        "accepted": len(accepted),
        "stored": len(found),
        "lost": len(accepted - set(found)),
        "doubled": len(found) - len(set(found)),
        "never_sent": len(set(found) - sent),
        "miscounted": counted - len(found),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "1")))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        told = kill_at_random_moments(Path(folder) / "online", given.kills, seed=given.seed)
    print(json.dumps(told))
    sys.exit(1 if told["lost"] or told["doubled"] or told["never_sent"] else 0)


if __name__ == "__main__":
    main()
