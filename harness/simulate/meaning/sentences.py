"""A message as sentences, and what each of them does: state, ask, promise, or say goodbye."""

import re
from functools import lru_cache
from typing import Final

LONGEST: Final = 20_000
"""Characters of a message that are read."""

_MARKUP: Final = re.compile(r"[*_`#>|]+|^\s*(?:[-•]|\d{1,2}[.)])\s+", re.MULTILINE)
_END: Final = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|\n+|(?<=:)\s*\n")
_ABBREVIATED: Final = re.compile(r"\b(?:e\.g|i\.e|mr|mrs|ms|dr|vs|approx|no|st|inc)\.$", re.IGNORECASE)

_OFFERS_MORE: Final = re.compile(
    r"(?:any|some)thing else|any (?:other|more|further|additional) (?:question|request|concern|help|assistance|item)|"
    r"(?:else|other|more|further) (?:that )?(?:i|we) can|(?:assist|help) (?:you )?(?:with )?(?:anything|any)|"
    r"what else|else (?:to|for) (?:you|today)|need (?:any )?(?:more|further) (?:help|assistance)|how else|"
    r"feel free to|don'?t hesitate|if you (?:have|need|want|would like|change your mind)\b[^?]*(?:let me know|"
    r"here|ask|reach)|"
    r"let me know if (?:you|there)|happy to help|here to help|"
    r"(?:ai|may|can|could) i (?:help|assist|do)[^?]*\belse|"
    r"(?:with|for) (?:anything|something) else",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(
    r"\?|\b(?:please|kindly)\s+(?:provide|confirm|share|tell|give|specify|let me know|choose|select|reply|answer|"
    r"verify|enter|"
    r"send|clarify|indicate|state)\b|"
    r"\b(?:could|can|would|will|may|do|are|is|shall|should|which|what|when|where|who|how)\s+(?:you|i|we|one|the)\b[^.!]*\?|"
    r"\b(?:i|we)(?:'ll| will)? (?:need|require)(?: to know)? (?:your|you to|the following|some|a few|to know|to "
    r"verify)|"
    r"\blet me know (?:which|what|when|how|your|whether|if you(?:'d| would)? (?:like|want|prefer) (?:me )?to)|"
    r"\bjust (?:say|reply|let me know)\b",
    re.IGNORECASE,
)
_PROMISES: Final = re.compile(
    r"\b(?:i'll|i will|i am going to|i'm going to|i shall|let me|we'll|we will|allow me to|give me a)\b|"
    r"\b(?:one|just a|a|bear with me for a|hold on a?) (?:moment|minute|second|sec)\b|\bplease (?:wait|hold|stand "
    r"by)\b|"
    r"\bhold on\b|\bbear with me\b|\bright away\b|"
    r"\b(?:i'm|i am|we're|we are) (?:now |currently )?(?:checking|looking|processing|placing|working|adding|"
    r"updating|cancell?ing|"
    r"searching|transferring|retrieving|fetching|booking|verifying)\b|\bworking on it\b",
    re.IGNORECASE,
)
_NO_PROMISE: Final = re.compile(
    r"let me know|let me (?:summari[sz]e|clarify|explain|recap|confirm)|i(?:'ll| will) be (?:here|glad|happy|unable)|"
    r"(?:will|i'll) not|won't|i(?:'ll| will) need|we(?:'ll| will) (?:see you|be here|need)",
    re.IGNORECASE,
)
_FAREWELL: Final = re.compile(
    r"\b(?:good ?bye|bye|have a (?:great|good|nice|wonderful|lovely|pleasant|safe|fantastic)|take care|see you|"
    r"thank you for (?:contacting|calling|shopping|choosing|visiting|your patience|reaching)|you'?re (?:very |all "
    r")?(?:welcome|set)|"
    r"safe travels|enjoy your)\b",
    re.IGNORECASE,
)
_REFUSES: Final = re.compile(
    r"\b(?:cannot|can'?t|unable to|not able to|not possible|not allowed|not permitted|not eligible|won'?t be able|"
    r"unfortunately|i'?m sorry|i apologi[sz]e|against (?:our|the) policy|transferred? (?:you )?to (?:a|an|our) "
    r"(?:human|agent|"
    r"representative|specialist|colleague)|being transferred|transferring you)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=8192)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a message, without markup; lines of a list are sentences of their own."""
    plain = _MARKUP.sub(" ", text[:LONGEST].replace("\u2019", "'"))
    found: list[str] = []
    for piece in _END.split(plain):
        part = " ".join(piece.split())
        if found and part and _ABBREVIATED.search(found[-1]):
            found[-1] = f"{found[-1]} {part}"
        elif part:
            found.append(part)
    return tuple(found)


def is_open_question(text: str) -> bool:
    """Whether a message asks something that the user has to answer; an offer of further help does not count."""
    return any(_ASKS.search(one) and not _OFFERS_MORE.search(one) for one in sentences(text))


def is_open_promise(text: str) -> bool:
    """Whether a message ends with something that the agent says it will do now."""
    last = [one for one in sentences(text) if not _OFFERS_MORE.search(one) and not _FAREWELL.search(one)][-2:]
    return any(_PROMISES.search(one) and not _NO_PROMISE.search(one) and "?" not in one for one in last)


def is_closing(text: str) -> bool:
    """Whether a message says goodbye, or that nothing more can be done."""
    return bool(_FAREWELL.search(text) or _REFUSES.search(text)) and not is_open_question(text)


def offers_more(text: str) -> bool:
    """Whether a message asks whether there is anything else."""
    return _OFFERS_MORE.search(text[:LONGEST]) is not None


def refuses(text: str) -> bool:
    """Whether a message says that something cannot be done."""
    return _REFUSES.search(text[:LONGEST]) is not None


def asks(sentence: str) -> bool:
    """Whether one sentence asks for something, offers of further help included."""
    return _ASKS.search(sentence) is not None
