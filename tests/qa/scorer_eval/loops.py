"""Runs of agents that repeat themselves: mirage's snapshots, and sola's repair runs with labelled neighbours."""

import ast
import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus import Run, evidence_of

from harness.trace import Observation, Step, ToolCall

_ACTION = re.compile(r"## step \d+\s(.*?)(?=\n## step \d+\s|\n# Action space|\Z)", re.S)
_TAGGED = re.compile(r"<action>\s*(.*?)\s*</action>", re.S)
_CODE = re.compile(r"```(?:\w+)?\n(.*?)```", re.S)


def mirage(data: Path) -> Iterator[Run]:
    """82 snapshots, each labelled by its makers as an agent that repeats an action."""
    for path in sorted((data / "mirage").glob("*/*/*.json")):
        raw = json.loads(path.read_text())
        messages = raw["input"]
        steps = _desktop(messages) if len(messages) > 2 else _web(_text(messages[-1]))
        yield Run(
            dataset="mirage",
            id=path.stem,
            domain=f"{path.parts[-3]}/{path.parts[-2]}",
            evidence=evidence_of(path.stem, str(raw["goal"]), steps),
            label={"repeats": True},
        )


def sola(data: Path) -> Iterator[Run]:
    """80 program-repair runs; label `edges`: the relation of each action to the next, as people saw it."""
    places = (
        ("repairagent", "actions_actions", "repairagent_csv", "results_actions"),
        ("autocoderover", "action_actions", "autocoderover_csv", "results_actions"),
    )
    for agent, actions, labels, results in places:
        folder = data / "sola" / "trajectories" / agent / "parsed"
        for path in sorted((folder / actions).iterdir()):
            sheets = {_bug(sheet.stem): sheet for sheet in (data / "sola" / labels / "action_action").glob("*.csv")}
            if _bug(path.name) not in sheets:  # 20 of the runs that are there were not labelled
                continue
            edges = [row["label"] for row in csv.DictReader(sheets[_bug(path.name)].read_text().splitlines())]
            outcomes = (folder / results / path.name).read_text() if (folder / results / path.name).exists() else ""
            yield Run(
                dataset="sola",
                id=f"{agent}-{path.stem}",
                domain=agent,
                evidence=evidence_of(path.stem, "repair the program", _repair(path.read_text(), outcomes)),
                label={"edges": edges},
            )


def _bug(name: str) -> str:
    return re.sub(r"^experiment_\d+_", "", name)


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _web(prompt: str) -> Iterator[Step]:
    history = prompt[prompt.find("History of interaction") :]
    for index, block in enumerate(_ACTION.findall(history)):
        action = (_TAGGED.findall(block) or [""])[-1]
        yield _acted(index, action, None)


def _desktop(messages: list[dict[str, Any]]) -> Iterator[Step]:
    for index, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        action = "\n".join(_CODE.findall(_text(message))) or _text(message)
        after = _text(messages[index + 1]) if index + 1 < len(messages) else None
        yield _acted(index, action, after)


def _acted(index: int, action: str, after: str | None) -> Step:
    name = re.match(r"\w+", action)
    one = ToolCall(id=str(index), name=name.group() if name else "none", arguments={"action": action})
    seen = () if after is None else (Observation(call_id=str(index), content=after),)
    return Step(index=index, source="agent", calls=(one,), observations=seen)


def _repair(actions: str, outcomes: str) -> Iterator[Step]:
    seen = {int(n): text.strip() for n, text in _numbered("Result", outcomes)}
    for number, text in _numbered("Action", actions):
        index = int(number)
        one = _repair_call(index, text.strip())
        answer = seen.get(index)
        observations = () if answer is None else (Observation(call_id=str(index), content=answer),)
        yield Step(index=index, source="agent", calls=(one,), observations=observations)


def _numbered(what: str, text: str) -> list[tuple[str, str]]:
    pattern = rf"^{what} at [iI]teration (\d+): ?(.*?)(?=^(?:Result|Action|Thought) at [iI]teration \d+:|\Z)"
    return re.findall(pattern, text, re.S | re.M)


def _repair_call(index: int, text: str) -> ToolCall:
    try:
        raw = ast.literal_eval(text)
        return ToolCall(id=str(index), name=raw["name"], arguments=json.loads(json.dumps(raw["args"])))
    except (ValueError, SyntaxError, KeyError, TypeError):
        name = re.match(r"\w+", text)
        return ToolCall(id=str(index), name=name.group() if name else "none", arguments={"text": text})
