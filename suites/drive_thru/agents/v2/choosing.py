"""Which item of a look-up a guest means, and which of its modifiers; asks back rather than guess."""

_NEGATIVE = {"no", "without", "hold", "minus"}
_LEADING = {"with", "add", "extra", "no"}
_SAME = {"easy": "light", "double": "extra", "more": "extra"}


class Choice:
    """One item and the modifiers that its name was said with; or several items to choose from; or nothing."""

    def __init__(
        self, item: dict | None = None, modifiers: tuple[str, ...] = (), options: tuple[str, ...] = ()
    ) -> None:
        self.item = item
        self.modifiers = modifiers
        self.options = options


def choose(hits: list[dict]) -> Choice:
    """The one item that accounts for all that was said, words left over being modifiers of it."""
    for match in ("exact", "all_words", "named", "some_words"):
        fitting = [(hit, _spoken_modifiers(hit)) for hit in hits if hit["match"] == match]
        explained = [(hit, modifiers) for hit, modifiers in fitting if modifiers is not None]
        if len(explained) == 1:
            return Choice(item=explained[0][0], modifiers=tuple(explained[0][1]))
        if explained:
            return Choice(options=tuple(hit["name"] for hit, _ in explained))
    return Choice()


def modifier_for(item: dict, change: list[str]) -> str | None:
    """The item's modifier that a change such as ["with", "extra", "sauce"] asks for; None: it is not offered."""
    said = [_SAME.get(word, word) for word in change]
    refused = bool(_NEGATIVE & set(said))
    core = _stems([word for word in said if word not in _NEGATIVE and word not in {"with", "add"}])
    offered = [choice["name"] for choice in item["modifiers"] if choice["name"].startswith("no ") == refused]
    for name in offered:
        if _stems(name.split()) - {"no", "add"} == core:
            return name
    return next((name for name in offered if _stems(name.split()) - _LEADING == core - _LEADING), None)


def _spoken_modifiers(hit: dict) -> list[str] | None:
    """Modifiers that account for every word that the item does not; None where some word stays unexplained."""
    left = _stems(hit["unmatched_words"])
    found = []
    for name in sorted((choice["name"] for choice in hit["modifiers"]), key=len, reverse=True):
        words = _stems(name.split())
        if words <= left:
            found.append(name)
            left -= words
    return None if left else found


def _stems(words: list[str]) -> set[str]:
    return {word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in words}
