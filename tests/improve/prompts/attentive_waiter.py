"""A waiter who answers until the guest has nothing more to say; it is run as an agent's program."""

import json
import os
import urllib.error
import urllib.request
from contextlib import suppress

gateway = os.environ["HARNESS_GATEWAY_URL"]
with suppress(urllib.error.HTTPError):  # the conversation is over
    while turn := urllib.request.urlopen(f"{gateway}/turn").read():
        answer = f"You said: {json.loads(turn)['message']} Would you like anything else?"
        reply = json.dumps({"message": answer}).encode()
        urllib.request.urlopen(urllib.request.Request(f"{gateway}/reply", reply))
