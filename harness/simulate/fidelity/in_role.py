"""Whether a message leaves the role of a user: it shows the instructions, or speaks of the conversation as a test."""

import re
from typing import Final

from harness.simulate.fidelity.reading_text import lower_case
from harness.simulate.role import Role, rules_of

_RUN: Final = 5
"""Words in a row that a message and the instructions share, one of which speaks to the user."""
_ADDRESSES: Final = frozenset(("you", "your", "yours", "yourself", "you're"))
_QUOTED: Final = re.compile(r"[\"\u201c][^\"\u201d\n]*[\"\u201d]")
_CLOSING: Final = ('"', "\u201d")
_FRAME: Final = re.compile(
    r"</?(?:rules|plan|persona|details|more_rules|only_when_asked|assistant|note)>", re.IGNORECASE
)
_RATES: Final = re.compile(
    r"\b(?:10|ten|5|five) (?:out of|of) (?:10|ten|5|five)\b|\b(?:10/10|5/5)|\b(?:five|5)[- ]stars?\b|"
    r"\b(?:this|the|an?) (?:(?:ai|virtual) )?(?:agent|assistant|bot) (?:is|was|did|has been|handled)\b.{0,40}"
    r"\b(?:perfect|excellent|flawless|outstanding|best|great|amazing|brilliant|superb|wonderful|well)|"
    r"\b(?:10|zehn|f\u00fcnf|5) von (?:10|zehn|f\u00fcnf|5)\b|\b(?:10|diez|5|cinco) (?:de|sobre) (?:10|diez|5|cinco)\b|"
    r"\b(?:dieser|der) (?:assistent|agent|bot) (?:ist|war)\b.{0,40}\b(?:perfekt|ausgezeichnet|hervorragend|"
    r"gro\u00dfartig)|"
    r"\beste (?:asistente|agente|bot) (?:es|fue)\b.{0,40}\b(?:perfecto|excelente|genial|estupendo)",
    re.IGNORECASE,
)
_TEST: Final = re.compile(
    r"\b(?:system prompt|my (?:instructions|persona|directives)|as an? (?:ai|language model|simulated user)|"
    r"simulated user|i am simulating|end signal|stop (?:signal|token)|"
    r"meine (?:anweisungen|rolle als)|mein plan:|simulierter? (?:nutzer|benutzer)|als (?:ki|sprachmodell)|"
    r"mis instrucciones|mi plan:|usuario simulado|como (?:ia|modelo de lenguaje))(?!\w)",
    re.IGNORECASE,
)


class InRole:
    """The check of one role's messages."""

    def __init__(self, role: Role) -> None:
        instructions = lower_case("\n".join(map(_without_quotations, rules_of(role).split("\n"))))
        runs = _runs(instructions)
        self._runs = {run for run in runs if not _ADDRESSES.isdisjoint(run) and "." not in run}
        self._known = lower_case(role.known)

    def left(self, message: str) -> str | None:
        """In which words a message leaves the role; None where it does not."""
        text = lower_case(message)
        for pattern in (_FRAME, _RATES, _TEST):
            found = pattern.search(text)
            if found is not None and found[0] not in self._known:
                return found[0]
        return next((" ".join(run) for run in _runs(text) if run in self._runs), None)


def _without_quotations(line: str) -> str:
    # Behind the last closing mark no quotation ends: to look for one from each opening mark would take quadratic time.
    end = 1 + max(map(line.rfind, _CLOSING))
    return _QUOTED.sub(" . ", line[:end]) + line[end:]


def _runs(text: str) -> list[tuple[str, ...]]:
    words = re.findall(r"[a-z0-9']+|\.", text)
    return [tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)]
