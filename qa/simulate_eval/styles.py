"""Paraphrases in three styles of people, each a class: chatty, formal, and brief.

They were written in one go, before the check of meaning was changed the last time, and measured before any result was
looked at; the first figures stand in the table of the closing note and in `docs/concepts/simulated-users.md`.
"""

import re
from typing import Final

_CHATTY: Final = (
    (r"\bPlease provide\b", "Mind sending over"),
    (r"\bCould you (?:please )?(?:provide|share|give|tell)(?: me)?(?: with)?\b", "Can you shoot me"),
    (r"\bWould you like me to\b", "Want me to"),
    (r"\bWould you like to\b", "Feel like you want to"),
    (r"\bPlease confirm\b", "Just give me a thumbs up on"),
    (r"\bI(?:'ve| have) (?:successfully )?(?=\w+ed\b)", "OK, so I "),
    (r"\bI found\b", "I dug up"),
    (r"\bI(?:'ll| will) need\b", "I'm gonna need"),
    (r"\bI need\b(?! to)", "I've gotta have"),
    (r"\bI(?:'ll| will)\b", "I'm gonna"),
    (r"\bI can\b", "I'm good to"),
    (r"\bLet me\b(?! know)", "Gimme a sec and I'll"),
    (r"\bUnfortunately,?", "Bummer, but"),
    (r"\bHowever,?", "Thing is,"),
    (r"\bAdditionally,?", "Oh, and"),
    (r"\bproceed\b", "get rolling"),
    (r"\bHere (?:is|are)\b", "So here's the rundown on"),
    (r"\bdetails\b", "nitty-gritty"),
    (r"\bverify\b", "make sure of"),
    (r"\bThank you for\b", "Cheers for"),
    (r"\bThanks for\b", "Much obliged for"),
    (r"\bassist\b", "help out"),
    (r"\bcurrently\b", "as we speak"),
    (r"\bavailable\b", "up for grabs"),
    (r"\bplease\b", "if you don't mind"),
    (r"\bSince\b", "Seeing as"),
    (r"\bIf you\b", "If you happen to"),
    (r"\brequest\b", "ask"),
    (r"\bso I can\b", "and that way I can"),
    (r"\bas well\b", "to boot"),
    (r"\bat this time\b", "just now"),
    (r"\bwould be\b", "comes out as"),
    (r"\bonce\b", "the second"),
    (r"\bOnce\b", "The minute"),
    (r"\bprefer\b", "fancy"),
)
_FORMAL: Final = (
    (r"\bPlease provide\b", "I would be obliged if you supplied"),
    (r"\bCould you (?:please )?(?:provide|share|give|tell)(?: me)?(?: with)?\b", "Might I trouble you to furnish"),
    (r"\bWould you like me to\b", "Do you wish that I should"),
    (r"\bWould you like to\b", "Is it your wish to"),
    (r"\bPlease confirm\b", "Please attest"),
    (r"\bI(?:'ve| have) (?:successfully )?(?=\w+ed\b)", "Please be advised that I have duly "),
    (r"\bI found\b", "A search of our records has yielded"),
    (r"\bI(?:'ll| will) need\b", "It will be requisite that I have"),
    (r"\bI need\b(?! to)", "I must obtain"),
    (r"\bI(?:'ll| will)\b", "I shall"),
    (r"\bI can\b", "I am in a position to"),
    (r"\bcan't\b", "am not in a position to"),
    (r"\bLet me\b(?! know)", "Permit me to"),
    (r"\bUnfortunately,?", "It is with regret that I inform you that"),
    (r"\bHowever,?", "Nevertheless,"),
    (r"\bAdditionally,?", "Furthermore,"),
    (r"\bproceed\b", "advance to the next stage"),
    (r"\bHere (?:is|are)\b", "Enumerated hereunder:"),
    (r"\bdetails\b", "pertinent data"),
    (r"\bverify\b", "authenticate"),
    (r"\bThank you for\b", "We acknowledge with gratitude"),
    (r"\bThanks for\b", "I am indebted to you for"),
    (r"\bassist\b", "be of service"),
    (r"\bcurrently\b", "presently"),
    (r"\bavailable\b", "obtainable"),
    (r"\bwithin\b", "in the space of"),
    (r"\bSince\b", "Inasmuch as"),
    (r"\bIf you\b", "In the event that you"),
    (r"\bto confirm\b", "to corroborate"),
    (r"\bso I can\b", "whereupon I can"),
    (r"\bas well\b", "likewise"),
    (r"\bbelow\b", "set out underneath"),
    (r"\bwould be\b", "would amount to"),
    (r"\bonce\b", "upon such time as"),
    (r"\bOnce\b", "As and when"),
    (r"\bprefer\b", "favor"),
)
_BRIEF: Final = (
    (r"\bPlease provide\b", "Need"),
    (r"\bCould you (?:please )?(?:provide|share|give|tell)(?: me)?(?: with)?\b", "Send"),
    (r"\bWould you like me to\b", "Should I"),
    (r"\bWould you like to\b", "Going to"),
    (r"\bPlease confirm\b", "Confirm"),
    (r"\bI(?:'ve| have) (?:successfully )?(?=\w+ed\b)", "Just "),
    (r"\bI found\b", "Located:"),
    (r"\bI(?:'ll| will) need\b", "Required:"),
    (r"\bI need\b(?! to)", "Missing:"),
    (r"\bI(?:'ll| will) (?:now |then )?(?=[a-z])", "Will "),
    (r"\bI can\b", "Can"),
    (r"\bLet me\b(?! know)", "Will"),
    (r"\bUnfortunately,? ?", ""),
    (r"\bHowever,? ?", "But "),
    (r"\bAdditionally,? ?", "Plus "),
    (r"\bTo proceed,? ?", ""),
    (r"\bIn order to\b", "To"),
    (r"\bHere (?:is|are) (?:the |your )?", ""),
    (r"\bThank you for [^.!]{3,60}[.!] ?", ""),
    (r"\bThanks for [^.!]{3,60}[.!] ?", ""),
    (r"\bthe following\b", "this"),
    (r"\bcurrently ", ""),
    (r"\bplease ", ""),
    (r"\bsuccessfully ", ""),
    (r"\bat this time\b", "now"),
    (r"\bSince\b", "As"),
    (r"\bwould be\b", "is"),
    (r"\bin order to\b", "to"),
    (r"\bso that I can\b", "so I can"),
    (r"\bIs there anything else (?:I can [a-z ]{3,40}|you need[a-z ]{0,20})\?", "Anything more?"),
    (r"\bLet me know if you have any (?:other |further )?questions[^.!]{0,40}[.!]", "Questions? Ask."),
    (r"\bplease let me know\b", "say so"),
)


def chatty(text: str) -> str | None:
    """As somebody writes to a friend; None where fewer than two clauses have another wording."""
    return _styled(text, _CHATTY)


def formal(text: str) -> str | None:
    """As a letter of an office."""
    return _styled(text, _FORMAL)


def brief(text: str) -> str | None:
    """As a note, without what is there for politeness."""
    return _styled(text, _BRIEF)


def _styled(text: str, clauses: tuple[tuple[str, str], ...]) -> str | None:
    changed = 0
    for pattern, other in clauses:
        text, times = re.subn(pattern, other, text)
        changed += times
    return text if changed >= 2 else None
