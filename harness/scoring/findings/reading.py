"""A trial read once for all facts: the agent's calls with what came of them, and what the agent had been given when.

Moments order what happened: step number `n` of the trajectory acts at moment `2 n`, and its observations are there
from moment `2 n + 1`; parallel calls therefore do not see each other's answers.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final

from pydantic import JsonValue

from harness.scoring.arguments import call_keys
from harness.scoring.evidence import Evidence, once
from harness.scoring.json_values import equality_key
from harness.suite.tool_words import bare_name, words_of
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Observation, Step, ToolCall
from harness.values import canonical_json

# Words and values.

_DEPTH: Final = 16
"""Values nested deeper are not looked into."""
_ATOM: Final = re.compile(r"[^\W_]+")
_SPACED: Final = "".join(char.lower() if char.isalnum() else " " for char in map(chr, range(128)))
"""ASCII with a space for whatever is not part of an atom, which is found three times quicker that way."""


def atoms(text: str) -> list[str]:
    """Runs of letters and digits, case folded."""
    return text.translate(_SPACED).split() if text.isascii() else _ATOM.findall(text.casefold())


def texts(value: JsonValue, *, keys: bool = False) -> list[str]:
    """Every text and number of a JSON value as text, in order; `keys`: the names of members too."""
    found: list[str] = []
    _collect(value, 0, found, keys)
    return found


def _collect(value: JsonValue, depth: int, found: list[str], keys: bool) -> None:
    """Written for speed, texts first and without a call: answers are by far the longest part of a trajectory."""
    if isinstance(value, dict | list):
        if depth < _DEPTH:
            if keys and isinstance(value, dict):
                found.extend(value)
            for item in value.values() if isinstance(value, dict) else value:
                if type(item) is str:
                    found.append(item)
                elif item is not None:
                    _collect(item, depth + 1, found, keys)
    elif value is not None and not isinstance(value, bool):
        found.append(str(value))


def opened(content: JsonValue) -> JsonValue:
    """Text that is JSON as JSON."""
    if not isinstance(content, str) or content.lstrip()[:1] not in ("{", "["):
        return content
    try:
        found: JsonValue = json.loads(content)
    except (ValueError, RecursionError):
        return content
    return found


# Identifiers: names that some system gave out, as `W2378156`, `mia_li_3668`, `ZFA04Y`.
#
# Words, dates and amounts are rightly inferred or computed; identifiers are not. What looks like one and is none:
# dates, times, durations, versions, sizes, round numbers, names of files.

_IDENTIFIER: Final = re.compile(r"#?[A-Za-z0-9][A-Za-z0-9_.@:+-]{3,63}")
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_YEAR: Final = r"(?:19|20)\d\d"
_NO_NAME: Final = re.compile(
    "|".join(
        (
            r"\d{1,4}[-.:]\d{1,2}([-.:]\d{1,4})?(T[\d:.+Z-]*)?|[NSEW]?\d+\.\d+[NSEW]?",  # dates, times, places
            rf"{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[T_-]?\d{{4,6}}Z?)?",  # dates without marks
            rf"(?:(?:\d\d?|{_YEAR})[-_.]?)?{_MONTH}[-_.]?(?:\d\d?|{_YEAR})(?:[-_.]?(?:\d\d|{_YEAR}))?",
            r"[+-]?\d+(?:\.\d+)?[eE][+-]?\d+|\d+(?:-|\.\.|:)\d+",  # exponents, ranges
            r"v?\d+(?:\.\d+)+[a-z0-9.+-]*|\d+(?:st|nd|rd|th|s)",  # versions, ordinals
            r"[a-z]{2,5}-\d{4}s?|#?\d+[a-zA-Z]{1,4}|(?:[A-Z]{3})\d+(?:[.,]\d+)*",  # years, units, amounts
            r"P(?:\d+[YMWD])*(?:T(?:\d+[HMS])+)?|(?:\d+(?:d|h|hrs?|m|min|s|secs?|ms))+",  # durations
            r"\d+x\d+(?:x\d+)?|\d{3,4}[pi]\d{2,3}|(?-i:\d+-[a-z]{3,})",  # sizes, counted things
            r"(?:U\+|\\?x|0x)[0-9a-fA-F]{2,8}|\d{1,2}:\d\d(?:am|pm)?",  # characters, clock times
            rf"{_YEAR}(?:[-/](?:19|20)?\d\d)?|[1-9]\d{{0,5}}0{{3,9}}",  # years, round numbers
            rf"(?:[FC]Y|[QH][1-4][-/]?)(?:19|20)?\d\d|{_YEAR}[-/]?(?:W\d\d?|[QH][1-4])",  # quarters
            r"[a-z]{2,7}[-_]?\d{1,5}(?:[-_:.]\d{1,4})+|(?:iso|rfc|utf|sha|md|base|aes|rsa|cp)[-_]?\d{1,5}",  # standards
            r"[\w.+-]+\.[a-z][a-z0-9]{1,5}",  # files
        )
    ),
    re.I,
)


def is_identifier(value: str) -> bool:
    """Whether it looks like a name that some system gave out; no date, amount, file or word."""
    return _IDENTIFIER.fullmatch(value) is not None and _is_given_out(value)


@lru_cache(maxsize=4096)
def _is_given_out(word: str) -> bool:
    return _NO_NAME.fullmatch(word) is None and any(map(_is_code, _ATOM.findall(word)))


def _is_code(atom: str) -> bool:
    digits = sum(map(str.isdigit, atom))
    if not digits:
        return len(atom) == 6 and atom.isupper()  # a booking reference has six capitals
    if digits == len(atom):
        return digits >= 4
    return len(atom) >= 4 and (digits >= 3 or (len(atom) >= 5 and atom.upper() == atom))


def identifiers(value: JsonValue, depth: int = 0) -> Iterator[str]:
    """The identifiers among a value's texts, in order; a number in JSON is a number."""
    if isinstance(value, str):
        if is_identifier(value):
            yield value
    elif isinstance(value, dict | list) and depth < _DEPTH:
        for item in value.values() if isinstance(value, dict) else value:
            yield from identifiers(item, depth + 1)


# What the agent had been given, and when: the task, its prompts, the user's words, the answers of tools.

NEVER: Final = 1 << 60
_PREFIXED: Final = re.compile(r"[a-z]{1,3}(\d{4,})")
"""People leave the letters of `W2378156` out."""
_SHORTEST: Final = 4
"""A shorter atom has look-alikes by chance."""
_LONG: Final = 5
"""From here on, or if the rest of the value is known, two wrong characters still make a look-alike."""


class Given:
    """When each atom of what the agent had been given first stood there."""

    def __init__(self) -> None:
        self._since: dict[str, int] = {}
        self._texts: list[tuple[int, str]] = []
        self._letters: list[tuple[int, str]] | None = None

    def take(self, text: str, moment: int) -> None:
        """Moments may not fall from one text to the next."""
        self._texts.append((moment, text))
        since = self._since
        for atom in set(atoms(text)).difference(since):
            since[atom] = moment
            if atom[-1].isdigit() and (bare := _PREFIXED.fullmatch(atom)) is not None:
                since.setdefault(bare[1], moment)

    def take_known(self, known: Mapping[str, int]) -> None:
        """Atoms of texts that many trials share; before all others."""
        self._since.update(known)

    def since(self, value: str) -> int:
        """The moment from which on the value was known, in any spelling; NEVER if it is not."""
        found = max(map(self._first, atoms(value)), default=-1)
        return found if found < NEVER else self._spelled("".join(atoms(value)))

    def unknown(self, values: Mapping[str, int]) -> list[str]:
        """Those of the values that were not known at their moments."""
        return [value for value, moment in values.items() if self.since(value) > moment]

    def first_given(self, values: Iterable[str], moment: int) -> set[str]:
        """Those of the values that were known from this moment on."""
        return {value for value in values if self.since(value) == moment}

    def lookalike(self, value: str, moment: int) -> str | None:
        """What was given before `moment` and differs from the value in one or two characters, as atoms."""
        parts = atoms(value)
        unknown = [atom for atom in parts if self._first(atom) >= moment]
        if len(unknown) != 1 or len(unknown[0]) < (_SHORTEST if len(parts) == 1 else _SHORTEST - 1):
            return None
        wrong = unknown[0]
        bare = _PREFIXED.fullmatch(wrong)
        most = 2 if len(wrong) >= _SHORTEST and (len(parts) > 1 or len(wrong) >= _LONG) else 1
        for known, since in self._since.items():
            for reading in (wrong,) if bare is None else (wrong, bare[1]):
                near = -1 <= len(known) - len(reading) <= 1 and since < moment
                if near and _are_alike(known, reading, most):
                    return known
        return None

    def _first(self, atom: str) -> int:
        found = self._since.get(atom, NEVER)
        bare = _PREFIXED.fullmatch(atom)
        return found if bare is None else min(found, self._since.get(bare[1], NEVER))

    def _spelled(self, letters: str) -> int:
        """`KX-998-124`, `K X 9 9 8 1 2 4` and `kx998124` are one, and so are numbers with separators of thousands."""
        if len(letters) < _LONG or not any(map(str.isdigit, letters)):
            return NEVER
        if self._letters is None or len(self._letters) < len(self._texts):
            self._letters = [(moment, "".join(atoms(text))) for moment, text in self._texts]
        return next((moment for moment, text in self._letters if letters in text), NEVER)


def _are_alike(known: str, wrong: str, most: int) -> bool:
    if len(known) == len(wrong):
        unlike = [(a, b) for a, b in zip(known, wrong, strict=True) if a != b]
        return 0 < len(unlike) <= most and all(a.isdigit() == b.isdigit() for a, b in unlike)
    if len(wrong) <= _SHORTEST:
        return False
    longer, shorter = sorted((known, wrong), key=len, reverse=True)
    same = next((n for n, (a, b) in enumerate(zip(longer, shorter, strict=False)) if a != b), len(shorter))
    return longer[same + 1 :] == shorter[same:]


# When one thing is the same again: the normal forms in which calls and answers are compared.
#
# Agents seldom repeat themselves to the letter: a comment in the code, a wait, a clock time in the output differ. What
# is levelled here is only what cannot matter to the task; numbers and names are kept.

_CLOCK: Final = re.compile(
    r"\d(?:\d{3}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?Z?"
    r"|(?<!\w\d)(?:\d?:\d\d:\d\d(?:[.,]\d{1,9})?|\d{0,8}(?:\.\d{1,9})? ?(?:ms|s|sec|secs|seconds|milliseconds)\b"
    r"|(?<=0)x[0-9a-fA-F]{4,16}\b))"
)
"""Times, durations, addresses. All begin with the digit, so that other characters are passed over quickly."""
_REQUEST: Final = r"request|trace|span|correlation|query|search|call|response|invocation|execution"
_NUMBERED: Final = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b1[5-9]\d{8}(?:\d{3}){0,2}(?:\.\d+)?\b"
    rf"|\\?\"(?:(?:{_REQUEST})_?id|nonce|etag|timestamp|ts|\w{{1,20}}_at|server_time|(?:took|elapsed|latency)(?:_m?s)?)"
    r"\\?\":\s?(?:\\?\"[^\"\\]{0,80}\\?\"|[\d.]{1,20})"
    rf"|\b(?:{_REQUEST}|attempt|try) ?(?:id|no\.?|number)? ?[:#=]? ?\d{{1,9}}\b",
    re.I,
)
"""What tells one answer of a read from the next and nothing of what was asked: numbers and times of the request."""
_COMMENT: Final = re.compile(r"(?m)(?:^|\s)(?:#|//)[^\n]*$")
_WAIT: Final = re.compile(r"\b(?:time\.)?sleep ?\(? ?[\d.]{1,9} ?\)?")
_LONG_TEXT: Final = 40
"""Shorter texts are taken as they are: a number sign there is an order number, not a comment."""
CODE: Final = frozenset({"command", "cmd", "code", "script", "commands"})


def settled(text: str) -> str:
    """An answer without clock times, durations and addresses, which differ though nothing changed."""
    return " ".join(_CLOCK.sub("~", text).split())


def _gist(text: str, is_code: bool) -> str:
    """What a text asks without comments, waits and layout, if it is code or long enough to be any."""
    if not is_code and len(text) < _LONG_TEXT and "\n" not in text:
        return text
    return " ".join(_WAIT.sub("wait", _COMMENT.sub("", text)).split()).casefold()


# Errors that an answer tells without being flagged as one: `{"error": "..."}`, `{"success": false}`, `Error: ...`.

_SAYS_ERROR: Final = re.compile(r"\s{0,8}(?:error|exception)\s?:", re.I)
_FAILED: Final = frozenset({"error", "failed", "failure", "rejected", "denied"})


def says_error(content: JsonValue, writes: bool) -> bool:
    """Whether an answer that is not flagged as an error says that it is one.

    The status that a read tells is the status of the thing that was read.
    """
    if isinstance(content, str):
        if _SAYS_ERROR.match(content) is not None:
            return True
        if content.lstrip()[:1] != "{" or not any(map(content.__contains__, ('"error"', '"success"', '"ok"', '"stat'))):
            return False
        content = opened(content)
    if not isinstance(content, dict):
        return False
    status = content.get("status")
    says_no = content.get("success") is False or content.get("ok") is False
    failing = isinstance(status, str) and status.casefold() in (_FAILED if writes else ("error",))
    return bool(content.get("error")) or says_no or failing


# Handing over to a person, and handing in the answer: known by the tool's name, since no tool declares it.

_ALWAYS: Final = frozenset({"escalate", "handoff", "handover"})
_WITH_A_PERSON: Final = frozenset({"transfer", "hand", "forward", "route", "connect", "redirect"})
_PERSONS: Final = frozenset(
    {"human", "humans", "agent", "agents", "person", "operator", "representative", "specialist", "staff", "supervisor"}
    | {"support", "colleague", "team"}
)


@lru_cache(maxsize=4096)
def is_hand_over(tool: str) -> bool:
    """`transfer_to_human_agents`, `escalate`, `mcp__desk__handoffToSupport`, `human_transfer`; not `transfer_funds`."""
    words = words_of(bare_name(tool))
    if "hand" in words and words[words.index("hand") + 1 :][:1] in (("off",), ("over",)):
        return True
    return not _ALWAYS.isdisjoint(words) or not (_WITH_A_PERSON.isdisjoint(words) or _PERSONS.isdisjoint(words))


@lru_cache(maxsize=4096)
def hands_in(tool: str) -> bool:
    """`submit`, `finalAnswer`, `functions.finish`: the run's answer, which is rightly computed and changes nothing."""
    words = "".join(words_of(bare_name(tool)))
    return words in ("submit", "submitanswer", "finalanswer", "submitfinalanswer", "finish", "answer")


@dataclass(frozen=True, kw_only=True)
class Act:
    """One call of the agent and what came of it; the forms in which it is compared are made once."""

    number: int
    """Among the agent's calls, from 0."""
    step: int
    """The step's index."""
    moment: int
    call: ToolCall
    seen: Observation | None
    """None: what came back is not recorded."""
    tool: ToolSpec | None
    """None: no such tool is declared."""
    key: str
    """Equal for equal calls."""

    @cached_property
    def failed(self) -> bool:
        return self.seen is not None and self.seen.error is not None

    @cached_property
    def told_error(self) -> str | None:
        """What its answer says that failed, whether it is flagged as an error or not."""
        if self.seen is None:
            return None
        if self.seen.error is not None:
            return self.seen.error.message
        content = self.seen.content
        if not says_error(content, self.writes):
            return None
        return content if isinstance(content, str) else json.dumps(content)

    @cached_property
    def writes(self) -> bool:
        """Declared as one; a call of an undeclared tool is none, because nothing is known of it."""
        return self.tool is not None and self.tool.effect == "write"

    @cached_property
    def answer(self) -> str | None:
        """Equal for equal answers; None: not recorded."""
        if self.seen is None:
            return None
        kind = "" if self.seen.error is None else self.seen.error.type
        if self.seen.content is None and self.seen.error is not None:
            return f"{kind} {self.seen.error.message}"
        return f"{kind} {equality_key(self.seen.content)}"

    @cached_property
    def answer_key(self) -> str | None:
        """Equal for answers that tell the same; None: not recorded."""
        if self.answer is None:
            return None
        # what a write answers with may name what it made
        return settled(self.answer if self.tool is None or self.writes else _NUMBERED.sub("~", self.answer))

    @cached_property
    def argument_texts(self) -> tuple[str, ...]:
        """Every text and number among the arguments, in order."""
        return tuple(texts(self.call.arguments))

    @cached_property
    def is_code(self) -> bool:
        """Whether the call runs what the agent wrote."""
        return not CODE.isdisjoint(self.call.arguments or ())

    @cached_property
    def gist_key(self) -> str:
        """Equal for calls that ask for the same."""
        if self.call.arguments is None:
            return self.key
        if not self.is_code and all(len(text) < _LONG_TEXT and "\n" not in text for text in self.argument_texts):
            return self.key
        return f"{self.call.name} {' | '.join(_gist(text, self.is_code) for text in self.argument_texts)}"

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        return () if self.is_code else tuple(dict.fromkeys(identifiers(self.call.arguments)))


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What facts are read from."""

    evidence: Evidence
    acts: tuple[Act, ...]
    moments: dict[int, int]
    """Step index -> moment."""

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.evidence.trial.trajectory.steps

    @property
    def given(self) -> Given:
        return _given(self.evidence)

    @property
    def last_step(self) -> int | None:
        """The last one of the agent."""
        return next((step.index for step in reversed(self.steps) if step.source == "agent"), None)

    @cached_property
    def asked(self) -> Mapping[str, int]:
        """How often the same was asked, by `gist_key`."""
        return Counter([act.gist_key for act in self.acts])

    @cached_property
    def errors(self) -> tuple[Act, ...]:
        """The calls whose answers say that they failed."""
        return tuple([act for act in self.acts if act.told_error is not None])

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """The moments at which a user said something."""
        return tuple(self.moments[step.index] for step in self.steps if step.source == "user" and step.message)


def read(evidence: Evidence) -> Reading:
    """One pass over the trajectory, at most once for the same evidence."""
    reading = _read(evidence)
    return reading if reading.evidence is evidence else replace(reading, evidence=evidence)


@once
def _read(evidence: Evidence) -> Reading:
    tools = {tool.name: tool for tool in evidence.tools}
    keys = call_keys(evidence)
    acts: list[Act] = []
    moments: dict[int, int] = {}
    for place, step in enumerate(evidence.trial.trajectory.steps):
        moments[step.index] = 2 * place
        for call, seen in pairs(step) if step.source == "agent" and step.calls else ():
            if call.delegated_to is None:
                act = Act(
                    number=len(acts),
                    step=step.index,
                    moment=2 * place,
                    call=call,
                    seen=seen,
                    tool=tools.get(call.name),
                    key=keys[id(call)],
                )
                acts.append(act)
    return Reading(evidence=evidence, acts=tuple(acts), moments=moments)


def pairs(step: Step) -> list[tuple[ToolCall, Observation | None]]:
    """Calls with their observations: by id if all have ids that differ, else by position."""
    ids = [call.id for call in step.calls]
    if all(ids) and len(set(ids)) == len(ids):
        by_id = {seen.call_id: seen for seen in step.observations}
        return [(call, by_id.get(call.id)) for call in step.calls]
    padded: Sequence[Observation | None] = (*step.observations, *[None] * len(ids))
    return list(zip(step.calls, padded, strict=False))


@once
def _given(evidence: Evidence) -> Given:
    given, case, steps = Given(), evidence.case, evidence.trial.trajectory.steps
    given.take_known(_offered_atoms(evidence.tools))
    if not _is_opened_by_the_user(steps):
        given.take(case.task, -1)  # else the agent has it from the user, or it is the user's own hidden scenario
    if case.system:
        given.take_known(_atoms_of(case.system))  # a policy of many pages, which the cases of a suite share
    if case.user_profile:
        given.take(canonical_json(case.user_profile), -1)
    for place, step in enumerate(steps):
        if step.source != "agent":
            if step.message is not None:
                given.take(step.message, 2 * place)
            continue
        for seen in step.observations:
            given.take("\n".join(texts(_unescaped(seen.content), keys=True)), 2 * place + 1)
            if seen.error is not None:
                given.take(seen.error.message, 2 * place + 1)
    return given


def _unescaped(content: JsonValue) -> JsonValue:
    """Text that is JSON with escapes as JSON: an escaped line end is not a letter of the word behind it."""
    return opened(content) if isinstance(content, str) and "\\" in content else content


def _is_opened_by_the_user(steps: Sequence[Step]) -> bool:
    """Whether the user speaks before the agent's first call."""
    for step in steps:
        if step.source == "agent" and step.calls:
            return False
        if step.source == "user" and step.message:
            return True
    return False


@lru_cache(maxsize=16)
def _atoms_of(text: str) -> Mapping[str, int]:
    given = Given()
    given.take(text, -1)
    return given._since


_OFFERED: Final[dict[tuple[int, ...], tuple[tuple[ToolSpec, ...], Mapping[str, int]]]] = {}
"""By the identities of a suite's tools, which stand beside, so that no other objects can take their place."""
_MOST_SUITES: Final = 64


def _offered_atoms(tools: tuple[ToolSpec, ...]) -> Mapping[str, int]:
    key = tuple(map(id, tools))
    found = _OFFERED.get(key)
    if found is None:
        if len(_OFFERED) >= _MOST_SUITES:
            _OFFERED.clear()
        offered = "\n".join(text for tool in tools for text in _offered(tool.parameters))
        found = _OFFERED[key] = (tools, _atoms_of(offered))
    return found[1]


def _offered(schema: JsonValue, depth: int = 0) -> Iterator[str]:
    """The values that a schema offers; the examples in its prose are none that an agent may use."""
    if depth < _DEPTH and isinstance(schema, dict | list):
        for key, part in schema.items() if isinstance(schema, dict) else enumerate(schema):
            yield from texts(part) if key in ("enum", "const", "default") else _offered(part, depth + 1)
