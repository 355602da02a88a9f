"""The detector of calls that were claimed and never made, and of results that were made up."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import ClassVar, Final

from harness.scoring.evidence import Evidence
from harness.scoring.failures.grounding import NEVER, atoms, is_identifier, texts
from harness.scoring.failures.reading import Act, Reading, read
from harness.scoring.failures.signals import hands_in, is_hand_over
from harness.scoring.scorecard import Diagnosis, Kind
from harness.suite.tool_words import action_of, deeds_in, deeds_of, objects_of, singular
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Step

# Results that are made up: the kind `fabricated_result` of the detector `claims`, which defines it.

VERSION: Final = "9"
"""Of both kinds that words show."""
_EXAMPLE: Final = re.compile(r"\b(?:e\.g\.|for example|for instance|such as|like|format|example)", re.I)
_OWN_OUTPUT: Final = re.compile(
    r"(?m)^\s{0,8}(?:Observation|API output|Tool (?:output|result|response)|Function (?:output|result))\s?:\s?\S"
    r"|^\s{0,8}<(?:tool|function)_(?:responses?|results?|outputs?)>|^\s{0,8}<observations?>"
)
_OUTPUTS: Final = ("bservation", "output", "result", "response")
"""One of them stands in every text with an output of its own; looking for them is quicker than the expression is."""
_WORD: Final = re.compile(r"[#A-Za-z0-9][A-Za-z0-9_.@:+-]{3,63}")
_SENTENCE_END: Final = re.compile(r"\s(?:(?<=[.!?]\s)|(?<=\n))")
"""White space behind a mark, or the end of a line; written so that it is looked for at white space alone."""
_DIGIT: Final = re.compile(r"[0-9]")
_ESCAPED: Final = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})")
_OPERATOR: Final = "[=+*/^\N{MULTIPLICATION SIGN}\N{DIVISION SIGN}\N{ALMOST EQUAL TO}]"
_IN_COMPUTATION: Final = re.compile(rf"(?:{_OPERATOR}|\\\(|\\boxed\{{)\s?(\d+)\b|\b(\d+)(?=\s?{_OPERATOR})")
_PART: Final = 6
_LONG_NUMBER: Final = 7
"""A shorter run of digits can be an amount, which is rightly computed."""


def fabricated_results(reading: Reading) -> tuple[Diagnosis, ...]:
    """One finding a message."""
    if not reading.records_calls:
        return ()
    own = _OwnArguments(reading.acts)
    found = []
    for step, message in reading.agent_messages:
        if any(map(message.__contains__, _OUTPUTS)) and _OWN_OUTPUT.search(message):
            found.append(finding("fabricated_result", step, "writes a tool's answer itself", 0.9))
            continue
        made_up = [] if reading.runs_code else _made_up(reading, step, own)  # what code can compute may be true
        if made_up:
            evidence = f"tells of {', '.join(map(repr, made_up[:5]))}, which nothing had given"
            found.append(finding("fabricated_result", step, evidence, 0.8))
    return tuple(found)


class _OwnArguments:
    """The atoms of everything that the agent had put into its calls, read as far as somebody asks."""

    def __init__(self, acts: Sequence[Act]) -> None:
        self._acts = acts
        self._next = 0
        self._atoms: set[str] = set()

    def until(self, moment: int) -> set[str]:
        """Of the calls up to and including those of the moment, which must not fall from one question to the next."""
        while self._next < len(self._acts) and self._acts[self._next].moment <= moment:
            self._atoms |= self._acts[self._next].asked
            self._next += 1
        return self._atoms


def _made_up(reading: Reading, step: Step, own: _OwnArguments) -> list[str]:
    """The codes in a message that nothing had given; where they stand is only looked at where there are any."""
    words = reading.words[step.index]
    unknown = {value for value in _with_a_digit(_unescaped(words)) if _is_made_up(value, reading, step, own)}
    if not unknown:
        return []
    computed = _computed(step.message or "") if any(map(_is_long_number, unknown)) else frozenset()
    return [value for value in codes(words) if value in unknown and value not in computed]


def codes(words: str) -> Iterator[str]:
    """Words with a digit that are told of, not offered as an example. `words`: a message without code and quotes."""
    if _DIGIT.search(words) is None:
        return
    for sentence in _SENTENCE_END.split(_unescaped(words)):
        if _DIGIT.search(sentence) and not _EXAMPLE.search(sentence):
            yield from _with_a_digit(sentence)


def _with_a_digit(text: str) -> Iterator[str]:
    """Words are the same in a message and in its sentences, which end at white space."""
    if _DIGIT.search(text) is not None:
        yield from (word.rstrip(".:-+_@") for word in _WORD.findall(text) if _DIGIT.search(word))


def _unescaped(words: str) -> str:
    return _ESCAPED.sub(" ", words) if "\\" in words else words


def _is_made_up(value: str, reading: Reading, step: Step, own: _OwnArguments) -> bool:
    if (value.isdigit() and not _is_long_number(value)) or not is_identifier(value):
        return False
    if reading.sources.grounded(value, reading.moments[step.index]):
        return False  # mostly so, and quicker to see than what follows
    known = own.until(reading.moments[step.index])
    # else it may be the agent's own, or named after something that is known
    return not (
        set(atoms(value)) <= known
        or any(is_identifier(part.upper()) and part in known for part in atoms(value))
        or any(
            len(part) >= _PART
            and reading.sources.grounded(part, reading.moments[step.index])
            and is_identifier(part.upper())
            for part in atoms(value)
        )
    )


def _is_long_number(value: str) -> bool:
    return value.isdigit() and len(value) >= _LONG_NUMBER


def _computed(message: str) -> frozenset[str]:
    """The numbers that stand in a computation which the message itself makes; read once, whatever it holds."""
    return frozenset(one[1] or one[2] for one in _IN_COMPUTATION.finditer(message))


def finding(kind: Kind, step: Step, evidence: str, confidence: float) -> Diagnosis:
    """A finding at one step, whose origin it is."""
    return Diagnosis(
        failure="tool_hallucination",
        kind=kind,
        origin_step=step.index,
        evidence=evidence,
        confidence=confidence,
        version=VERSION,
    )


_COMMAND_SENTENCE: Final = re.compile(r"[^.!?\n]{1,600}")
_TESTS: Final = (
    r"(?:(?:unit|whole|full|complete|entire|existing|relevant|integration|regression|new|\d{1,6}) ){0,4}"
    r"(?:test|suite\b)"
)
_ALL: Final = r"(?:(?:all|the|every|of|a|our|your) ){0,3}"
_DEEDS: Final = (
    (
        "ran the tests",
        re.compile(
            rf"\b(?:i|we)(?: have|'ve)?(?: also| then| now)? (?:re-?)?r[au]n {_ALL}{_TESTS}"
            rf"|\ball (?:of )?(?:the )?{_TESTS}s? (?:\w+ )?(?:now |still )?pass"
        ),
        re.compile(r"test|spec|check|verif|jest|mocha|\bci\b|passed|\bok\b|coverage"),
    ),
    (
        "pushed",
        re.compile(r"\b(?:i|we)(?: have|'ve)?[^;:]{0,80}? pushed\b|\b(?:has|have) been pushed to\b"),
        re.compile(r"push|\bpr\b|pull"),
    ),
    (
        "committed",
        re.compile(r"\b(?:i|we)(?: have|'ve)?(?: \w+){0,2}? committed (?:the|it|my|this|all|your|both|and|changes)\b"),
        re.compile(r"commit"),
    ),
    (
        "opened a pull request",
        re.compile(
            r"\b(?:i|we)(?: have|'ve)?[^;:]{0,80}? (?:opened|created|filed|raised|submitted) (?:a |the |an? \w+ )?"
            r"(?:pull request|merge request|pr|mr)\b"
        ),
        re.compile(r"\bpr\b|\bprs\b|pull|\bmr\b|merge"),
    ),
)
"""(what is claimed, its words, what stands in every run in which it was done)."""
_NO_CLAIM_OF_COMMAND: Final = re.compile(
    r"\b(?:if|once|when|until|unless|whether|not|never|no|cannot|can't|couldn't|unable|would|could|should|may|might|"
    r"let me|please|will|to be|going to|want|n't|need|must|already|that|which)\b|n't\b"
)
_HIDDEN: Final = re.compile(
    r"\./|\.sh\b|\b(?:make|just|task|invoke|tox|nox|gradle\w*|mvn|bazel|docker)\b"
    r"|\b(?:npm|yarn|pnpm) (?:run|exec|t|ci)\b"
)
"""Programs that run commands which the log does not show."""
_COMMANDS: Final = frozenset({"command", "cmd", "script", "commands"})


def claimed_commands(reading: Reading) -> Iterator[Diagnosis]:
    """One finding a deed: the first message that claims it."""
    if not _has_command_line(reading) or _delegates(reading):
        return
    settled: set[str] = set()  # deeds that were claimed: what was done by the first claim is done at every later one
    for step in reading.steps:
        if step.index not in reading.words:
            continue
        for said, deed in _claimed_commands(reading.words[step.index]):
            if deed in settled:
                continue
            settled.add(deed)
            if _is_unseen(deed, reading, reading.moments[step.index]):
                yield finding("claimed_call", step, f"says {said!r}; no command had done it", 0.8)


def _claimed_commands(words: str) -> Iterator[tuple[str, str]]:
    for sentence in _COMMAND_SENTENCE.findall(words.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        for deed, claimed, _ in _DEEDS:
            match = claimed.search(sentence)
            if match is not None and _NO_CLAIM_OF_COMMAND.search(sentence, 0, match.end()) is None:
                yield match.group().strip(), deed


def _is_unseen(deed: str, reading: Reading, moment: int) -> bool:
    """Whether no call before the moment shows the deed, or can hide it."""
    [trace] = [trace for name, _, trace in _DEEDS if name == deed]
    known = "\n".join(_shown(act) for act in reading.acts if act.moment < moment)
    return trace.search(known) is None and _HIDDEN.search(known) is None


def _has_command_line(reading: Reading) -> bool:
    offered = (
        tool.parameters.get("properties") for tool in reading.evidence.tools if tool.name in reading.evidence.allowed
    )
    return any(_is_command(act) for act in reading.acts) or any(
        isinstance(properties, dict) and not _COMMANDS.isdisjoint(properties) for properties in offered
    )


def _is_command(act: Act) -> bool:
    return not _COMMANDS.isdisjoint(act.call.arguments or ())


def _shown(act: Act) -> str:
    """A command with what it printed, the name alone of another tool: a file that was read tells of no deed."""
    if not _is_command(act):
        return act.call.name.casefold()
    asked = [act.call.unparsed or ""] if act.call.arguments is None else texts(act.call.arguments)
    answer = [] if act.seen is None else texts(act.seen.content)
    return "\n".join((act.call.name, *asked, *answer)).casefold()


def _delegates(reading: Reading) -> bool:
    return any(call.delegated_to is not None for step in reading.steps for call in step.calls)


# What a claim is held against: the deeds that calls have done so far, and those that the tools offer; see `claims`.

_FRUITLESS: Final = re.compile(
    r"\b(?:fail\w*|errors?|unable|(?:could|can)(?:n't| not)|cannot|nothing|timed out|"
    r"no (?:results?|answers?|luck|matches)|without (?:success|results?))\b"
)
IRREGULAR: Final = {
    "sent": "send",
    "made": "make",
    "paid": "pay",
    "given": "give",
    "set": "set",
    "reset": "reset",
    "put": "put",
    "written": "write",
    "wrote": "write",
    "bought": "buy",
    "sold": "sell",
    "frozen": "freeze",
    "froze": "freeze",
    "withdrawn": "withdraw",
    "withdrew": "withdraw",
}
_WORDS: Final = re.compile(r"[a-z]{3,24}")
_PRONOUN: Final = re.compile(r"\b(?:it|them|everything|this|these|those|both)\b")
_LIKE: Final = (
    frozenset({"update", "modify", "change", "edit", "set", "adjust", "replace", "swap", "upgrade", "downgrade"}),
    frozenset({"exchange", "replace", "swap", "modify", "change"}),
    frozenset({"cancel", "delete", "remove", "void", "terminate", "close", "unsubscribe"}),
    frozenset({"return", "refund"}),
    frozenset({"book", "reserve", "rebook"}),
    frozenset(
        {"import", "insert", "create", "add", "place", "open", "order", "update", "modify", "schedule", "file", "raise"}
    ),
    frozenset({"send", "issue", "notify", "email", "message", "post"}),
    frozenset({"enable", "activate", "toggle", "turn", "restore"}),
    frozenset({"disable", "deactivate", "suspend", "toggle", "turn", "pause"}),
)
_OF_ANYTHING: Final = frozenset({"post", "publish", "push", "commit", "deploy", "merge", "upload", "email", "notify"})
"""Verbs whose object is a text or a thing of any name: "posted the changelog" is done by `slack.post_message`."""
_DONE: Final = frozenset({"completed", "processed", "submitted", "applied", "finalized", "initiated", "made"})
"""Said of any request."""
_MUTE: Final = frozenset({"think", "plan", "final"})
"""Verbs of tools whose answers tell nothing."""
LOOKED: Final = frozenset(
    {"checked", "searched", "verified", "retrieved", "confirmed", "queried", "tested", "executed", "ran", "found"}
)


class Offered:
    """The verbs of the tools that write, by what they act on."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        self._tools = tuple(tools)

    @cached_property
    def _verbs(self) -> list[tuple[str, frozenset[str]]]:
        return [(deed, objects_of(tool)) for tool in self._tools for deed in sorted(deeds_of(tool))]

    @cached_property
    def objects(self) -> frozenset[str]:
        return frozenset[str]().union(*(objects for _, objects in self._verbs))

    def verbs_for(self, said: set[str] | None) -> frozenset[str]:
        """Those of the tools that act on something that a sentence names: of others it claims nothing."""
        return frozenset(
            verb for verb, objects in self._verbs if not (said and objects) or objects & said or verb in _OF_ANYTHING
        )


class DoneDeeds:
    """What calls have done, growing step by step."""

    def __init__(self, acts: Iterable[Act]) -> None:
        self._successes = iter([act for act in acts if act.told_error is None])
        self._upcoming = next(self._successes, None)
        self._deeds: set[tuple[str, frozenset[str]]] = set()
        self._wrote = self._read = False

    def until(self, moment: int) -> None:
        """Adds the calls before the moment, which must not fall."""
        while self._upcoming is not None and self._upcoming.moment < moment:
            act = self._upcoming
            self._deeds |= _deeds(act)
            self._read = self._read or _tells(act)
            self._wrote = self._wrote or act.writes or act.tool is None or is_hand_over(act.call.name)
            self._upcoming = next(self._successes, None)

    def bears_out(self, participle: str, sentence: str, offered: Offered) -> bool:
        """Whether what a sentence claims may be true."""
        if participle in LOOKED:
            return self._read or _FRUITLESS.search(sentence) is not None
        things = _things_in(sentence)
        done = _done_to(participle, things, self._deeds)
        return not _is_false(participle, offered.verbs_for(things), done, wrote=self._wrote)


def _things_in(sentence: str) -> set[str] | None:
    """The words of a sentence that can name what is acted on; None: it may be about anything."""
    if _PRONOUN.search(sentence) is not None:
        return None
    return {singular(word) for word in _WORDS.findall(sentence)}


def _done_to(participle: str, said: set[str] | None, done: Collection[tuple[str, frozenset[str]]]) -> frozenset[str]:
    """Verbs of what was done, without the claimed one where it was done to something else than the sentence names."""
    return frozenset(
        verb
        for verb, objects in done
        if not (said and objects) or objects & said or verb in _OF_ANYTHING or not _says(participle, verb)
    )


def _deeds(act: Act) -> set[tuple[str, frozenset[str]]]:
    """(verb, what the tool acts on; empty: not known)."""
    if act.tool is None:
        return {(action_of(act.call.name), frozenset())}
    return {(verb, objects_of(act.tool)) for verb in deeds_in(act.tool, act.call.arguments)}


def _tells(act: Act) -> bool:
    """Whether a call can have told the agent anything: thinking and handing in do not."""
    return not hands_in(act.call.name) and action_of(act.call.name) not in _MUTE


def _is_false(participle: str, offered: frozenset[str], done: frozenset[str], *, wrote: bool) -> bool:
    if participle in _DONE:
        return not wrote and bool(offered)
    if any(_says(participle, verb) for verb in done):
        return False
    like = _like(participle)
    if any(_says(participle, verb) for verb in offered):
        return not like & done
    return bool(like & offered) and not wrote  # a word of like meaning may be said of many a write


@lru_cache(maxsize=1024)
def _like(participle: str) -> frozenset[str]:
    """Verbs of like meaning."""
    return frozenset[str]().union(*(group for group in _LIKE if any(_says(participle, verb) for verb in group)))


def _says(participle: str, verb: str) -> bool:
    if len(verb) < 3:
        return False
    stem = verb[:-1] if verb[-1] in "ey" else verb
    return IRREGULAR.get(participle) == verb or (participle.startswith(stem) and len(participle) <= len(stem) + 4)


_CLAIM_SENTENCE: Final = re.compile(r"[^.!?\n]{1,600}[.!?]?")
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
_NO_CLAIM_OF_DEED: Final = re.compile(
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
        for verb, words, sentence in _claimed_deeds(words_by_step[step.index], offered):
            if verb in found or done.bears_out(verb, sentence, offered):
                continue
            if not told.include(verb, words, sentence, moment):
                found[verb] = finding("claimed_call", step, f"says {words!r}; no call had done it", 0.8)
    return tuple(found.values())


def _claimed_deeds(message: str, offered: Offered) -> Iterator[tuple[str, str, str]]:
    """(participle, words, sentence) of what is said to have been done."""
    said = message.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    researches = any(map(said.__contains__, _OF_RESEARCH))
    impersonal = (_PASSIVE,) if any(map(said.__contains__, _OF_PASSIVE)) else ()
    patterns = (_ACTIVE, *((_ABLE,) if any(map(said.__contains__, _OF_ABLE)) else ()), *impersonal)
    for sentence in _CLAIM_SENTENCE.findall(said):
        if sentence.endswith("?"):
            continue
        researched = _RESEARCHED.search(sentence) if researches else None
        if researched is not None and _TO_COME.search(sentence) is None:
            yield "searched", researched.group(), sentence
        for pattern in patterns if _is_of_agent(sentence) else impersonal:
            for match in pattern.finditer(sentence):
                if _is_deed(match, offered) and _NO_CLAIM_OF_DEED.search(sentence, 0, match.start()) is None:
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
    """Tool hallucination, the two kinds that words show: a call that was claimed and never made, a result made up.

    `claimed_call` counts: the agent says that something was done ("I have cancelled", "has been booked") that one of
    the declared write tools does by its name or description, and no tool of like meaning had succeeded before; or, in
    words of like meaning or in general ("completed", "submitted"), and no write at all had succeeded; or that it has
    looked something up ("I have checked", "after a search", "my research shows"), and no call that could have told it
    anything had succeeded. A write of the same verb on something else ("cancelled your subscription" after
    `cancel_order`, where a tool for subscriptions is declared) and one that was answered by an error without a flag are
    none that had done it. Does not count: an offer, a question, what stands behind a condition or a denial in the same
    sentence, or is reported of somebody else ("your bank says"); something that no tool does ("a summary below", "my
    mind"); a look-up that is said to have failed; a claim after a like write succeeded, however wrong its arguments
    (what is posted, pushed or mailed may have any name: there the verb alone decides); a state that an answer had told
    ("has been cancelled" after `"status": "cancelled"`, of the same identifiers where the sentence has some).

    `fabricated_result` counts: an identifier in a message of the agent that nothing given to it had contained, nor any
    of its own calls in any spelling (`KX-998-124` for `KX998124`); or a tool's answer written by the agent itself in
    the middle of its message ("Observation:", "API output:", `<tool_response>`). Does not count: amounts, dates and
    words; a number that the message computes; code and quotations; identifiers offered as an example ("such as",
    "e.g.").

    Origin: the message. Dependent steps: none.

    What an agent with a command line says it has done by it, held against the commands: of the kind `claimed_call`.

    Counts: the agent says that it has run the tests (or that all of them pass), pushed, committed, or opened a pull or
    merge request, and no word of that stands in any of its commands, in what they printed, or in the name of another
    tool that it called, until then. Does not count: what it denies, offers, or puts under a condition; a run that
    starts a script or a build tool whose commands no log shows (`./release.sh`, `make`, `npm run`); a run in which a
    sub-agent was given work.

    Origin: the message. Dependent steps: none.
    """

    name: ClassVar[str] = "claims"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        calls = claimed_calls(reading)
        told = {one.origin_step for one in calls}
        commands = (one for one in claimed_commands(reading) if one.origin_step not in told)
        return (*calls, *commands, *fabricated_results(reading))
