"""Regular expressions that people and services write, refused where Python could not compile them."""

import re


def check_expression(expression: str) -> None:
    """Raises ValueError in words for what cannot be compiled: malformed, or nested or repeated too far."""
    try:
        re.compile(expression)
    except (re.error, OverflowError) as error:
        raise ValueError(f"is no regular expression: {error}") from None
    except RecursionError:
        raise ValueError("is no regular expression: it is nested too deeply") from None
