"""An order taker in pydantic-ai, over chat completions, its replies streamed."""

import asyncio
import json
import os
from pathlib import Path
from urllib.request import urlopen

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel


async def watch(_, events) -> None:
    async for _ in events:
        pass


async def main() -> None:
    guest = json.load(urlopen(os.environ["HARNESS_GATEWAY_URL"] + "/turn"))["message"]
    agent = Agent(
        OpenAIChatModel("order-double"),
        instructions=(Path(__file__).parent / "prompt.md").read_text(),
        toolsets=[MCPToolset(os.environ["HARNESS_MCP_URL"])],
    )
    done = await agent.run(guest, event_stream_handler=watch)
    print(done.output)


asyncio.run(main())
