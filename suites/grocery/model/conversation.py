"""A chat request as turns: what the user said, what was asked of tools, and what they answered."""

import json
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
WINDOW = 8_000
"""Characters of the conversation that the model reads: older messages are forgotten, whole. The newest user message and
what follows it are always read."""


@dataclass(frozen=True)
class Call:
    """A call that the model makes, or has made."""

    name: str
    arguments: Json


@dataclass
class Turn:
    """From one message of the user up to the next."""

    said: str
    made: list[tuple[Call, str | None]] = field(default_factory=list)
    """Calls and their answers; None: not answered yet."""
    reply: str | None = None

    def answers(self, tool: str) -> list[tuple[Json, str]]:
        """(arguments, answer) of the calls of one tool in this turn."""
        return [(call.arguments, answer or "") for call, answer in self.made if call.name == tool]


@dataclass(frozen=True)
class Conversation:
    """What the model was given."""

    system: str
    turns: list[Turn]
    tools: frozenset[str]

    @property
    def now(self) -> Turn:
        return self.turns[-1]


def conversation_of(body: Json) -> Conversation:
    """The turns of a chat completions request, as far as the window reaches."""
    messages = body["messages"]
    system = "\n".join(str(one["content"]) for one in messages if one["role"] in ("system", "developer"))
    turns: list[Turn] = []
    answers = {one["tool_call_id"]: str(one["content"]) for one in messages if one["role"] == "tool"}
    for message in _within([one for one in messages if one["role"] not in ("system", "developer")]):
        text = message.get("content") or ""
        if message["role"] == "user":
            turns.append(Turn(said=str(text)))
        elif message["role"] == "assistant" and turns:
            calls = message.get("tool_calls") or []
            turns[-1].made += [
                (Call(one["function"]["name"], json.loads(one["function"]["arguments"])), answers.get(one["id"]))
                for one in calls
            ]
            if not calls:
                turns[-1].reply = str(text)
    tools = frozenset(tool["function"]["name"] for tool in body.get("tools") or ())
    return Conversation(system, turns or [Turn(said="")], tools)


def _within(messages: list[Json]) -> list[Json]:
    """The newest messages of at most WINDOW characters, beginning with a user's; at least the last turn."""
    starts = [place for place, one in enumerate(messages) if one["role"] == "user"]
    sizes = [len(json.dumps(one)) for one in messages]
    fitting = [start for start in starts if sum(sizes[start:]) <= WINDOW]
    return messages[fitting[0] if fitting else starts[-1] if starts else 0 :]
