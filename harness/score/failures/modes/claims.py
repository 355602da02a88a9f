"""Tool hallucination, the two kinds that words show: a call that was claimed and never made, a result made up.

`claimed_call` counts: the agent says that something was done ("I have cancelled", "has been booked") that one of the
declared write tools does by its name or description, and no tool of like meaning had succeeded before; or, in words of
like meaning or in general ("completed", "submitted"), and no write at all had succeeded; or that it has looked
something up ("I have checked", "after a search", "my research shows"), and no call that could have told it anything had
succeeded. A write of the same verb on something else ("cancelled your subscription" after `cancel_order`, where a tool
for subscriptions is declared) and one that was answered by an error without a flag are none that had done it. Does not
count: an offer, a question, what stands behind a condition or a denial in the same sentence, or is reported of somebody
else ("your bank says"); something that no tool does ("a summary below", "my mind"); a look-up that is said to have
failed; a claim after a like write succeeded, however wrong its arguments (what is posted, pushed or mailed may have any
name: there the verb alone decides); a state that an answer had told ("has been
cancelled" after `"status": "cancelled"`, of the same identifiers where the sentence has some).

`fabricated_result` counts: an identifier in a message of the agent that nothing given to it had contained, nor any of
its own calls in any spelling (`KX-998-124` for `KX998124`); or a tool's answer written by the agent itself in the
middle of its message ("Observation:", "API output:", `<tool_response>`). Does not count: amounts, dates and words; a
number that the message computes; code and quotations; identifiers offered as an example ("such as", "e.g.").

Origin: the message. Dependent steps: none.
"""

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from harness.score.diagnosis import Diagnosis
from harness.score.evidence import Evidence
from harness.score.failures.modes.claimed_commands import claimed_commands
from harness.score.failures.modes.deeds import IRREGULAR, LOOKED, DoneDeeds, Offered
from harness.score.failures.modes.fabricated import VERSION, codes, fabricated_results, finding
from harness.score.failures.signals.grounding import NEVER, atoms, is_identifier, texts
from harness.score.failures.signals.handing_over import hands_in
from harness.score.failures.signals.reading import Reading, read

_SENTENCE: Final = re.compile(r"[^.!?\n]{1,600}[.!?]?")
_ADVERBS: Final = r"(?:(?:now|just|also|already|then|successfully|fully|both|all) ){0,3}"
_ACTIVE: Final = re.compile(
    rf"\b(?:i|we)(?: have|'ve| had)? {_ADVERBS}(?:(?:went|gone) ahead and {_ADVERBS})?([a-z]{{2,20}})\b"
)
_ABLE: Final = re.compile(
    rf"\b(?:i|we)(?: have|'ve)? (?:managed|(?:was|were|been) able) to {_ADVERBS}([a-z]{{2,20}})\b"
)
_PASSIVE: Final = re.compile(
    rf"(?:\b(?:has|have) |\w's ){_ADVERBS}been {_ADVERBS}([a-z]{{2,20}})\b"
    rf"|\b(?:was successfully|(?:is|are) (?:now|successfully|fully)) {_ADVERBS}([a-z]{{2,20}})\b"
)
_OF_ABLE: Final = ("able to ", "managed to ")
_OF_PASSIVE: Final = ("been ", "fully ", " now ")
"""One of them stands in whatever the expression finds; looking for them first is quicker."""
_SEARCH: Final = r"(?:search|searches|searching|research|researching|investigation|lookup|browsing)"
_OF_RESEARCH: Final = ("search", "investig", "lookup", "browsing", "looked", "sources")
_KIND: Final = (
    r"(?:(?:a|an|the|my|our|some|\w{2,12}(?:ed|ic|al|ful|ive|ough|ick|her)|web|online|internet|literature) ){0,4}"
)
_RESEARCHED: Final = re.compile(
    rf"\b(?:after|based on|following|upon|according to) {_KIND}{_SEARCH}\b"
    rf"|\b(?:i|we)(?: have|'ve)? looked (?:\w+ ){{1,3}}(?:up|into)\b"
    rf"|\bsources (?:that )?(?:i|we)(?: have|'ve)? (?:consulted|found|checked|reviewed)\b"
    rf"|\b(?:my|our) {_KIND}{_SEARCH}(?: \w+){{0,4}}? (?:show|reveal|indicate|confirm|suggest|found|yield)(?:s|ed)?\b"
)
_TO_COME: Final = re.compile(r"\b(?:will|'ll|would|going to|let me|let's|should|can|could|may|might|if|need to|plan)\b")
_UNCLAIMED: Final = re.compile(
    r"\b(?:if|once|when|after|before|until|unless|whether|not|never|no|none|nothing|without|cannot|can't|couldn't|unable|"
    r"unfortunately|would|could|should|may(?! \d)|might|let me|to be|please|haven't|hasn't|isn't|wasn't|previously|"
    r"as soon|already|that|which|neither|nor|nobody|hardly|(?:do|did|does|wo|would|should|had|are|were)n't|"
    r"assum(?:e|es|ed|ing)|provided|in case|where|looks? like|seems?|appears?|apparently|"
    r"you (?:say|said|told|wrote|mentioned)|says?|states?|reports?|claims?|according to|suppose|imagine|let's say)\b"
    r"|\b(?:to|had) $"
)
_UNWORLDLY: Final = re.compile(
    r"\s+(?:a |an |the |my |our |some |that |all )?(?:\w+ ){0,2}?(error|mistake|assumption|guess|typo|decision|sure|"
    r"analysis|research|plan|task|check|search|step|note|progress|summary|table|list|overview|comparison|mind|thought|"
    r"answer|response|review|detail|duplicate|draft|explanation|breakdown|outline|description|policy|policies)(?:e?s)?\b"
)
"""Things that no tool does, unless one acts on them: "I made an error", "I've added a summary below"."""
_IDLE: Final = re.compile(
    r"\s+(?:nothing|none|no|neither|out)\b|(?<=updated) you\b|(?<=ran) (?:into|away|through)\b"
    r"|\s(?:my|our) (?:own )?(?:memory|mind|knowledge|notes)\b"
    r"|(?<=found) (?:this|that|it|your|the) (?:\w+ ){0,3}(?:interesting|helpful|useful|hard|difficult|confusing)\b"
)
"""What follows a participle that tells of no deed."""


def claimed_calls(reading: Reading) -> tuple[Diagnosis, ...]:
    """One finding a verb: the first message that claims it."""
    if not reading.records_calls:
        return ()  # what was done is not recorded
    allowed = reading.evidence.allowed
    own = (tool for tool in reading.evidence.tools if tool.name in allowed)
    offered = Offered(tool for tool in own if tool.effect == "write" and not hands_in(tool.name))
    found: dict[str, Diagnosis] = {}
    done, told = DoneDeeds(reading.acts), _ToldStates(reading)
    words_by_step = reading.words
    for step, _ in reading.agent_messages:
        moment = reading.moments[step.index]
        done.until(moment)
        for verb, words, sentence in _claims(words_by_step[step.index], offered):
            if verb in found or done.bears_out(verb, sentence, offered):
                continue
            if not told.include(verb, words, sentence, moment):
                found[verb] = finding("claimed_call", step, f"says {words!r}; no call had done it", 0.8)
    return tuple(found.values())


def _claims(message: str, offered: Offered) -> Iterator[tuple[str, str, str]]:
    """(participle, words, sentence) of what is said to have been done."""
    said = message.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    researches = any(map(said.__contains__, _OF_RESEARCH))
    impersonal = (_PASSIVE,) if any(map(said.__contains__, _OF_PASSIVE)) else ()
    patterns = (_ACTIVE, *((_ABLE,) if any(map(said.__contains__, _OF_ABLE)) else ()), *impersonal)
    for sentence in _SENTENCE.findall(said):
        if sentence.endswith("?"):
            continue
        researched = _RESEARCHED.search(sentence) if researches else None
        if researched is not None and _TO_COME.search(sentence) is None:
            yield "searched", researched.group(), sentence
        for pattern in patterns if _is_of_agent(sentence) else impersonal:
            for match in pattern.finditer(sentence):
                if _is_deed(match, offered) and _UNCLAIMED.search(sentence, 0, match.start()) is None:
                    yield _said(match), match.group(), sentence


def _is_deed(match: re.Match[str], offered: Offered) -> bool:
    """Whether the words tell of something done that a tool could have done."""
    said = _said(match)
    if not (match.re is _ABLE or said.endswith("ed") or said in IRREGULAR or said in LOOKED):
        return False  # mostly so
    if _IDLE.match(match.string, match.end()):
        return False
    if said in LOOKED:
        return match.group().startswith(("i ", "i'", "we "))
    unworldly = _UNWORLDLY.match(match.string, match.end())
    return unworldly is None or unworldly.group(1) in offered.objects


def _said(match: re.Match[str]) -> str:
    return next(word for word in match.groups() if word is not None)


def _is_of_agent(sentence: str) -> bool:
    """Whether it can say something of whoever speaks."""
    return "i " in sentence or "i'" in sentence or "we " in sentence or "we'" in sentence


class _ToldStates:
    """States that answers had told: what is said of them in the passive claims no call."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._since: dict[tuple[str, frozenset[str]], int] = {}

    def include(self, verb: str, words: str, sentence: str, moment: int) -> bool:
        """Whether the words report a state that an answer before `moment` had told of what the sentence names."""
        if words.startswith(("i ", "i'", "we ", "we'")):
            return False
        named = frozenset(atom for word in codes(sentence) if is_identifier(word.upper()) for atom in atoms(word))
        if (verb, named) not in self._since:
            self._since[verb, named] = self._first(verb, named)
        return self._since[verb, named] < moment

    def _first(self, verb: str, named: frozenset[str]) -> int:
        told = {verb, verb.replace("ll", "l")}  # "cancelled" and "canceled"
        for act in self._reading.acts:
            if act.seen is not None and not act.failed:
                seen = set(atoms("\n".join(texts(act.seen.content))))
                if told & seen and named <= seen | act.asked:
                    return act.moment
        return NEVER


class Claims:
    """Calls and results that are claimed and were never made."""

    name: ClassVar[str] = "claims"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        calls = claimed_calls(reading)
        told = {one.origin_step for one in calls}
        commands = (one for one in claimed_commands(reading) if one.origin_step not in told)
        return (*calls, *commands, *fabricated_results(reading))
