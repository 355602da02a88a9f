"""Whatever an agent wrote into a log, its file is read in little time: texts are searched without starting over."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from harness.runs.foreign_runs import import_file

UNITS = (
    "<execute>",
    "<action>f(",
    "<function=a>",
    "<function=a><parameter=b>",
    "<tool_call>{",
    "<tool_call>{}",
    "<think>",
    "\n",
    " \n",
    "Action: f\n\n",
    "Action: {",
    "```\n",
    "Thought: a\nAction: b\nObservation: ",
    "'arguments': '",
)
ENDS = ("", "</execute", "</action></tool_call>x")


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_a_reply_of_one_repeated_text_is_read_in_little_time(tmp_path: Path, unit: str) -> None:
    said = [(unit * 200_000)[:190_000] + end for end in ENDS]
    messages: list[dict[str, Any]] = [{"role": "system", "content": said[0]}, {"role": "user", "content": "Go."}]
    for text in said:
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": text}]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    began = time.process_time()
    list(import_file("openai-chat", path).trials)
    assert time.process_time() - began < 10
