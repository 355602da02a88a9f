"""mini-swe-agent as an order taker: it has a shell and nothing else, and the menu's tools are a program in it."""

import json
import os
from pathlib import Path
from urllib.request import urlopen

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel

HOW = """
Your tools are programs: `python3 /agent/tool.py` lists them, `python3 /agent/tool.py NAME 'JSON'` calls one.
When you are finished, run `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && echo 'WHAT YOU SAY TO THE GUEST'`.
"""

guest = json.load(urlopen(os.environ["HARNESS_GATEWAY_URL"] + "/turn"))["message"]
prompt = (Path(__file__).parent / "prompt.md").read_text()
agent = DefaultAgent(
    LitellmModel(model_name="openai/order-double", model_kwargs={"parallel_tool_calls": True}),
    LocalEnvironment(),
    system_template=prompt + HOW,
    instance_template="{{task}}",
    step_limit=20,
    cost_limit=0,
)
print(agent.run(guest)["submission"].strip())
