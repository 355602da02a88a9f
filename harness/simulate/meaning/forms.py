"""The one form of a value, however it is written."""

import re
from functools import lru_cache
from typing import Final

_MONTH_AND_DAY: Final = {"iso": (1, 2), "slashed": (0, 1), "dotted": (1, 0)}
"""Where month and day stand in each form of a date; `05.11.2024` is written where the day comes first."""


@lru_cache(maxsize=16_384)
def normal_form(kind: str, text: str) -> tuple[str, str]:
    """The kind of a value and its one form; dates are month and day."""
    digits = re.findall(r"\d+", text)
    match kind:
        case "money":
            return kind, plain_number(_with_point(re.sub(r"[^\d.,]", "", text).strip(".,")))
        case "percent" | "number":
            return kind, plain_number(re.sub(r"[^\d.]", "", text).strip("."))
        case "iso" | "slashed" | "dotted":
            month, day = _MONTH_AND_DAY[kind]
            return "date", f"{int(digits[month])}-{int(digits[day])}"
        case "time":
            return "time", _time(text)
        case _:
            return "id", text.strip("#-_")


def _with_point(amount: str) -> str:
    """An amount whose cents stand behind a point: `12,50` and `1.200` are written so on the continent of Europe."""
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+(?:,\d\d)?|\d+,\d\d", amount):
        amount = amount.replace(".", "").replace(",", ".")
    return amount.replace(",", "")


def _time(text: str) -> str:
    digits = [int(part) for part in re.findall(r"\d+", text)]
    hour, minute = digits[0], digits[1] if len(digits) > 1 else 0
    if "p" in text and hour < 12:
        hour += 12
    elif "a" in text and hour == 12:
        hour = 0
    return f"{hour}:{minute:02}"


def plain_number(text: str) -> str:
    """A number without the zeros that change nothing; `text` where it is none."""
    try:
        return f"{float(text):.12g}" if len(text) < 12 else text
    except ValueError:
        return text
