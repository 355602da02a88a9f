"""Wordings and changes that were written before the check of meaning was changed, and measured only after that.

Two styles of people (`breezy`, `stately`), a note (`terse`), and changes of an item or of a state by words that stand
in no other list. Their author also wrote the rules, but looked at no result on them before the rules were finished.
"""

import re
from typing import Final

_BREEZY: Final = (
    (r"\bPlease (?:provide|share|give me|send)(?: me)?(?: with)?\b", "Drop me"),
    (r"\bCould you (?:please )?(?:provide|share|give|tell)(?: me)?(?: with)?\b", "Any chance you could pass along"),
    (r"\bWould you like me to\b", "How about I"),
    (r"\bWould you like to\b", "Up for it if you get to"),
    (r"\bPlease confirm\b", "Holler back with a nod on"),
    (r"\bI(?:'ve| have) (?:successfully )?(?=\w+ed\b)", "Boom, I've "),
    (r"\bI found\b", "I managed to track down"),
    (r"\bI see\b", "I spot"),
    (r"\bI(?:'ll| will) need\b", "I'll have to get hold of"),
    (r"\bI need\b(?! to)", "I'm after"),
    (r"\bI can\b", "I'm totally able to"),
    (r"\bLet me\b(?! know)", "Hang tight while I"),
    (r"\bUnfortunately,?", "Ugh,"),
    (r"\bHowever,?", "Mind you,"),
    (r"\bproceed\b", "crack on"),
    (r"\bHere (?:is|are)\b", "Feast your eyes on"),
    (r"\bdetails\b", "lowdown"),
    (r"\bverify\b", "nail down"),
    (r"\bThank you for\b", "Big thanks for"),
    (r"\bassist\b", "pitch in"),
    (r"\bcurrently\b", "these days"),
    (r"\bavailable\b", "there for the taking"),
    (r"\bplease\b", "pretty please"),
    (r"\bIf you\b", "Whenever you"),
    (r"\bonce\b", "the instant"),
    (r"\bunderstand\b", "hear you"),
    (r"\bissue\b", "hiccup"),
    (r"\binformation\b", "scoop"),
)
_STATELY: Final = (
    (r"\bPlease (?:provide|share|give me|send)(?: me)?(?: with)?\b", "Be so good as to transmit"),
    (r"\bCould you (?:please )?(?:provide|share|give|tell)(?: me)?(?: with)?\b", "May I humbly solicit"),
    (r"\bWould you like me to\b", "Would it be agreeable were I to"),
    (r"\bWould you like to\b", "Would you be inclined to"),
    (r"\bPlease confirm\b", "Kindly ratify"),
    (r"\bI(?:'ve| have) (?:successfully )?(?=\w+ed\b)", "It is my privilege to report that I have "),
    (r"\bI found\b", "My inquiries have unearthed"),
    (r"\bI see\b", "I perceive"),
    (r"\bI(?:'ll| will) need\b", "I shall be in want of"),
    (r"\bI need\b(?! to)", "It is incumbent upon me to ascertain"),
    (r"\bI can\b", "It lies within my remit to"),
    (r"\bLet me\b(?! know)", "Grant me leave to"),
    (r"\bUnfortunately,?", "Lamentably,"),
    (r"\bHowever,?", "Notwithstanding the foregoing,"),
    (r"\bproceed\b", "go forth"),
    (r"\bHere (?:is|are)\b", "I hereby set before you"),
    (r"\bdetails\b", "particularities"),
    (r"\bverify\b", "substantiate"),
    (r"\bThank you for\b", "Permit me to extend my appreciation for"),
    (r"\bassist\b", "render aid"),
    (r"\bcurrently\b", "at the present juncture"),
    (r"\bavailable\b", "at your disposal"),
    (r"\bplease\b", "if it please you"),
    (r"\bIf you\b", "Provided that you"),
    (r"\bonce\b", "subsequent to the moment when"),
    (r"\bunderstand\b", "comprehend"),
    (r"\bissue\b", "predicament"),
    (r"\binformation\b", "intelligence"),
)
_TERSE: Final = (
    (r"\bPlease (?:provide|share|give me|send)(?: me)?(?: with)?\b", "State"),
    (r"\bCould you (?:please )?(?:provide|share|give|tell)(?: me)?(?: with)?\b", "Tell me"),
    (r"\bWould you like me to\b", "OK if I"),
    (r"\bWould you like to\b", "Do you want to"),
    (r"\bPlease confirm\b", "OK?"),
    (r"\bI(?:'ve| have) (?:successfully )?(?=\w+ed\b)", "Have "),
    (r"\bI found\b", "Found"),
    (r"\bI see (?:that )?", ""),
    (r"\bI(?:'ll| will) need\b", "Need"),
    (r"\bI need\b(?! to)", "Need"),
    (r"\bI can\b", "Able to"),
    (r"\bLet me\b(?! know)", "I'll"),
    (r"\bUnfortunately,?", "Sorry:"),
    (r"\bHowever,?", "Yet"),
    (r"\bproceed\b", "go on"),
    (r"\bHere (?:is|are)\b", "See"),
    (r"\bdetails\b", "data"),
    (r"\bverify\b", "check"),
    (r"\bThank you for [^.!]{3,60}[.!]", "Thanks."),
    (r"\bassist\b", "help"),
    (r"\bcurrently\b", "right now"),
    (r"\bplease\b,? ?", ""),
    (r"\bIf you\b", "Should you"),
    (r"\bonce\b", "when"),
    (r"\bI understand[^.!,]{3,80}[.!] ?", ""),
)
_ITEMS: Final = (
    ("passport", "visa"),
    ("address", "wallet"),
    ("flight", "ferry"),
    ("passenger", "pilot"),
    ("order", "invoice"),
    ("refund", "coupon"),
    ("return", "delivery"),
    ("exchange", "inspection"),
    ("cancel", "postpone"),
    ("card", "cheque"),
    ("economy", "premium"),
    ("bag", "guitar"),
    ("insurance", "membership"),
    ("data", "voicemail"),
    ("phone", "router"),
    ("network", "antenna"),
    ("bill", "contract"),
    ("line", "tower"),
    ("roaming", "tethering"),
    ("SIM", "charger"),
    ("reservation", "quotation"),
    ("certificate", "medal"),
    ("email", "letter"),
    ("name", "age"),
    ("shoes", "gloves"),
    ("color", "smell"),
    ("size", "weight"),
    ("jacket", "scarf"),
)
_STATES: Final = (
    ("available", "sold out"),
    ("confirmed", "annulled"),
    ("delivered", "misplaced"),
    ("eligible", "barred"),
    ("active", "dormant"),
    ("updated", "erased"),
    ("processed", "stalled"),
    ("approved", "vetoed"),
    ("completed", "interrupted"),
    ("valid", "expired"),
    ("successfully", "unsuccessfully"),
    ("enabled", "jammed"),
    ("connected", "unplugged"),
    ("possible", "unlawful"),
    ("pending", "overdue"),
    ("booked", "waitlisted"),
    ("correct", "mistaken"),
    ("fast", "slow"),
    ("good", "poor"),
    ("excellent", "dreadful"),
    ("on", "off"),
)


def breezy(text: str) -> str | None:
    """As somebody writes who wants to be liked; None where fewer than two clauses have another wording."""
    return _restyled(text, _BREEZY)


def stately(text: str) -> str | None:
    """As somebody writes who holds an office."""
    return _restyled(text, _STATELY)


def terse(text: str) -> str | None:
    """As somebody writes who has no time."""
    return _restyled(text, _TERSE)


def other_item(text: str) -> str | None:
    """The text with one thing or action turned into another; None where it has none of them."""
    return _first(text, _ITEMS)


def other_state(text: str) -> str | None:
    """The text with one state turned into another."""
    return _first(text, _STATES)


def _restyled(text: str, clauses: tuple[tuple[str, str], ...]) -> str | None:
    changed = 0
    for pattern, other in clauses:
        text, times = re.subn(pattern, other, text)
        changed += times
    return text if changed >= 2 else None


def _first(text: str, pairs: tuple[tuple[str, str], ...]) -> str | None:
    # Which pair is used depends on the text, so that no single one makes up a class.
    start = len(text) % len(pairs)
    for one, other in (*pairs[start:], *pairs[:start]):
        if re.search(rf"\b{one}\b", text):
            return re.sub(rf"\b{one}\b", other, text)
    return None
