"""A user's model that follows rules, with an endpoint on this machine.

    python -m qa.doubles.rule_user --port 8123

It knows what its request says and nothing else: the plan, the details and what was said aloud; `plan_rules` says how a
plan is followed. It can be made to fail as real models do.
"""

import argparse
import json
import time
from collections.abc import Mapping
from typing import Any, Literal

from qa.doubles.model_double import DoubleError, DoubleReply, DoubleRequest, ModelDouble
from qa.doubles.plan_rules import GOAL, is_open_question, last_reply, next_message

UserFailing = Literal["nothing", "as_agent", "language", "forever", "tool_call", "stop_first", "stop_open", "too_long"]
"""What a model can be made to do wrong: answer nothing, speak as the agent, in another language, never end, call a
tool, end at once, end while the agent has something open, or write too much."""


class RuleUser(ModelDouble):
    """Serves from its own thread while it is entered: `with RuleUser() as model: model.url`."""

    def __init__(
        self,
        *,
        failing: UserFailing | None = None,
        latency_s: float = 0.0,
        port: int = 0,
        obeys: Mapping[str, str] | None = None,
        refuses: str | None = None,
        refuses_by: Literal["status", "finish_reason"] = "status",
    ) -> None:
        """`obeys`: texts of an agent, each with what the model writes wherever it reads that text, as a model does that
        takes what it reads for instructions. `refuses`: a word for which the endpoint refuses a request as a provider's
        content filter does.
        """
        super().__init__(name="rule-user", port=port, latency_s=latency_s)
        self.bodies: list[dict[str, Any]] = []
        """What was asked, for tests of what the user's model is told."""
        self._failing = failing
        self._obeys = dict(obeys or {})
        self._refuses = refuses
        self._refuses_by = refuses_by

    async def answer(self, asked: DoubleRequest) -> DoubleReply | DoubleError:
        self.bodies.append(dict(asked.body))
        filtered = self._refuses is not None and self._refuses in json.dumps(asked.body).casefold()
        if filtered and self._refuses_by == "status":
            return DoubleError(status=400, message="filtered", code="content_filter")
        turns = list(asked.messages)
        read = "\n".join(text for role, text in turns if role == "user")
        told = next(
            (says for text, says in self._obeys.items() if text in read or json.dumps(text)[1:-1] in read), None
        )
        if told is not None:
            return DoubleReply(text=told, filtered=filtered)
        if self._failing == "tool_call":
            return DoubleReply(calls="end_conversation", filtered=filtered)
        if self._failing not in (None, "stop_open"):
            return DoubleReply(text=_spoilt(self._failing, turns), filtered=filtered)
        if self._failing == "stop_open" and is_open_question(last_reply(turns)):
            return DoubleReply(text=GOAL, filtered=filtered)
        return DoubleReply(text=next_message(asked.system, turns), filtered=filtered)


def _spoilt(failing: UserFailing | None, turns: list[tuple[str, str]]) -> str:
    match failing:
        case "nothing":
            return ""
        case "as_agent":
            return "Assistant: How can I help you today? I have updated your order."
        case "language":
            return "Ich möchte bitte noch einen Kaffee und dann ist das alles, danke."
        case "forever":
            return f"And one more thing: number {len(turns)}, please."
        case "too_long":
            return "I would like a coffee. " * 400
        case _:
            return GOAL


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    with RuleUser(port=parser.parse_args().port) as model:
        print(model.url, flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
