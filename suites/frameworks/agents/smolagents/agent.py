"""An order taker in smolagents, over chat completions, its replies streamed."""

import json
import os
from pathlib import Path
from urllib.request import Request, urlopen

from smolagents import LogLevel, MCPClient, OpenAIServerModel, ToolCallingAgent

gateway = os.environ["HARNESS_GATEWAY_URL"]
guest = json.load(urlopen(f"{gateway}/turn"))["message"]
prompt = (Path(__file__).parent / "prompt.md").read_text()
server = {"url": os.environ["HARNESS_MCP_URL"], "transport": "streamable-http"}
with MCPClient(server, structured_output=False) as tools:
    model = OpenAIServerModel("order-double", api_base=os.environ["OPENAI_BASE_URL"])
    agent = ToolCallingAgent(
        tools, model, instructions=prompt, max_steps=20, stream_outputs=True, verbosity_level=LogLevel.OFF
    )
    answer = agent.run(guest)
# It prints its streams, so that standard output cannot be the answer.
urlopen(Request(f"{gateway}/reply", json.dumps({"message": answer}).encode(), {"Content-Type": "application/json"}))
