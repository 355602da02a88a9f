"""A real HTTP service whose answers a test changes as a new release would."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.serving import Answering, listening

Answers = dict[str, Any]
"""`METHOD /path?query` -> the answer: a JSON value, a function that gives one, or `(status, value)`."""


@dataclass
class Shop:
    """What it answers, and what it was asked."""

    answers: Answers = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    url: str = ""
    media: str = "application/json"

    def answer(self, asked: str) -> tuple[int, bytes]:
        self.asked.append(asked)
        found = self.answers.get(asked, (404, {"error": "not found"}))
        found = found() if callable(found) else found
        status, value = found if isinstance(found, tuple) else (200, found)
        return status, value if isinstance(value, bytes) else json.dumps(value).encode()


@contextmanager
def open_shop(answers: Answers) -> Iterator[Shop]:
    shop = Shop(answers=answers)

    class Handler(Answering):
        def handle_any(self) -> None:
            self.sent()
            self.give(*shop.answer(f"{self.command} {self.path}"), {"Content-Type": shop.media})

        do_GET = do_POST = handle_any

    with listening(Handler) as shop.url:
        yield shop
