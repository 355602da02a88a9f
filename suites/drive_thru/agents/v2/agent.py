"""Order taker, second version: looks before it adds, understands numbers, sizes and changes, and asks when unsure."""

import os

from choosing import Choice, choose, modifier_for
from gateway import Gateway, Refused
from wording import Piece, pieces_of, question_words, sentences_of, size_in


class Wish:
    """One thing that the guest wants, as far as it is understood."""

    def __init__(self, piece: Piece, choice: Choice) -> None:
        self.words = piece.words
        self.choice = choice
        self.quantity = piece.quantity or 1
        self.size = piece.size
        self.changes = list(piece.changes)


class OrderTaker:
    """Serves one guest."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def serve(self, message: str) -> str:
        """Does what the message asks; gives what to answer."""
        wishes: list[Wish] = []
        answers: list[str] = []
        for sentence, asks in sentences_of(message):
            if asks:
                answers.append(self._answer(sentence))
                continue
            for piece in pieces_of(sentence):
                self._understand(piece, wishes)
        if wishes:
            answers.append(self._place(wishes))
        return " ".join(answers) or "Good morning! What can I get for you?"

    def _answer(self, sentence: str) -> str:
        words = question_words(sentence)
        choice = choose(self._gateway.lookup(" ".join(words))) if words else Choice()
        if choice.item is None:
            return "I'm sorry, I cannot tell you that."
        item, size = choice.item, size_in(sentence)
        prices = {offered["name"]: offered["price_cents"] for offered in item["sizes"]}
        return f"{item['name']} is {prices.get(size, item['price_cents']) / 100:.2f}."

    def _understand(self, piece: Piece, wishes: list[Wish]) -> None:
        last = wishes[-1] if wishes else None
        if self._begins_anew(piece, last):
            piece.words = [word for change in piece.changes for word in change if word != "add"]
            piece.changes = []
        if last is not None and not piece.words:
            last.size = piece.size or last.size
            last.quantity = piece.quantity or last.quantity
            last.changes += piece.changes
        elif last is not None and not piece.counted and self._continues(piece, last):
            last.changes += piece.changes
        elif piece.words:
            wishes.append(Wish(piece, choose(self._gateway.lookup(" ".join(piece.words)))))

    def _begins_anew(self, piece: Piece, last: Wish | None) -> bool:
        """Whether what sounds like a change is a thing of its own, as in "a double something" or "add a something"."""
        if piece.words or not piece.changes or not (piece.counted or piece.changes[0][0] == "add"):
            return False
        item = None if last is None else last.choice.item
        return item is None or any(modifier_for(item, change) is None for change in piece.changes)

    def _continues(self, piece: Piece, last: Wish) -> bool:
        """Whether a piece goes on with the wish before it: one more change of it, or the rest of its name."""
        if last.changes and last.choice.item and modifier_for(last.choice.item, ["with", *piece.words]):
            last.changes.append(["with", *piece.words])
            return True
        if piece.joint != "and" or last.changes:
            return False
        whole = [*last.words, "and", *piece.words]
        hits = self._gateway.lookup(" ".join(whole))
        if not hits or hits[0]["match"] not in {"exact", "all_words"}:
            return False
        if hits[0]["match"] == "all_words" and self._is_named(last.words) and self._is_named(piece.words):
            return False
        last.words, last.choice = whole, choose(hits)
        return True

    def _is_named(self, words: list[str]) -> bool:
        return any(hit["match"] == "exact" for hit in self._gateway.lookup(" ".join(words)))

    def _place(self, wishes: list[Wish]) -> str:
        clear = [wish for wish in wishes if wish.choice.item is not None]
        names = [wish.choice.item["name"] for wish in clear if wish.choice.item]
        self._gateway.think(
            f"{len(clear)} of {len(wishes)} wishes are clear", [f"add {name}" for name in names] + ["finalize"]
        )
        said = [line for wish in clear for line in self._add(wish)]
        for wish in wishes:
            if wish.choice.options:
                said.append(f"Which {' '.join(wish.words)} would you like: {', '.join(wish.choice.options)}?")
            elif wish.choice.item is None:
                said.append(f"I'm sorry, we do not have {' '.join(wish.words)}.")
        if clear and not any(wish.choice.options for wish in wishes):
            total = self._gateway.finalize()["total_cents"]
            said.append(f"Your total is {total / 100:.2f}. Please drive up to the window.")
        return " ".join(said)

    def _add(self, wish: Wish) -> list[str]:
        item = wish.choice.item
        assert item is not None
        said = []
        sizes = [offered["name"] for offered in item["sizes"]]
        size = wish.size if wish.size in sizes else None
        if wish.size and sizes and size is None:
            said.append(f"{item['name']} does not come in {wish.size}.")
        modifiers = list(wish.choice.modifiers)
        for change in wish.changes:
            name = modifier_for(item, change)
            if name is None:
                said.append(f"I'm sorry, {item['name']} does not come {' '.join(change)}.")
            elif name not in modifiers:
                modifiers.append(name)
        try:
            self._gateway.add(item["id"], wish.quantity, size, modifiers)
        except Refused as refusal:
            return [*said, f"I'm sorry: {refusal}."]
        return [*said, " ".join([str(wish.quantity), *([size] if size else []), item["name"], *modifiers]) + "."]


def main() -> None:
    gateway = Gateway(os.environ["HARNESS_GATEWAY_URL"])
    taker = OrderTaker(gateway)
    for message in gateway.turns():
        try:
            gateway.reply(taker.serve(message))
        except Refused as refusal:
            gateway.reply(f"I'm sorry, something is wrong with the menu: {refusal}.")


if __name__ == "__main__":
    main()
