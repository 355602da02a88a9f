"""The agent that sends the gateway what stands in `requests.json`, byte for byte, and keeps what it is told."""

import json
import os
import socket
from urllib.parse import urlsplit

GATEWAY = urlsplit(os.environ["HARNESS_GATEWAY_URL"])


def send(method, path, body, headers):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {GATEWAY.netloc}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body.encode())}"]
    with socket.create_connection((GATEWAY.hostname, GATEWAY.port), timeout=60) as connection:
        connection.sendall("\r\n".join([*lines, "", body or ""]).encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer.decode("utf-8", "replace")


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "requests.json"), encoding="utf-8") as file:
    answers = [send(*one) for one in json.load(file)]
with open("answers.json", "w", encoding="utf-8") as file:
    json.dump(answers, file)
