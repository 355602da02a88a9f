"""Three more styles, written after values were bound to what they belong to, and measured before any result was seen.

`caring` is how a patient clerk writes, `plain` how a style guide for plain English would have it, `office` how a bank
answers letters. Each has wordings that stand in no other list here.
"""

import re
from typing import Final

_CARING: Final = (
    (r"\bPlease (?:provide|share|give me|send)(?: me)?(?: with)?\b", "Whenever you have a moment, pass me"),
    (r"\bCould you (?:please )?(?:provide|share|give|tell)(?: me)?(?: with)?\b", "Would it be all right to ask for"),
    (r"\bWould you like me to\b", "Would it help if I were to"),
    (r"\bWould you like to\b", "Do you feel ready to"),
    (r"\bPlease confirm\b", "Could you let me know for certain"),
    (r"\bI(?:'ve| have) (?:successfully )?(?=\w+ed\b)", "You can relax, I have "),
    (r"\bI found\b", "I was lucky enough to come across"),
    (r"\bI see\b", "From what I gather,"),
    (r"\bI(?:'ll| will) need\b", "It would help me to have"),
    (r"\bI need\b(?! to)", "It would help me to have"),
    (r"\bI can\b", "I'd be only too pleased to"),
    (r"\bLet me\b(?! know)", "Allow me to"),
    (r"\bUnfortunately,?", "I wish I had better news:"),
    (r"\bHowever,?", "That being said,"),
    (r"\bproceed\b", "take the next step"),
    (r"\bHere (?:is|are)\b", "For your convenience, these are"),
    (r"\bdetails\b", "bits of information"),
    (r"\bverify\b", "have a quick look at"),
    (r"\bThank you for\b", "I really do appreciate"),
    (r"\bassist\b", "lend you a hand"),
    (r"\bcurrently\b", "as things stand"),
    (r"\bplease\b", "if you would be so kind"),
    (r"\bIf you\b", "Should it be that you"),
    (r"\bunderstand\b", "can well imagine"),
    (r"\bissue\b", "difficulty"),
    (r"\binformation\b", "facts"),
)
_PLAIN: Final = (
    (r"\bPlease (?:provide|share|give me|send)(?: me)?(?: with)?\b", "Tell us"),
    (r"\bCould you (?:please )?(?:provide|share|give|tell)(?: me)?(?: with)?\b", "We need"),
    (r"\bWould you like me to\b", "Do you want me to"),
    (r"\bWould you like to\b", "Do you want to"),
    (r"\bPlease confirm\b", "Say yes or no to"),
    (r"\bI(?:'ve| have) (?:successfully )?(?=\w+ed\b)", "I just "),
    (r"\bI found\b", "There is"),
    (r"\bI see (?:that )?", "It seems "),
    (r"\bI(?:'ll| will) need\b", "I need"),
    (r"\bI can\b", "I am able to"),
    (r"\bLet me\b(?! know)", "I will"),
    (r"\bUnfortunately,?", "Sorry,"),
    (r"\bHowever,?", "But"),
    (r"\bAdditionally,?", "Also,"),
    (r"\bproceed\b", "go on"),
    (r"\bHere (?:is|are)\b", "This is what we have:"),
    (r"\bdetails\b", "information"),
    (r"\bverify\b", "check"),
    (r"\bThank you for\b", "Thanks for"),
    (r"\bassist\b", "help"),
    (r"\bcurrently\b", "now"),
    (r"\bregarding\b", "about"),
    (r"\bIf you\b", "When you"),
    (r"\bIn order to\b", "To"),
    (r"\bprior to\b", "before"),
    (r"\brequest\b", "ask for"),
    (r"\bunable to\b", "not able to"),
    (r"\brequire\b", "need"),
    (r"\binquire\b", "ask"),
    (r"\bpurchase\b", "buy"),
    (r"\bassure\b", "promise"),
)
_OFFICE: Final = (
    (r"\bPlease (?:provide|share|give me|send)(?: me)?(?: with)?\b", "You are requested to state"),
    (r"\bCould you (?:please )?(?:provide|share|give|tell)(?: me)?(?: with)?\b", "We should be grateful to receive"),
    (r"\bWould you like me to\b", "Do you instruct me to"),
    (r"\bWould you like to\b", "Do you intend to"),
    (r"\bPlease confirm\b", "We await your confirmation of"),
    (r"\bI(?:'ve| have) (?:successfully )?(?=\w+ed\b)", "This is to notify you that I have "),
    (r"\bI found\b", "Our files show"),
    (r"\bI see\b", "We note"),
    (r"\bI(?:'ll| will) need\b", "We shall require"),
    (r"\bI need\b(?! to)", "We require"),
    (r"\bI can\b", "We are authorised to"),
    (r"\bLet me\b(?! know)", "We shall"),
    (r"\bUnfortunately,?", "We regret to say that"),
    (r"\bHowever,?", "By contrast,"),
    (r"\bproceed\b", "take this forward"),
    (r"\bHere (?:is|are)\b", "Please find listed"),
    (r"\bdetails\b", "specifications"),
    (r"\bverify\b", "ascertain"),
    (r"\bThank you for\b", "We acknowledge receipt of"),
    (r"\bassist\b", "attend to"),
    (r"\bcurrently\b", "at the time of writing"),
    (r"\bIf you\b", "Where you"),
    (r"\bonce\b", "as and when"),
    (r"\bunderstand\b", "take note of"),
    (r"\bissue\b", "complaint"),
    (r"\binformation\b", "particulars"),
)


def caring(text: str) -> str | None:
    """As a patient clerk writes; None where fewer than two clauses have another wording."""
    return _restyled(text, _CARING)


def plain(text: str) -> str | None:
    """As plain English has it."""
    return _restyled(text, _PLAIN)


def office(text: str) -> str | None:
    """As a bank answers letters."""
    return _restyled(text, _OFFICE)


def _restyled(text: str, clauses: tuple[tuple[str, str], ...]) -> str | None:
    changed = 0
    for pattern, other in clauses:
        text, times = re.subn(pattern, other, text)
        changed += times
    return text if changed >= 2 else None
