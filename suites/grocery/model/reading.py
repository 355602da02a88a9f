"""What agents write to each other: sections of lines, and products as `2 x Oat Milk [oat-milk @ greenway] 4.99`."""

import re
from dataclasses import dataclass, field

_SECTION = re.compile(r"^([A-Z][A-Za-z ]*):\s*(.*)$")
_PRODUCT = re.compile(
    r"(?:(\d+) x )?([A-Za-z][^\[\]|\n;]*?) \[([a-z0-9-]+) @ ([a-z0-9-]+)\](?: (\d+\.\d\d))?( \(alcohol\))?"
)


@dataclass(frozen=True)
class Product:
    """One product of one store, so many of it."""

    quantity: int
    name: str
    product_id: str
    store_id: str
    cents: int | None = None
    alcohol: bool = False

    @property
    def line(self) -> str:
        price = "" if self.cents is None else f" {money(self.cents)}"
        mark = " (alcohol)" if self.alcohol else ""
        return f"{self.quantity} x {self.name} [{self.product_id} @ {self.store_id}]{price}{mark}"


@dataclass
class Sections:
    """`Name: value` lines, and the `- ` lines below each."""

    values: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)

    def listed(self, name: str) -> list[str]:
        return self.lists.get(name, [])


def sections_in(text: str) -> Sections:
    """The sections of a request or an answer; lines before the first belong to the section ""."""
    found, at = Sections(), ""
    for line in text.splitlines():
        if line.startswith("- "):
            found.lists.setdefault(at, []).append(line[2:].strip())
        elif match := _SECTION.match(line.strip()):
            at = match[1]
            found.values[at] = match[2].strip()
    return found


def products_in(text: str) -> list[Product]:
    """Every product that the text names."""
    return [
        Product(int(quantity or 1), name.strip(), product, store, cents_of(price) if price else None, bool(alcohol))
        for quantity, name, product, store, price, alcohol in _PRODUCT.findall(text)
    ]


def counted(text: str) -> tuple[int | None, str]:
    """`2 x oat milk` -> (2, "oat milk"); None where no number stands before it."""
    match = re.match(r"(\d+) x (.+)", text)
    return (int(match[1]), match[2]) if match else (None, text)


def cents_of(text: str) -> int:
    """`4.99` -> 499."""
    whole, _, part = text.partition(".")
    return int(whole) * 100 + int((part + "00")[:2])


def money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def stems(text: str) -> frozenset[str]:
    """The words of a text without case, punctuation and plural endings."""
    words = re.findall(r"[a-z0-9]+", text.casefold().replace("'", ""))
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words)
