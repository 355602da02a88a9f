"""A shopper of four agents: an orchestrator that talks, and three that know the shopper, the catalogue and the cart.

Each agent is a prompt (prompts/<agent>.md) and some tools. The orchestrator's tools are the other agents: a request in
plain text, answered in plain text. It remembers the conversation; the others begin anew with each request.

Where HARNESS_AGENT names one of the three, the program is that agent alone: each message is a request to it.
"""

import os
from functools import partial
from pathlib import Path

from agent import Agent, Tool
from gateway import Gateway, Json

PROMPTS = Path(__file__).parent / os.environ.get("SHOPPER_PROMPTS", "prompts")
MODEL = os.environ.get("SHOPPER_MODEL", "grocery-double")
TOOLS = {
    "preferences": ("get_preferences", "get_order_history"),
    "search": ("search_products", "find_substitutes", "find_recipe", "find_stores"),
    "cart": ("get_cart", "add_to_cart", "set_quantity", "place_order"),
}
ROLES = {
    "preferences": "Knows the shopper's diet, allergies, store and earlier orders.",
    "search": "Finds products in the catalogue, with price, stock and substitutes.",
    "cart": "Reads and changes the cart, and places the order.",
}


def main() -> None:
    gateway = Gateway()
    alone = os.environ.get("HARNESS_AGENT")
    if alone is not None:
        answer_alone(gateway, alone)
        return
    orchestrator: Agent | None = None
    for turn in gateway.turns():
        text = turn["message"]
        if orchestrator is None:
            orchestrator = shopper(gateway)
            profile = turn.get("profile") or {}
            text = "".join(f"[{name}: {value}]\n" for name, value in sorted(profile.items())) + text
        gateway.reply(orchestrator.run(text))


def answer_alone(gateway: Gateway, name: str) -> None:
    """Answers every message as the agent `name` answers a request of the orchestrator."""
    if name not in TOOLS:
        raise SystemExit(f"HARNESS_AGENT is {name!r}; expected one of {', '.join(TOOLS)}")
    listed = gateway.tools()
    for turn in gateway.turns():
        gateway.reply(sub_agent(gateway, listed, name).run(turn["message"]))


def shopper(gateway: Gateway) -> Agent:
    """The orchestrator, with the other agents as its tools."""
    listed = gateway.tools()
    asks: dict[str, Tool] = {f"{name}_agent": partial(_ask, gateway, listed, name) for name in TOOLS}
    return Agent(
        name="orchestrator",
        model=MODEL,
        prompt=_prompt("orchestrator"),
        gateway=gateway,
        definitions=[_delegation(name) for name in TOOLS],
        tools=asks,
    )


def sub_agent(gateway: Gateway, listed: dict[str, Json], name: str) -> Agent:
    """The agent `name`, begun anew."""
    return Agent(
        name=name,
        model=MODEL,
        prompt=_prompt(name),
        gateway=gateway,
        definitions=[_definition(listed[tool]) for tool in TOOLS[name] if tool in listed],
        tools={tool: partial(_call, gateway, tool) for tool in TOOLS[name]},
    )


def _ask(gateway: Gateway, listed: dict[str, Json], name: str, arguments: Json, span: str) -> str:
    """What the agent `name`, begun anew, answers to the request."""
    return sub_agent(gateway, listed, name).run(str(arguments.get("request", "")), span)


def _call(gateway: Gateway, tool: str, arguments: Json, _span: str) -> str:
    return gateway.call(tool, arguments)


def _prompt(name: str) -> str:
    return (PROMPTS / f"{name}.md").read_text(encoding="utf-8")


def _definition(tool: Json) -> Json:
    return {
        "type": "function",
        "function": {name: tool[name] for name in ("name", "description", "parameters")},
    }


def _delegation(name: str) -> Json:
    return {
        "type": "function",
        "function": {
            "name": f"{name}_agent",
            "description": ROLES[name],
            "parameters": {
                "type": "object",
                "required": ["request"],
                "additionalProperties": False,
                "properties": {"request": {"type": "string"}},
            },
        },
    }


if __name__ == "__main__":
    main()
