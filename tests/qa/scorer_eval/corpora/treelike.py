"""Runs stored in shapes of their own: ToolBench's answer trees and tau-bench runs written as ReAct text."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from corpora.tau import declared
from corpus import Run, call, evidence_of, observation, tool

from harness.case import ReferenceCall
from harness.trace import Step, ToolCall

_NAME = re.compile(r"\{'name': '(?P<name>[^']*)'(?P<rest>.*)\Z", re.S)
_THINK = re.compile(r"<think>.*?(?:</think>|\Z)", re.S)
_ACTION = re.compile(r"Action:\s*(?P<json>\{.*\})", re.S)
_OUTPUT = "API output:"
_FINISH = "Finish"


def toolbench(data: Path) -> Iterator[Run]:
    """400 runs with the tools that each had. Messages are cut at 100 characters: names survive, arguments often not."""
    for path in sorted((data / "toolbench").glob("*.json")):
        for key, raw in json.loads(path.read_text()).items():
            names = {one["name"] for one in raw["available_tools"]} | {_FINISH}
            messages = [m for root in raw["answer"]["answer_details"] for m in _walk(root)]
            steps = list(_tree_steps(messages))
            tools = [tool(one["name"], _schema(one["parameters"]), writes=False) for one in raw["available_tools"]]
            yield Run(
                dataset="toolbench",
                id=f"{path.stem}-{key}",
                domain=path.stem,
                evidence=evidence_of(key, raw["query"], steps, tools=[*tools, tool(_FINISH, writes=False)]),
                label={
                    "unavailable": [step.index for step in steps for one in step.calls if one.name not in names],
                },
            )


def react_text(data: Path) -> Iterator[Run]:
    """26 tau-bench runs of small models; some write the tool's answer themselves."""
    for path in sorted((data / "react_text" / "phase1").rglob("*.json")):
        domain = "airline" if "airline" in str(path) else "retail"
        for number, raw in enumerate(json.loads(path.read_text())):
            steps = list(_react_steps(raw["traj"]))
            actions = raw["info"]["task"]["actions"]
            yield Run(
                dataset="react_text",
                id=f"{domain}-{raw['task_id']}-{raw['trial']}-{number}",
                domain=domain,
                success=raw["reward"] == 1.0,
                evidence=evidence_of(
                    f"react-{domain}-{number}",
                    next((step.message for step in steps if step.source == "user" and step.message), ""),
                    steps,
                    tools=declared(data, domain),
                    reference=[
                        ReferenceCall(id=str(n), tool=one["name"], arguments=one["kwargs"])
                        for n, one in enumerate(actions)
                    ],
                ),
            )


def _walk(root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Depth first, the stack being ours: a tree may be deep."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node["next"]))


def _tree_steps(messages: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    for index, message in enumerate(messages):
        text = message["message"]
        if message["role"] != "tool":
            source = "user" if message["role"] == "user" else "agent" if message["role"] == "assistant" else "system"
            yield Step.model_validate({"index": index, "source": source, "message": text or None})
            continue
        found = _NAME.match(text)
        name = found["name"] if found else "unreadable"
        yield Step(index=index, source="agent", calls=(_cut_call(str(index), name, text),))


def _cut_call(id: str, name: str, text: str) -> ToolCall:
    whole = re.search(r"'arguments': '(.*?)', 'response'", text, re.S)
    if whole is None:
        return ToolCall(id=id, name=name, arguments=None, unparsed=text)
    return call(id, name, whole.group(1).replace("\\n", "\n"))


def _schema(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {} for name in raw["properties"]}}


def _react_steps(messages: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    place = 0
    while place < len(messages):
        message = messages[place]
        whole = message.get("content") or ""
        text = (_THINK.sub("", whole) if message["role"] == "assistant" else whole).strip()
        index = place
        place += 1
        if message["role"] == "system":
            yield Step(index=index, source="system", message=text or None)
        elif message["role"] == "user":
            yield Step(index=index, source="user", message=text or None)
        else:
            one = _react_call(str(index), text)
            said = _ACTION.split(text)[0].replace("Thought:", "").strip()
            if one is None or one.name == "respond":
                words = (one.arguments or {}).get("content") if one else said
                yield Step(index=index, source="agent", message=str(words) if words else None)
                continue
            seen = ()
            if place < len(messages) and (messages[place].get("content") or "").startswith(_OUTPUT):
                answer = messages[place]["content"].removeprefix(_OUTPUT).strip()
                seen = (observation(str(index), answer, error=answer.startswith("Error")),)
                place += 1
            yield Step(index=index, source="agent", thought=said or None, calls=(one,), observations=seen)


def _react_call(id: str, text: str) -> ToolCall | None:
    found = _ACTION.search(text)
    if found is None:
        return None
    try:
        raw = json.JSONDecoder().raw_decode(found["json"])[0]
        return call(id, str(raw["name"]), raw.get("arguments") or {})
    except (ValueError, KeyError, TypeError, AttributeError):
        return ToolCall(id=id, name="unreadable", arguments=None, unparsed=found["json"])
