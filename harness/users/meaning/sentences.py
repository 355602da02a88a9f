"""A message as sentences, and what each of them does: state, ask, promise, or say goodbye."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from harness.users.meaning.words import deciding, is_of_domain

LONGEST: Final = 20_000
"""Characters of a message that are read."""

_EMPHASIS: Final = re.compile(r"[*_`#>|]+")
_BULLET_IN_TEXT: Final = re.compile(r"\n[ \t]*(?:[-•]|\d{1,2}[.)])\s+")
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
    return _EMPHASIS.sub(" ", _BULLET_IN_TEXT.sub("\n ", f"\n{text}"))


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


# What a sentence wants of the user, in whichever form: a question, a polite request, an imperative, a note.

_LEAD: Final = (
    r"(?:(?:and|so|then|now|just|simply|first|next|also|kindly|ok|okay|oh|yes|sure|great|if so|if yes|otherwise|"
    r"for now|to (?:proceed|continue|confirm|verify))[, ]+)*"
)
_OBJECT: Final = (
    r"(?:me|us|your|the|an?|it|this|that|these|those|any|all|each|both|one|either|which|what|whether|if|when|how|where)"
)
_NO_VERB: Final = (
    r"(?!(?:in|on|at|for|with|from|to|of|by|as|since|after|before|during|under|over|about|per|via|until|till|once|when|"
    r"while|if|because|although|though|and|but|or|so|then|also|plus|however|both|either|neither|not|no|yes|only|even|"
    r"i|you|he|she|we|they|it|this|that|these|those|there|here|all|any|some|each|what|which|who|how|where|why|hello|hi|"
    r"is|are|was|were|has|have|had|does|did|do|will|would|can|could|shall|should|may|might|must|be|been|am|got|"
    r"found|sent|made|put|paid|took|gave|bought|set|left|kept|told|unlike|like|despite|within|without|between|through|"
    r"against|across|into|onto|upon|instead|well|thanks|done|sorry|note|enjoy|find|see|below|above|besides|except|"
    r"including|given|due|see|let|please|allow|permit|grant|give me an? (?:moment|minute|second|sec)|gimme|"
    r"hold|hang|bear|ok|okay|fine|alright|wait|regarding)\b)"
    r"(?!\w+(?:ing|[^e]ed|ly|'\w+)\b)"
)
_IMPERATIVE: Final = re.compile(rf"(?:^|[:,;] ){_LEAD}{_NO_VERB}[a-z]+ (?:over |back |along |up |down )?{_OBJECT}\b")
_NOTE: Final = re.compile(r"(?:required|missing|needed|wanted|outstanding|still open)\b(?: is| are)?:? ")
_NECESSITY: Final = re.compile(
    r"\b(?:i|we)(?:'\w+)?\b[^.;]{0,40}\b(?:need|require|must|gotta|have to|want|after|lack|requisite|necessary)\b"
    r"[^.;]{0,60}\b(?:your|following)\b|"
    r"\b(?:requisite|necessary|needed|required|incumbent)\b[^.;]{0,40}\byour\b"
)
_COURTESY: Final = re.compile(
    r"\b(?:so|very) (?:kind|good)\b|"
    r"\b(?:it would|it'd|would) (?:really |also )?help(?: me| us)? (?:to (?:have|know|get)|if)\b|"
    r"\b(?:obliged|grateful|be great|be lovely|appreciate it|helpful|good|kind)\b[^.;]{0,12}\b(?:if you|as to)\b|"
    r"^(?:can|could|would|will|might|may) (?:you|i)\b|\bmind \w+ing\b|\bwant me to\b|\btrouble you\b"
)
_OF_THE_USER: Final = re.compile(
    r"\b(?:could|can|would|will) you\b(?! (?:like|prefer|want|rather|wish|"
    r"be (?:ok|okay|happy|fine|willing|inclined)))|"
    r"\byou (?:could|can)\b|\bmind \w+ing\b|\btrouble you\b|"
    r"\b(?:can|could|may|might) i (?:\w+ )?(?:have|get|ask|know|see)\b"
)
_OF_THEIRS: Final = re.compile(r"\b(?:can|could|may|might) i\b([^?]{0,30}?)\byour\b")
_BY_AN_UNKNOWN_VERB: Final = re.compile(r"\b(?:may|might) i ([a-z ]{1,30}?) (?:the|these|this|those|any|some|a few)\b")
"""A request where no known deed stands between: `May I solicit your ID?`, and not `May I cancel your order?`."""


def wants_something(sentence: str) -> bool:
    """Whether one sentence in lower case asks for something, in whichever form; offers of further help included."""
    return (
        asks(sentence)
        or _IMPERATIVE.search(sentence) is not None
        or _NOTE.match(sentence) is not None
        or _NECESSITY.search(sentence) is not None
        or _COURTESY.search(sentence) is not None
    )


def requests_of_user(sentence: str) -> bool:
    """Whether one sentence in lower case is a request to the user in the form of a question."""
    if _OF_THE_USER.search(sentence) is not None or _IMPERATIVE.match(sentence) is not None:
        return True
    theirs = _OF_THEIRS.search(sentence)
    if theirs is not None and not any(is_of_domain(deciding(word) or "") for word in theirs[1].split()):
        return True
    asked = _BY_AN_UNKNOWN_VERB.search(sentence)
    forms = [] if asked is None else [form for form in map(deciding, asked[1].split()) if form is not None]
    return bool(forms) and not any(map(is_of_domain, forms))


# A message as clauses, each with what it stands under: the heading or the list item above it.
#
# 1. Shirt            "price $5" stands under "shirt"
#    - Price: $5
# It arrives on May 5.    "arrives may 5" stands under the sentence before, which `it` refers to

_ITEM: Final = re.compile(
    r"(?P<indent>[ \t]*)(?P<mark>[-•+]|\*(?!\*)|\d{1,2}[.)]|\(?[a-zA-Z][.)]|#{1,6}|>)?[ \t]*(?P<text>.*)"
)
_MARKUP: Final = re.compile(r"[*_`#>|]+")
_SENTENCE: Final = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|;\s")
_CLAUSE: Final = re.compile(r",\s+|\s+[-\u2013\u2014|]+\s+|\s*(?=\()|\)[,.]?\s*|\s+(?=(?:and|or|but|while|whereas)\s)")
_KEY: Final = re.compile(r":\s+")
_APPOSED: Final = re.compile(r"(?<=[a-z]) \(([\w#$.-]+)\)")
"""`Boston (BOS)`: the word in brackets stays with the one before it."""
_DECODER: Final = json.JSONDecoder()
_RANGE: Final = re.compile(
    r"\s*(?:→|->|=>|⇒)\s*|(?<=\d)\s*[\u2013\u2014]\s*(?=[$€£]?\d)|(?<=\d)\s+-\s+(?=[$€£]?\d)|(?<=:\d\d)-(?=\d)|(?<=[ap]m)\s*[\u2013\u2014-]\s*(?=\d)"
)
_SUM: Final = re.compile(r"\s=\s")
_ANAPHORIC: Final = re.compile(r"(?:it|its|this|that|these|those|they|their|he|she|his|her|which|there)\b")
_LETTERED: Final = re.compile(
    r"\b(option|choice|plan|group|zone|gate|terminal|row|part|section|item|version) ([a-z])\b"
)
"""Names of one letter, which are no words by themselves."""
_IS_ABOUT_THE_LAST: Final = re.compile(rf"\(|(?:and |but )?(?:{_ANAPHORIC.pattern})")
_MEMBERS: Final = 12
"""Members of an object that tell which one it is."""
_PROSE: Final = 80
"""Characters of a member that is a text of its own."""
_HEADING_WORDS: Final = 6
_LABEL: Final = re.compile(r"\*\*[^*]+(?:\*\*:|:\*\*)\s")
"""`**Flight 12**: Boston to Denver` is about what the items under it belong to."""


@dataclass(frozen=True)
class Clause:
    """One clause, in lower case."""

    text: str
    under: str = ""
    """The texts above it that say what it is about."""
    beside: str = ""
    """The other clauses of its sentence, or of its item of a list."""
    continues: bool = False
    """Whether it follows another clause of the same sentence."""


def is_damaged_document(text: str) -> bool:
    """Whether a message begins as a JSON document does and is none, so that what belongs together is not known."""
    text = text[:LONGEST].lstrip()
    if text[:1] not in ("{", "["):
        return False
    try:
        _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return True
    return False


def clauses_of(text: str) -> list[Clause]:
    """The clauses of a message, in order; a JSON document, with which it begins, is read as its members."""
    text = text[:LONGEST]
    if text.lstrip()[:1] in ("{", "["):
        try:
            document, end = _DECODER.raw_decode(text.lstrip())
            return [*_of_document(document, ""), *_of_lines(text.lstrip()[end:], "")]
        except (ValueError, RecursionError):
            text = text.replace("\\n", "\n").replace('\\"', '"')
    return _of_lines(text, "")


def _of_document(value: JsonValue, under: str) -> Iterator[Clause]:
    """The members of a document; each stands under its name, and beside the other members of its object."""
    match value:
        case dict():
            single = {name: str(one) for name, one in value.items() if not isinstance(one, dict | list)}
            for name, member in value.items():
                said = name.replace("_", " ").lower()
                beside = " ; ".join(single[other] for other in [*single][:_MEMBERS] if other != name)
                if name not in single:
                    yield from _of_document(member, f"{under} {said} {beside}")
                elif len(single[name]) > _PROSE:
                    yield from _of_lines(single[name], said)
                else:
                    text = single[name].replace("_", " ").lower()
                    yield Clause(text=text, under=f"{under} {said}", beside=beside.lower())
        case list():
            for member in value:
                yield from _of_document(member, under)
        case _:
            yield from _of_lines(str(value), under)


def _of_lines(text: str, under: str) -> list[Clause]:
    found: list[Clause] = []
    above: list[tuple[tuple[int, int], str]] = []
    for line in _LETTERED.sub(r"\1 \2\2", text.lower().replace("\u2019", "'")).split("\n"):
        match = _ITEM.match(line)
        if match is None or not match["text"].strip():
            continue
        plain = " ".join(_MARKUP.sub(" ", match["text"]).split())
        rank = (len(match["indent"].expandtabs(4)), _rank(match["mark"] or "", match["text"].strip(), plain))
        if rank[1] == _PARAGRAPH and not (above and above[-1][0][1] <= _HEADING):
            above.clear()
        while above and above[-1][0] >= rank:
            above.pop()
        found += _of_line(plain, " ".join((under, *(one for _, one in above))), is_item=rank[1] != _PARAGRAPH)
        if rank[1] != _PARAGRAPH:
            above.append((rank, plain))
    return found


_HEADING, _LABELLED, _NUMBERED, _BULLET_OF_CLAUSE, _PARAGRAPH = 1, 2, 3, 4, 5


def _rank(mark: str, text: str, plain: str) -> int:
    if mark.startswith("#"):
        return 0
    if mark and mark not in "-*•+>":
        return _NUMBERED
    if mark:
        return _BULLET_OF_CLAUSE
    is_bold = text.startswith("**") and text.rstrip(":").endswith("**")
    is_short = len(plain.split()) <= _HEADING_WORDS and plain[-1:].isalpha()
    if is_bold or is_short or plain.endswith(":"):
        return _HEADING
    return _LABELLED if _LABEL.match(text) else _PARAGRAPH


def _of_line(plain: str, under: str, *, is_item: bool) -> list[Clause]:
    found: list[Clause] = []
    before = ""
    ranges = _SUM.sub(" total ", _RANGE.sub(" to ", plain))
    for sentence in _SENTENCE.split(ranges):
        *keys, rest = _KEY.split(sentence)
        about = " ".join((under, before, *keys) if _ANAPHORIC.match(sentence) else (under, *keys))
        found += _parts_of(rest, about, ranges if is_item else rest)
        for place, key in enumerate(keys):
            if len(key.split()) > _HEADING_WORDS:
                found += _parts_of(key, " ".join((under, *keys[:place])), ranges)
            elif any(map(str.isdigit, key)):
                found.append(Clause(text=key, beside=ranges))
        before = sentence
    return found


def _parts_of(text: str, about: str, beside: str) -> list[Clause]:
    """The clauses of a sentence, or of what stands before its colon where that is a sentence by itself."""
    parts = [part for part in _CLAUSE.split(_APPOSED.sub(r" \1", text)) if part and part.strip()]
    found = []
    for number, part in enumerate(parts):
        own = f"{about} {parts[number - 1]}" if number and _IS_ABOUT_THE_LAST.match(part) else about
        found.append(Clause(text=part, under=own, beside="" if beside == part else beside, continues=number > 0))
    return found
