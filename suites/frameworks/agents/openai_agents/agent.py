"""An order taker in the OpenAI Agents SDK, over the Responses API, its replies streamed."""

import asyncio
import json
import os
from pathlib import Path
from urllib.request import urlopen

from agents import Agent, Runner
from agents.mcp import MCPServerStreamableHttp


async def main() -> None:
    guest = json.load(urlopen(os.environ["HARNESS_GATEWAY_URL"] + "/turn"))["message"]
    prompt = (Path(__file__).parent / "prompt.md").read_text()
    async with MCPServerStreamableHttp({"url": os.environ["HARNESS_MCP_URL"]}) as menu:
        agent = Agent(name="order taker", model="order-double", instructions=prompt, mcp_servers=[menu])
        running = Runner.run_streamed(agent, guest, max_turns=20)
        async for _ in running.stream_events():
            pass
    print(running.final_output)


asyncio.run(main())
