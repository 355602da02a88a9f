"""What a sentence of a plan forbids to say unasked, in English, German and Spanish."""

import re
from typing import Final

_SAY: Final = r"(?:mention|reveal|say|bring up|volunteer|provide|disclose|tell|offer|state|share|give)\w*"
_ASKED: Final = r"\b.{0,40}\bask"
_SAGE: Final = r"(?:erw\u00e4hne?|nenne?|sage?|verrate?|gib|erz\u00e4hle?)"
_DI: Final = r"(?:di|menciona|revela|da|cuenta|indica)"
_FORMS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:do not|don't|never|avoid)\b.{{0,12}}\b{_SAY}\b(?P<what>.+?)"
        r"(?:\b(?:unless|until|before|if not|except|as long as)\b.*)?$",
        rf"\b{_SAY}\b(?P<what>.+?)\bonly (?:if|when|after|once){_ASKED}",
        rf"\bonly {_SAY}\b(?P<what>.+?)\b(?:if|when|after|once){_ASKED}",
        rf"\bonly (?:if|when|after|once){_ASKED}\w*\b[^,]{{0,40}},\s*{_SAY}\b(?P<what>.+)",
        r"\bkeep (?P<what>.+?) (?:to yourself|back|secret|private)\b",
        r"\bhold back (?P<what>.+?)(?:\b(?:unless|until)\b.*)?$",
        rf"\b{_SAGE}\b(?P<what>.+?)\b(?:nicht, (?:bevor|bis|au\u00dfer|solange)|erst|nur)\b.*\b(?:ge)?frag",
        rf"\b{_SAGE}\b(?P<what>.+?)\b(?:nie|niemals|nicht)\b(?!, )",
        r"\bno (?:menciones|digas|reveles|des|cuentes|indiques)\b(?P<what>.+?)"
        r"(?:\b(?:hasta|salvo|a menos|si no|antes)\b.*)?$",
        rf"\b{_DI}\b(?P<what>.+?)\b(?:solo|s\u00f3lo|\u00fanicamente) (?:si|cuando)\b.*\bpregunt",
        rf"\b(?:solo|s\u00f3lo) (?:si|cuando)\b[^,]*\bpregunt\w*,?\s*{_DI}\b(?P<what>.+)",
    )
)
_UNNAMED: Final = re.compile(r"\s*(?:it|them|yes|no|so)\b", re.IGNORECASE)
"""What is withheld stands elsewhere in the plan, or is an answer."""


def forbidden_in(sentence: str) -> str | None:
    """What a sentence of a plan withholds; None where it withholds nothing that it names."""
    for form in _FORMS:
        found = form.search(sentence)
        if found is not None:
            return None if _UNNAMED.match(found["what"]) else found["what"]
    return None
