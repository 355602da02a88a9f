"""Earlier steps that stand inside a prompt: agents without a chat of their own are told what they did in one message.

Read is the numbered form of web agents: a heading `## step 3`, then the action in `<action>` tags, with the reasoning
in `<think>` tags before it.
"""

import re
from dataclasses import replace
from typing import Final

from harness.ingest.actions import FORMS
from harness.ingest.foreign import ForeignStep

_STEP: Final = re.compile(r"(?m)^## step \d{1,4}\s*$")
_END: Final = re.compile(r"(?m)^# [A-Z]")
_TAGS: Final = next(form for form in FORMS if form.name == "tags")


def steps_in_prompt(prompt: str) -> list[ForeignStep]:
    """The agent's earlier steps as the prompt tells them; empty where it tells none."""
    starts = list(_STEP.finditer(prompt)) if "## step " in prompt else []
    ends = [match.start() for match in starts[1:]] + [len(prompt)] * bool(starts)
    steps = []
    for start, end in zip(starts, ends, strict=True):
        block = prompt[start.end() : end]
        closed = _END.search(block)
        block = block[: closed.start()] if closed else block
        said, calls = _TAGS.acted(block)
        thought, told, _ = block.partition("<think>")[2].partition("</think>")
        if calls:
            step = ForeignStep(source="agent", message=said, thought=thought.strip() if told else None)
            steps.append(replace(step, calls=calls))
    return steps
