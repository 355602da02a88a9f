"""An agent that does as little as an agent can: two tool calls where there is a door, nothing where there is none."""

import http.client
import json
import os

door = os.environ.get("HARNESS_GATEWAY_URL")
if door:
    gateway = http.client.HTTPConnection("127.0.0.1", int(door.rsplit(":", 1)[1]))
    for number in (1, 2):
        gateway.request("POST", "/tools/echo", json.dumps({"number": number}), {"Content-Type": "application/json"})
        gateway.getresponse().read()
