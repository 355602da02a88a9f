"""Runs inside a sandbox: plays the calls of HARNESS_ORACLE through the gateway, then replies with its answer.

Stands alone (standard library only): it is placed at `/agent` like any agent's files.
"""

import http.client
import json
import os
import sys
from urllib.parse import quote, urlsplit

_TRIES = 10
_PASSING = {429, 502, 504}
"""Statuses of a fault that kept the call from its tool: it may be made again if the case has such faults."""


def main() -> int:
    """Exit status 0 when every call was answered, whatever the answer; 1 when the gateway could not be reached."""
    plan = json.loads(os.environ["HARNESS_ORACLE"])
    url = urlsplit(os.environ["HARNESS_GATEWAY_URL"])
    gateway = http.client.HTTPConnection(url.hostname or "127.0.0.1", url.port, timeout=60)
    try:
        _send(gateway, "GET", "/turn", None)
        for call in plan["calls"]:
            faulty = {call["tool"], "*"} & set(plan.get("again", ()))
            for _ in range(_TRIES if faulty else 1):
                path = f"/tools/{quote(call['tool'], safe='')}"
                if _send(gateway, "POST", path, call["arguments"]) not in _PASSING:
                    break
        _send(gateway, "POST", "/reply", {"message": plan["answer"] if plan["answer"] is not None else "Done."})
    except OSError as error:
        sys.stderr.write(f"the gateway cannot be reached: {error}\n")
        return 1
    finally:
        gateway.close()
    return 0


def _send(gateway: http.client.HTTPConnection, method: str, path: str, body: object) -> int:
    content = None if body is None else json.dumps(body).encode()
    gateway.request(method, path, content, {"Content-Type": "application/json"} if content else {})
    response = gateway.getresponse()
    response.read()
    return response.status


if __name__ == "__main__":
    sys.exit(main())
