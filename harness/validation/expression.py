"""Regular expressions that people and services write: rejected where Python cannot compile them, evaluated within a
limit.

They have the syntax of Python's `re`. Expressions that are certainly fast are evaluated here, all others in a process
of their own.
"""

import re
from typing import Literal, cast

from harness.validation.cost import is_quick

SECONDS = 1.0
"""Of processor time, for one expression and one text."""


def check_expression(expression: str) -> None:
    """Raises ValueError in words for what cannot be compiled: malformed, or nested or repeated too far."""
    try:
        re.compile(expression)
    except (re.error, OverflowError) as error:
        raise ValueError(f"invalid regular expression: {error}") from None
    except RecursionError:
        raise ValueError("invalid regular expression: it is nested too deeply") from None


def finds(expression: str, text: str, *, field: str, flags: int = 0) -> bool:
    """Whether it is found anywhere in the text. Raises OutOfTime, which names the field."""
    if is_quick(expression, len(text)):
        return re.search(expression, text, flags) is not None
    return bool(_asked("finds", expression, text, flags, field))


def is_quickly_found(expression: str, text: str) -> bool:
    """True only where it is found; False also where it takes longer to know that."""
    return is_quick(expression, len(text)) and re.search(expression, text) is not None


def fits(expression: str, text: str, *, field: str, flags: int = 0) -> bool:
    """Whether the whole text is such. Raises OutOfTime, which names the field."""
    if is_quick(expression, len(text)):
        return re.fullmatch(expression, text, flags) is not None
    return bool(_asked("fits", expression, text, flags, field))


def cut(expression: str, text: str, *, field: str) -> str:
    """The text without everything that it finds. Raises OutOfTime, which names the field."""
    if is_quick(expression, len(text)):
        return re.sub(expression, "", text)
    return cast(str, _asked("cut", expression, text, 0, field))


def _asked(question: Literal["finds", "fits", "cut"], expression: str, text: str, flags: int, field: str) -> object:
    from harness.validation.worker_pool import evaluate

    shown = expression if len(expression) <= 200 else f"{expression[:197]}..."
    what = f"{field}: {shown!r}, asked of a text of {len(text)} characters,"
    return evaluate(question, expression, text, int(flags), seconds=SECONDS, what=what)
