"""The gateway, spoken to over plain HTTP."""

import json
import os
import urllib.error
import urllib.request

URL = os.environ["HARNESS_GATEWAY_URL"]


def ask(method: str, path: str, body: object = None) -> dict:
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, sent, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as error:
        return json.loads(error.read() or b"{}")


def call(tool: str, **arguments: object) -> dict:
    return ask("POST", f"/tools/{tool}", arguments)
