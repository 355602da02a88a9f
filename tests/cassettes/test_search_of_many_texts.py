"""One search of many texts says of them what a search of each says; a long text is read like a piece of it."""

import random
import threading
from collections.abc import Iterator

import pytest

from harness.cassettes.redaction import Redactor
from harness.gateway.models.keys import RequestKeys
from qa.soak.canaries import forms

_WINDOW = 64 * 1024
_SECRETS = {
    "PLAIN": "sk-very-secret-key-0123456789",
    "UUID": "3f2b8c1a-9d4e-4f6a-8b7c-0123456789ab",
    "STRANGE": "\xf8\xff\ufeff\U0010ffff-\0geheim %=&\\",
    "SHORT": "p4ss",
}
_LEARNED = "order-12345678"
_FILLED = [
    "a",
    " ",
    "\n",
    "\0",
    '"',
    "\\",
    "%",
    "=",
    "é",
    "\xf8",
    "\xfb",
    "\xff",
    "\ufeff",
    "\U0001f600",
    "sk-",
    "<secret:",
]
_HALVES = ["\ud800", "\udcf8", "\udcff"]


def pieces(chance: random.Random) -> Iterator[str]:
    """Secrets in all forms, whole and cut; pseudonyms; a learned value; and what stands around them."""
    written = [form.decode("utf-8", "surrogateescape") for value in _SECRETS.values() for form in forms(value).values()]
    while True:
        match chance.randrange(8):
            case 0:
                yield chance.choice(written)
            case 1:
                whole = chance.choice(written)
                yield whole[: chance.randrange(len(whole))]
            case 2:
                whole = chance.choice(written)
                yield whole[chance.randrange(len(whole)) :]
            case 3:
                yield chance.choice(("<secret:PLAIN>", "<secret:token:01234567>", "<secret:p4ss>"))
            case 4:
                yield chance.choice((_LEARNED, _LEARNED[:6], _LEARNED[6:]))
            case 5 if chance.random() < 0.1:
                yield chance.choice(_HALVES)
            case _:
                yield "".join(chance.choices(_FILLED, k=chance.randrange(6)))


@pytest.mark.parametrize("learns", [False, True])
def test_many_texts_are_cleaned_as_each_alone(learns: bool) -> None:
    chance = random.Random(20261127)
    some = pieces(chance)
    left, changed = 0, 0
    for _ in range(1500):
        redactor = Redactor(_SECRETS)
        if learns:
            redactor.bind(_LEARNED, "<id:1>")
        texts = ["".join(next(some) for _ in range(chance.randrange(3))) for _ in range(chance.randrange(1, 5))]

        alone = [redactor.everywhere(text) for text in texts]

        assert alone == RequestKeys(redactor, ()).clean(list(texts))
        assert {alone[0]: alone[-1]} == RequestKeys(redactor, ()).clean({texts[0]: texts[-1]})
        leaves = redactor.leaves_all(texts)
        assert not (leaves and alone != texts)
        if not learns and "".join(texts).isprintable():  # where one search can tell, it does
            assert leaves == (alone == texts)
        left, changed = left + leaves, changed + (alone != texts)
    assert min(left, changed) > 100


def test_a_piece_of_a_long_text_is_cleaned_as_it_is_alone() -> None:
    chance = random.Random(4711)
    some = pieces(chance)
    redactor = Redactor(_SECRETS)
    changed = 0
    for _ in range(400):
        piece = "".join(next(some) for _ in range(4))
        until = _WINDOW * chance.choice((1, 2)) - chance.randrange(len(piece.encode("utf-8", "surrogatepass")) + 2)

        alone = redactor.everywhere("-" + piece + "-")

        assert "-" * (until - 1) + alone + "-" * (_WINDOW - 1) == redactor.everywhere(
            "-" * until + piece + "-" * _WINDOW
        )
        changed += alone != "-" + piece + "-"
    assert changed > 100


def test_a_value_may_be_learned_while_another_thread_searches() -> None:
    redactor = Redactor(_SECRETS)
    done = threading.Event()

    def learn() -> None:
        number = 0
        while number < 5000 and not done.is_set():
            number += 1
            redactor.bind(f"learned-{number:08d}", f"<id:{number}>")

    learner = threading.Thread(target=learn)
    learner.start()
    try:
        for _ in range(100):
            assert redactor.everywhere("my p4ss") == "my <secret:SHORT>"
            assert redactor.leaves_all(["a", "b"])
            assert redactor.content(b"my p4ss") == b"my <secret:SHORT>"
    finally:
        done.set()
        learner.join()
    assert redactor.everywhere("learned-00000001") == "<id:1>"
