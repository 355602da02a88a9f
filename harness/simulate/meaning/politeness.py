"""What is said for politeness: greetings, thanks, apologies, and set phrases that deny nothing."""

import re
from typing import Final

_POLITE: Final = re.compile(
    r"\b(?:thank(?:s| you)|you'?re welcome|hello|hi there|good (?:morning|afternoon|evening|day|bye)|goodbye|have "
    r"a|welcome to|"
    r"sorry (?:to hear|for|about)|i apologi[sz]e|apologies|i understand|i appreciate|no (?:problem|worries)|my "
    r"pleasure|"
    r"of course|certainly|sure thing|absolutely|great choice|got it|glad|happy to|take care|safe travels|enjoy|"
    r"don'?t hesitate|feel free|here to help|thanks for your patience)\b"
)
_POLITE_WORDS: Final = (
    *("thank", "welcome", "hello", "hi ", "good", "have a", "sorry", "apolog", "understand", "appreciate", "no "),
    *("pleasure", "course", "certain", "sure", "absolute", "great", "got it", "glad", "happy", "care", "safe"),
    *("enjoy", "hesitate", "free", "to help"),
)
_SET_PHRASE: Final = re.compile(
    r"\b(?:from what|(?:as|so|in so) far as|insofar as|to the best of what) (?:i|we) (?:can |could |may )?[a-z]+"
    r"(?: from here)?,\s|"
    r"\bif (?:you don[\u2019']?t mind|(?:that|it)(?: is|[\u2019']s) (?:no|not too much) (?:trouble|bother))\b,?|"
    r"\bdon[\u2019']?t worry\b,?|\bnot a problem\b,?|\bno (?:doubt|matter what)\b,?|"
    r"\bwithout (?:further )?ado\b|\byes(?: or |/)no\b",
    re.IGNORECASE,
)
"""What is said for politeness, and may hold a negation that denies nothing."""
_PHRASE_WORDS: Final = (
    "from what",
    "far as",
    "best of what",
    "mind",
    "trouble",
    "bother",
    "worry",
    "problem",
    "doubt",
    "matter what",
    " ado",
    "no",
)


def without_set_phrases(text: str) -> str:
    """A text without phrases such as `if you don't mind`, whose negation denies nothing."""
    return _SET_PHRASE.sub(" ", text) if any(word in text for word in _PHRASE_WORDS) else text


def may_be_polite(sentence: str) -> bool:
    """Whether a sentence in lower case holds a word that every polite formula has."""
    return any(word in sentence for word in _POLITE_WORDS)


def is_polite(sentence: str) -> bool:
    """Whether a sentence in lower case holds a polite formula."""
    return _POLITE.search(sentence) is not None
