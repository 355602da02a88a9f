"""Suggestions for an unknown name."""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 20


def alternatives(name: str, known: Iterable[str]) -> str | None:
    """`did you mean 'tour-v1'? known: tour-v1, tour-v2`; None where no names are known."""
    names = sorted(known)
    if not names:
        return None
    near = get_close_matches(name, names, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"{meant}known: {', '.join(names[:_MOST])}{more}"
