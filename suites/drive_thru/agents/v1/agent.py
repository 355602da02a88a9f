"""Order taker, first version: cuts the message at commas and "and", and takes the first thing that each part finds.

It counts to five, knows no sizes and no changes, and never asks back.
"""

import http.client
import json
import os
import re
from urllib.parse import urlsplit

NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
POLITE = {
    "can", "could", "i", "we", "you", "get", "have", "id", "ill", "like", "want", "need", "take", "please", "thanks",
    "me", "let", "give", "just", "for", "the", "some", "my", "hi", "hello", "hey", "there", "good", "morning", "of",
}  # fmt: skip


class Gateway:
    """The agent's only door: the guest's words and the tools."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)

    def ask(self, method: str, path: str, body: dict | None = None) -> tuple[int, dict]:
        """(status, answer); an answer without a body is {}."""
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else {}

    def tool(self, name: str, **arguments: object) -> dict | None:
        """A tool's answer; None where it refused."""
        status, answer = self.ask("POST", f"/tools/{name}", arguments)
        return answer if status == 200 else None


def parts_of(message: str) -> list[tuple[int, str]]:
    """(quantity, words) of each part of the message that says something."""
    found = []
    for part in re.split(r"[,.!?]| and ", message.lower().replace("'", "")):
        quantity, words = 1, []
        for word in part.split(" with ")[0].split():
            if word in NUMBERS:
                quantity = NUMBERS[word]
            elif word.isdigit():
                quantity = max(1, min(int(word), 50))
            elif word not in POLITE:
                words.append(word)
        if words:
            found.append((quantity, " ".join(words)))
    return found


def serve(gateway: Gateway, message: str) -> str:
    """Takes one message's order; gives what to answer."""
    added, unknown = [], []
    for quantity, words in parts_of(message):
        answer = gateway.tool("lookup_menu_item", query=words)
        if not answer or not answer["items"]:
            unknown.append(words)
            continue
        item = answer["items"][0]
        gateway.ask("POST", "/thought", {"text": f"{words!r} is probably {item['name']}"})
        if gateway.tool("add_item_to_order", item_id=item["id"], quantity=quantity) is not None:
            added.append(f"{quantity} {item['name']}")
    if not added:
        return f"Sorry, I could not find {', '.join(unknown)}." if unknown else "Welcome! What would you like?"
    gateway.tool("finalize_order")
    return f"That is {', '.join(added)}. Please drive up to the window."


def main() -> None:
    gateway = Gateway(os.environ["HARNESS_GATEWAY_URL"])
    while True:
        status, turn = gateway.ask("GET", "/turn")
        if status != 200:
            return
        gateway.ask("POST", "/reply", {"message": serve(gateway, turn["message"])})


if __name__ == "__main__":
    main()
