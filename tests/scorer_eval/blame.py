"""Who&When: failed runs of several agents that talk, with the decisive mistake's step named by people."""

import json
from collections.abc import Iterator
from pathlib import Path

from corpus import Run, evidence_of

from harness.trace import Step

_TERMINAL = "Computer_terminal"


def whowhen(data: Path) -> Iterator[Run]:
    """126 runs; a step's index is its place in the history. The terminal that runs the agents' code is no agent."""
    for path in sorted((data / "whowhen").glob("*/*.json"), key=lambda path: int(path.stem)):
        raw = json.loads(path.read_text())
        steps = [
            Step(
                index=index,
                source="system" if turn["name"] == _TERMINAL else "agent",
                agent=turn["name"],
                message=turn["content"] or None,
            )
            for index, turn in enumerate(raw["history"])
        ]
        yield Run(
            dataset="whowhen",
            id=path.stem,
            domain="conversation",
            success=False,
            evidence=evidence_of(f"whowhen-{path.stem}", raw["question"], steps),
            label={"step": int(raw["mistake_step"]), "agent": raw["mistake_agent"], "reason": raw["mistake_reason"]},
        )
