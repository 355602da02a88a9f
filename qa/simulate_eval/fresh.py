"""Paraphrases of another kind: whole clauses reworded, requests turned into questions and back, values spelt otherwise.

`reworded` was written after the check of meaning was changed, and measured
before any result was looked at:
tau2 68.7 %, taubench 70.7 %, toolorchestra 28.7 % replayed. What it showed was mended (dates with a year, and two forms
of request). `recast` was written after that.
"""

import calendar
import re
from typing import Final

_MONTHS: Final = tuple(calendar.month_name[1:])
_CLAUSES: Final = (
    (r"\bPlease (?:provide|share|give|send) (?:me )?(your [a-z ]{2,30})\b", r"May I have \1"),
    (r"\bCould you (?:please )?(?:provide|share|give|tell)(?: me)? (your [a-z ]{2,30})\?", r"I'll need \1 for that."),
    (r"\bWould you like me to\b", "Shall I"),
    (r"\bDo you want me to\b", "Should I"),
    (r"\bShall I\b", "Would it suit you if I were to"),
    (r"\bPlease confirm\b", "I'd ask you to confirm"),
    (r"\bIs (?:this|that) (?:correct|right)\?", "Have I got that right?"),
    (r"\bLet me know if you(?:'d| would) like\b", "Just say so if you would like"),
    (r"\bhas been successfully\b", "has now been"),
    (r"\bI(?:'ve| have) successfully\b", "I've just"),
    (r"\bI found\b", "I came across"),
    (r"\bI see that\b", "It looks as though"),
    (r"\bHere (?:is|are) (?:the|your)\b", "Below you will find the"),
    (r"\bTo proceed\b", "So that we can move on"),
    (r"\bIn order to\b", "So as to"),
    (r"\bBefore (?:I|we) (?:proceed|continue)\b", "First of all"),
    (r"\bI(?:'ll| will) (?:now )?(?:go ahead and )?process\b", "I am about to process"),
    (r"\bUnfortunately, ", "I'm afraid "),
    (r"\bI apologi[sz]e for\b", "My apologies for"),
    (r"\bat this time\b", "for the time being"),
    (r"\bas well as\b", "along with"),
    (r"\bas soon as\b", "the moment"),
    (r"\bdue to\b", "owing to"),
    (r"\bregarding\b", "concerning"),
    (r"\bhelp you with\b", "assist you with"),
    (r"\binformation\b", "particulars"),
    (r"\bdifferent\b", "distinct"),
    (r"\bmultiple\b", "several"),
    (r"\bcorrect\b", "accurate"),
    (r"\bneed to\b", "have to"),
    (r"\bonly\b", "solely"),
    (r"\bwithin\b", "inside of"),
    (r"\bcheck\b", "look into"),
    (r"\bchoose\b", "pick"),
    (r"\bverify\b", "validate"),
    (r"\bassist\b", "support"),
    (r"\bbased on\b", "going by"),
    (r"\bfollowing\b", "below"),
    (r"\btotal of\b", "sum of"),
    (r"\boptions\b", "choices"),
    (r"\bwant to\b", "wish to"),
    (r"\bSure!", "Of course!"),
    (r"\bGreat!", "Splendid!"),
    (r"\bGot it\b", "All right"),
    (r"\bThank you for\b", "Many thanks for"),
)


def reworded(text: str) -> str | None:
    """The text with every clause that has another wording in it; None where fewer than two have."""
    changed = 0
    for pattern, other in _CLAUSES:
        text, times = re.subn(pattern, other, text)
        changed += times
    text, times = re.subn(r"\b(\d{4})-(\d{2})-(\d{2})\b(?!T)", _spelt_date, text)
    changed += times
    return text if changed >= 2 else None


_RECAST: Final = (
    (r"\bPlease (?:provide|share|give|send) (?:me )?(your [a-z ]{2,30})\b", r"Would you mind telling me \1"),
    (r"\bWould you like me to\b", "Are you happy for me to"),
    (r"\bDo you want me to\b", "Would you prefer me to"),
    (r"\bCould you please\b", "Can you"),
    (r"\bPlease confirm\b", "Can you confirm"),
    (r"\bI(?:'ve| have) (?:successfully )?(?=\w+ed\b)", "I did it and have "),
    (r"\bhas been\b", "got"),
    (r"\bI(?:'ll| will)\b", "I am going to"),
    (r"\bLet me\b(?! know)", "I'll quickly"),
    (r"\bI need\b(?! to)", "what I need is"),
    (r"\bUnfortunately\b,?", "Regrettably,"),
    (r"\bHowever\b", "All the same"),
    (r"\bAdditionally\b", "On top of that"),
    (r"\bCurrently\b", "At present"),
    (r"\bdetails\b", "specifics"),
    (r"\bprovide\b", "supply"),
    (r"\bconfirm\b", "double-check"),
    (r"\bproceed\b", "press on"),
    (r"\bavailable\b", "there for you"),
    (r"\bunderstand\b", "realise"),
    (r"\bquestions?\b", "queries"),
    (r"\bhelp\b", "lend a hand"),
    (r"\bEverything\b", "All of it"),
    (r"\bplus\b", "and also"),
    (r"\bif you (?:want|wish|like)\b", "should you so desire"),
    (r"\bthe following\b", "these"),
    (r"\bas requested\b", "the way you asked"),
    (r"\bI can\b", "it is possible for me to"),
    (r"\bin total\b", "altogether"),
    (r"\bbecause\b", "given that"),
    (r"\bbefore\b", "prior to"),
    (r"\bonce\b", "when"),
    (r"\bgo ahead\b", "move forward"),
    (r"\bSure\b", "By all means"),
    (r"\bHere (?:is|are)\b", "I have listed"),
)


def recast(text: str) -> str | None:
    """Likewise, by other clauses; amounts lose the zeros of their cents."""
    changed = 0
    for pattern, other in _RECAST:
        text, times = re.subn(pattern, other, text)
        changed += times
    text, times = re.subn(r"(\$\d+)\.00\b", r"\1", text)
    changed += times
    return text if changed >= 2 else None


def _spelt_date(found: re.Match[str]) -> str:
    month = int(found[2])
    return f"{_MONTHS[month - 1]} {int(found[3])}, {found[1]}" if 1 <= month <= 12 else found[0]
