"""The classic order-taking graph: orchestrator -> tools -> update_order -> orchestrator, until nothing is called."""

import asyncio
import json
import os
from pathlib import Path
from urllib.request import urlopen

from langchain_core.messages import SystemMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


class OrderState(MessagesState):
    """The conversation, and the order as the service last told it."""

    order: dict


def update_order(state: OrderState) -> dict:
    """Takes the order over from the newest answer that holds one."""
    for message in reversed(state["messages"]):
        text = message.text if message.type == "tool" else ""
        if '"total_cents"' in text:
            return {"order": json.loads(text)}
    return {}


def orchestrator_of(model, prompt: str):
    async def orchestrator(state: OrderState) -> dict:
        return {"messages": [await model.ainvoke([SystemMessage(prompt), *state["messages"]])]}

    return orchestrator


async def main() -> None:
    guest = json.load(urlopen(os.environ["HARNESS_GATEWAY_URL"] + "/turn"))["message"]
    menu = MultiServerMCPClient({"menu": {"transport": "streamable_http", "url": os.environ["HARNESS_MCP_URL"]}})
    tools = await menu.get_tools()
    model = ChatOpenAI(model="order-double", streaming=True, stream_usage=True).bind_tools(tools)

    graph = StateGraph(OrderState)
    graph.add_node("orchestrator", orchestrator_of(model, (Path(__file__).parent / "prompt.md").read_text()))
    graph.add_node("tools", ToolNode(tools, handle_tool_errors=True))
    graph.add_node("update_order", update_order)
    graph.add_edge(START, "orchestrator")
    graph.add_conditional_edges("orchestrator", tools_condition, {"tools": "tools", END: END})
    graph.add_edge("tools", "update_order")
    graph.add_edge("update_order", "orchestrator")

    ended = await graph.compile().ainvoke({"messages": [("user", guest)], "order": {}}, {"recursion_limit": 60})
    print(ended["messages"][-1].text)


asyncio.run(main())
