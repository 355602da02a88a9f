"""Foreign names as ids of cases, the same every time and never two for one."""

import hashlib
import re

_CASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def case_id(text: str) -> str:
    """`text` where it is a valid case id; else its readable part with digits that distinguish it from similar ones."""
    if _CASE.fullmatch(text):
        return text
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:60] or "case"
    return f"{readable}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
