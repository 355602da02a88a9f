"""How fast a long trace is imported: every chat repeats the history before it, as traces do. Prints seconds.

The trace is made: some 5 MB, a hundred chats with a tool call each. Timed is processor time of reading it once, so
that other work on the machine does not count; `harness import` reads a file twice and scores what it holds.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness.runs.foreign_runs import import_file

WANTED_S = 1.0
BYTES = 5_000_000
CHATS = 100


def main() -> int:
    """Exit status 1 where the target is missed."""
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as temporary:
        path = Path(temporary) / "spans.jsonl"
        path.write_text("\n".join(json.dumps(span) for span in trace()))
        began = time.process_time()
        found = import_file("otel", path)
        spent = time.process_time() - began
        size = path.stat().st_size
        [(trial, _)] = found.trials
    steps = len(trial.trajectory.steps)
    print(f"importing  {spent:7.2f} s for a trace of {size / 1e6:.1f} MB and {steps} steps (wanted {WANTED_S})")
    return int(spent > WANTED_S)


def trace() -> list[dict[str, Any]]:
    """The spans of one agent's run."""
    page = "Booking AB00001 of https://shop.example/ costs 20 tokens and is kept under the key of the guest. "
    page *= BYTES // (CHATS * CHATS // 2 * len(page)) + 1
    history: list[dict[str, Any]] = [{"role": "user", "content": "Please see to AB00001."}]
    spans = [_span(1, 0, "invoke_agent", {"gen_ai.agent.name": "desk"})]
    for number in range(CHATS):
        call = {"type": "tool_call", "id": f"c{number}", "name": "look", "arguments": json.dumps({"page": number})}
        asked = {"role": "assistant", "parts": [call]}
        told = {"gen_ai.input.messages": list(history), "gen_ai.output.messages": [asked]}
        spans.append(_span(2 + number, 1, "chat", {"gen_ai.request.model": "m", **told}))
        history += [asked, {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number}: {page}"}]
    return spans


def _span(number: int, parent: int, operation: str, facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "trace_id": "a" * 32,
        "span_id": f"{number:016x}",
        "parent_id": f"{parent:016x}" if parent else None,
        "name": operation,
        "start_ns": number,
        "end_ns": number + 1,
        "attributes": {"gen_ai.operation.name": operation, **facts},
        "status": "unset",
    }


if __name__ == "__main__":
    sys.exit(main())
