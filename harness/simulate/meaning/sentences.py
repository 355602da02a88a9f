"""A message as sentences, and what each of them does: state, ask, promise, or say goodbye."""

import re
from typing import Final

LONGEST: Final = 20_000
"""Characters of a message that are read."""

_EMPHASIS: Final = re.compile(r"[*_`#>|]+")
_BULLET: Final = re.compile(r"\n[ \t]*(?:[-•]|\d{1,2}[.)])\s+")
_END: Final = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|\n+|(?<=:)\s*\n")
_ABBREVIATED: Final = re.compile(r"\b(?:e\.g|i\.e|mr|mrs|ms|dr|vs|approx|no|st|inc)\.$", re.IGNORECASE)

_OFFERS_MORE: Final = re.compile(
    r"\b(?:(?:any|some)thing else|any (?:other|more|further|additional) (?:question|request|concern|help|"
    r"assistance|item|setting|order|change|update|issue|need)|"
    r"(?:else|other|more|further) (?:that )?(?:i|we) can|what else|else (?:to|for) (?:you|today)|"
    r"(?:any|more|further|additional|other) (?:help|assistance|support|questions?|concerns?|clarification)|"
    r"(?:sonst|sonst noch|noch) etwas (?:f\u00fcr sie )?(?:tun|helfen)|(?:sonst|darf es) noch etwas|weitere "
    r"(?:fragen|w\u00fcnsche)|"
    r"(?:algo|alguna cosa) m\u00e1s|(?:otra|m\u00e1s) (?:cosa|ayuda|preguntas?)|"
    r"how else|feel free to|don'?t hesitate|do not hesitate|"
    r"(?:if|in case|should|whenever|when|provided(?: that)?|in the event(?: that)?|should it be that) you (?:\w+ )?"
    r"(?:have(?! an? (?:moment|minute|second))|need|want|require|like|wish|change your mind)\b[^?]{0,200}"
    r"(?:let me know|tell me|just say|here|ask|reach)|"
    r"let me know if (?:you|there)(?!(?:'d| would)? (?:like|want|prefer)\b)|happy to help|here to help|"
    r"(?:with|for) (?:anything|something) else)"
)
_OFFER_WORDS: Final = (
    "else",
    "any ",
    "other",
    "more",
    "further",
    "additional",
    "feel free",
    "hesitate",
    "let me know",
    "to help",
    " you ",
    "noch ",
    "weitere ",
    " m\u00e1s",
    "otra ",
)
_ASKS: Final = re.compile(
    r"\?|\b(?:please|kindly)\b(?! (?:note|be |wait|hold|wait|feel|keep|remember|rest|accept|allow|understand|see |"
    r"find|stand|bear))|"
    r"\b(?:(?:let|permit|allow) (?:me|us)(?: to)? know|tell (?:me|us)|say so|(?:ask|request|invite|want) (?:that )?you|"
    r"(?:need|like|have) to (?:know|hear|have|get))\b|"
    r"\b(?:need|require)\b.{0,20}\b(?:your|you to|the following|some|a few|to know|to verify|to confirm|"
    r"information|details)\b|"
    r"\bjust (?:say|reply)\b|\byou are (?:kindly )?(?:requested|asked|invited) to\b|\bawait(?:ing)? your\b|"
    r"\bgrateful (?:to|if|for) (?:receiv|hear|you |your )"
)
_REQUEST: Final = re.compile(
    r"\b(?:could|can|would|will|may) (?:you|i)\b(?: \w+){0,2} (?:provide|give|share|tell|confirm|verify|specify|"
    r"clarify|have|get|send|let)"
)
_PROPOSES: Final = re.compile(
    r"\b(?:like|want|prefer|ok(?:ay)?|happy|wish|need) (?:for )?(?:me|us) to\b|"
    r"\b(?:ok(?:ay)?|fine|alright|agreeable|about|mind|what) (?:with you )?(?:if |that |were )?(?:i|we)\b|"
    r"\b(?:shall|should|may|can|could) (?:i|we)\b|\b(?:proceed|go ahead|continue|carry on|move forward|move ahead)\b"
)
_OF_FACT: Final = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|did|will)(?:n't| not)? (?:your|the|this|these|those|my|our|it|they)\b"
    r"(?! (?:correct|right|ok|okay|fine|good|acceptable|accurate|alright|work)\b)"
)
_OPEN_WORDS: Final = re.compile(r"\b(?:what|which|who|whom|whose|when|where|why|how)\b")
"""A question with one of them asks for something that is missing, as a request does."""
_INVERTED: Final = re.compile(
    r"(?:is|are|was|were|has|have|had|does|did|will)(?:n't)? (?:your|the|this|these|those|my|our)\b"
)
"""How a question of fact begins, though it lacks its mark."""
_PROMISES: Final = re.compile(
    r"\b(?:i'll|i will|i am going to|i'm (?:going to|gonna)|i shall|let me|we'll|we will|allow me to|give me a)\b|"
    r"\b(?:one|just a|a|bear with me for a|hold on a?) (?:moment|minute|second|sec)\b|\bplease (?:wait|hold|stand "
    r"by)\b|"
    r"\bhold on\b|\bbear with me\b|\bright away\b|"
    r"\b(?:i'm|i am|we're|we are) (?:now |currently )?(?:checking|looking|processing|placing|working|adding|updating|"
    r"cancell?ing|searching|transferring|retrieving|fetching|booking|verifying)\b|\bworking on it\b|"
    r"^will (?:now |then )?(?!be\b)[a-z]+\b|"
    r"\bich (?:werde|pr\u00fcfe|schaue|suche|k\u00fcmmere|storniere|buche|bestelle)\b|\b(?:einen|kleinen) "
    r"(?:moment|augenblick)\b|"
    r"\b(?:un|d\u00e9me un) (?:momento|segundo)\b|\b(?:voy a|ahora mismo|enseguida)\b"
)
_NO_PROMISE: Final = re.compile(
    r"\bich (?:werde|kann)\b.{0,60}\bnicht\b|\b(?:wenn|sobald|falls|cuando|en cuanto|si) (?:sie|du|usted|t\u00fa|"
    r"me|lo)\b|"
    r"let me know|tell me|\b(?:if|once|when|whenever|as soon as|after) (?:you|that|it|they|the|there)\b|"
    r"\b(?:we|i)(?:'ll| will) keep\b|let me (?:summari[sz]e|clarify|explain|recap|confirm)|"
    r"i(?:'ll| will| shall|'m going to| am going to|'m gonna) be (?:here|glad|happy|unable)|"
    r"transferr|transfer you|human agent|(?:will|i'll) not|won't|(?:i'll|will|going to|i would|i'd|we'll) (?:need|"
    r"require)|we(?:'ll| will) (?:see you|be here|need)"
)
_PROMISE_WORDS: Final = (
    "i'll",
    "ll ",
    "will",
    "going to",
    "gonna",
    "let me",
    "allow me",
    "give me",
    "moment",
    "minute",
    "sec",
    "hold",
    "wait",
    "shall",
    "right away",
    "i'm",
    "i am",
    "we're",
    "we are",
    "working",
    "stand by",
    "ich ",
    "augenblick",
    "momento",
    "segundo",
    "voy a",
    "mismo",
    "enseguida",
)
_FAREWELL: Final = re.compile(
    r"\b(?:good ?bye|bye|have a (?:great|good|nice|wonderful|lovely|pleasant|safe|fantastic)|take care|see you|"
    r"thank you for (?:contacting|calling|shopping|choosing|visiting|your patience|reaching)|"
    r"you'?re (?:very |all )?(?:welcome|set)|safe travels|enjoy your|"
    r"auf wiedersehen|tsch\u00fcss|gern geschehen|sch\u00f6nen tag|adi\u00f3s|hasta luego|de nada|buen d\u00eda)\b"
)
_REFUSES: Final = re.compile(
    r"\b(?:cannot|can'?t|unable to|not able to|not possible|not allowed|not permitted|not eligible|won'?t be able|"
    r"unfortunately|i'?m sorry|i apologi[sz]e|against (?:our|the) policy|"
    r"transferred? (?:you )?to (?:a|an|our) (?:human|agent|representative|specialist|colleague)|"
    r"being transferred|transferring you)\b"
)
_CLAIMS: Final = re.compile(
    r"\b(?:all|everything|order|request|task|reservation|booking|return|refund|exchange|cancellation|it|that|this)"
    r"(?:'s| is| has been| have been| was| were)?(?: now| all| just| successfully){0,2} (?:done|complete[d]?|ready|"
    r"finished|placed|booked|ordered|processed|sorted|submitted|confirmed|taken care of|cancell?ed|updated|settled)\b|"
    r"\b(?:i|we)(?:'ve| have)? (?:now |just |already |successfully )?(?:completed|finished|done|placed|booked|ordered|"
    r"processed|sorted|handled|settled|resolved|taken care of|fulfilled|accomplished)\b|"
    r"^(?:done|completed?|finished|sorted|success(?:ful)?)\b|"
    r"\b(?:you'?re|you are|we'?re|we are) (?:all )?(?:done|set)\b|"
    r"\bnothing (?:else|more|left|further) to (?:do|be done)\b"
)
_TRANSFERS: Final = re.compile(
    r"\b(?:transferr(?:ed|ing)|connect(?:ed|ing)) (?:you )?(?:now )?to (?:a|an|our)\b|\bbeing transferred\b|"
    r"\b(?:specialist|representative|human agent|colleague) will (?:assist|help|contact|take)\b"
)
_REFUSAL_WORDS: Final = ("can", "unable", "not ", "won", "unfortun", "sorry", "apolog", "against", "transfer")


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a message, without markup; lines of a list are sentences of their own."""
    found: list[str] = []
    for piece in _END.split(without_markup(text)):
        part = " ".join(piece.split())
        if found and part and _ABBREVIATED.search(found[-1]):
            found[-1] = f"{found[-1]} {part}"
        elif part:
            found.append(part)
    return tuple(found)


def without_markup(text: str) -> str:
    """What is read of a message, without marks of emphasis and the bullets and numbers of lists."""
    text = text[:LONGEST].replace("\u2019", "'")
    if "\\" in text:  # a reply that is a JSON document
        text = text.replace("\\n", "\n").replace('\\"', '"')
    return _EMPHASIS.sub(" ", _BULLET.sub("\n ", f"\n{text}"))


def is_open_question(text: str) -> bool:
    """Whether a message asks something that the user has to answer; an offer of further help does not count."""
    return any(asks(one) and not only_offers(one) for one in sentences(text))


def only_offers(sentence: str) -> bool:
    """Whether one sentence offers further help, and puts no question of fact before that."""
    return offers_more(sentence) and _INVERTED.match(_plain(sentence)) is None


def is_open_promise(text: str) -> bool:
    """Whether a message ends with something that the agent says it will do now."""
    if transfers(text):
        return False
    last = [one for one in sentences(text) if not offers_more(one) and not _FAREWELL.search(one.lower())][-2:]
    return any(promises(one) for one in last)


def is_closing(text: str) -> bool:
    """Whether a message says goodbye, or that nothing more can be done."""
    plain = _plain(text)
    return bool(_FAREWELL.search(plain) or _REFUSES.search(plain)) and not is_open_question(text)


def claims_completion(text: str) -> bool:
    """Whether a message says that what was wanted is done."""
    return any(_CLAIMS.search(_plain(one)) is not None for one in sentences(text) if "?" not in one)


def transfers(text: str) -> bool:
    """Whether a message hands the user over to somebody else, after which nothing is open."""
    return _TRANSFERS.search(_plain(text)) is not None


def offers_more(text: str) -> bool:
    """Whether a message asks whether there is anything else."""
    plain = _plain(text)
    return may_offer_more(plain) and _OFFERS_MORE.search(plain) is not None


def may_offer_more(plain: str) -> bool:
    """Whether a text in lower case holds a word that every such offer has."""
    return any(word in plain for word in _OFFER_WORDS)


def refuses(text: str) -> bool:
    """Whether a message says that something cannot be done."""
    plain = _plain(text)
    return any(word in plain for word in _REFUSAL_WORDS) and _REFUSES.search(plain) is not None


def promises(sentence: str) -> bool:
    """Whether one sentence says what the agent is about to do."""
    plain = _plain(sentence)
    if "?" in plain or not any(word in plain for word in _PROMISE_WORDS):
        return False
    return _PROMISES.search(plain) is not None and _NO_PROMISE.search(plain) is None


def puts_a_question(sentence: str) -> bool:
    """Whether one sentence is a question to be answered, and no request in the form of one."""
    plain = _plain(sentence)
    return ("?" in plain or _INVERTED.match(plain) is not None) and _REQUEST.search(plain) is None


def proposes(sentence: str) -> bool:
    """Whether one sentence asks for leave to do something, as a question or in another form."""
    return _PROPOSES.search(_plain(sentence)) is not None


def questions_a_fact(sentence: str) -> bool:
    """Whether one sentence asks whether something is so, or has happened."""
    plain = _plain(sentence)
    if _INVERTED.match(plain) is not None:
        return True
    return "?" in plain and _OF_FACT.search(plain) is not None and _OPEN_WORDS.search(plain) is None


def asks(sentence: str) -> bool:
    """Whether one sentence asks for something, offers of further help included."""
    return "?" in sentence or _ASKS.search(_plain(sentence)) is not None


def _plain(text: str) -> str:
    return text[:LONGEST].lower().replace("\u2019", "'")
