"""The agent under test: reads its task, does it, answers. Replace it with yours, in any language."""

import json
import os
import re
import sys
import urllib.request

GATEWAY = os.environ["HARNESS_GATEWAY_URL"]


def send(path: str, body: object) -> None:
    content = json.dumps(body).encode()
    request = urllib.request.Request(GATEWAY + path, content, {"Content-Type": "application/json"}, method="POST")
    urllib.request.urlopen(request).close()


def main() -> int:
    with urllib.request.urlopen(GATEWAY + "/turn") as answer:
        task = json.load(answer)["message"]
    name = re.search(r"greet ([A-Z]\w+)", task)
    greeting = f"Hello, {name.group(1) if name else 'world'}!"
    if "greeting.txt" in task:
        send("/thought", {"text": "The greeting is to be kept in a file."})
        send("/tools/write_file", {"path": "greeting.txt", "content": greeting + "\n"})
    send("/reply", {"message": greeting})
    return 0


if __name__ == "__main__":
    sys.exit(main())
