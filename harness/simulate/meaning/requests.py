"""What a sentence wants of the user, in whichever form: a question, a polite request, an imperative, a note."""

import re
from typing import Final

from harness.simulate.meaning.sentences import asks
from harness.simulate.meaning.words import deciding, is_of_domain

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
