"""What a claim is held against: the deeds that calls have done so far, and those that the tools offer; see `claims`."""

import re
from collections.abc import Collection, Iterable
from functools import cached_property, lru_cache
from typing import Final

from harness.case import ToolSpec, action_of, deeds_in, deeds_of, objects_of, singular
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.handing_over import hands_in, is_hand_over

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
