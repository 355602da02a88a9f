"""Checks that the process followed declared rules, whatever its result."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from pydantic import Field, field_validator

from harness.case import Suite
from harness.score.comparison.jsonvalue import json_contains
from harness.score.events import EVENTS, Event, events
from harness.score.evidence import Evidence
from harness.values import Frozen, JsonObject

_EVENT: Final = r"((?:tool:)?[A-Za-z_][\w.-]*(?:\s*\{.*\})?)"
_FORMS: Final[dict[str, re.Pattern[str]]] = {
    "never_after": re.compile(rf"never\s+{_EVENT}\s+after\s+{_EVENT}"),
    "never_before": re.compile(rf"never\s+{_EVENT}\s+before\s+{_EVENT}"),
    "forbidden": re.compile(rf"(?:never|forbid)\s+{_EVENT}"),
    "at_least": re.compile(rf"require\s+{_EVENT}(?:\s+(\d+)\s+times?)?"),
    "at_most": re.compile(rf"{_EVENT}\s+at\s+most\s+(\d+)\s+times?"),
    "before": re.compile(rf"{_EVENT}\s+before\s+{_EVENT}"),
}
_HELP: Final = (
    "a rule is one of: A before B; never A after B; never A before B; require A; require A 2 times; A at most 2 times; "
    'never A. A and B are tools or events, such as lookup, plan_create or add{"item": "egg"}'
)


@dataclass(frozen=True, kw_only=True)
class Named:
    """An event by name, with arguments that it must at least have."""

    name: str
    arguments: JsonObject
    only_call: bool

    def fits(self, event: Event) -> bool:
        if event.name != self.name or (self.only_call and not event.is_call):
            return False
        return not self.arguments or json_contains(event.arguments, self.arguments)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule, read."""

    text: str
    form: str
    first: Named
    second: Named | None
    count: int


class Rules(Frozen):
    """`rules` in a short notation, each of which must hold.

    `A before B`: wherever B happens, A has happened earlier (where B never happens it holds). `never A after B`; `never
    A before B`: no A until the first B. `require A`, `require A 2 times`; `A at most 2 times`; `never A`.
    `harness.score.events` lists the events. The credit is the share of rules that hold.
    """

    version: ClassVar[str] = "2"

    rules: tuple[str, ...] = Field(min_length=1)
    """Process rules, each a line in the words above; all of them must hold."""

    @field_validator("rules")
    @classmethod
    def _readable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            _read(text)
        return value

    def problem_in(self, suite: Suite) -> str | None:
        """In words why this check cannot work in its suite; None where it can."""
        known = {tool.name for tool in suite.tools} | EVENTS
        for text in self.rules:
            rule = _read(text)
            for named in (rule.first, rule.second):
                if named is not None and not named.only_call and named.name not in known:
                    return (
                        f"with.rules: {text!r} names {named.name!r}, which is neither a tool of the suite nor an event "
                        f"({', '.join(sorted(EVENTS))}); a tool of the agent's own is tool:{named.name}"
                    )
        return None

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        row = events(evidence)
        broken = [(rule.text, _problem(rule, row)) for rule in map(_read, self.rules)]
        problems = [f"{text!r}: {problem}" for text, problem in broken if problem is not None]
        credit = 1 - len(problems) / len(self.rules)
        words = "; ".join(problems) or f"all {len(self.rules)} rules hold"
        return not problems, words, {"credit": credit, "broken": [text for text, problem in broken if problem]}


def _problem(rule: Rule, row: Sequence[Event]) -> str | None:
    first = [place for place, event in enumerate(row) if rule.first.fits(event)]
    second = [place for place, event in enumerate(row) if rule.second is not None and rule.second.fits(event)]
    match rule.form:
        case "before":
            wrong = bool(second) and (not first or first[0] > second[0])
            return f"{_where(row, second[0])} came first" if wrong else None
        case "never_after":
            wrong = bool(first) and bool(second) and first[-1] > second[0]
            return f"{_where(row, first[-1])} came after {_where(row, second[0])}" if wrong else None
        case "never_before":
            wrong = bool(first) and (not second or first[0] < second[0])
            return f"{_where(row, first[0])} came before" if wrong else None
        case "at_least":
            return None if len(first) >= rule.count else f"it happened {len(first)} times"
        case "forbidden" | "at_most":
            return None if len(first) <= rule.count else f"it happened {len(first)} times, {_where(row, first[-1])}"
        case other:
            raise AssertionError(other)


def _where(row: Sequence[Event], place: int) -> str:
    return f"{row[place].name} (step {row[place].step})"


def _read(text: str) -> Rule:
    for form, pattern in _FORMS.items():
        found = pattern.fullmatch(text.strip())
        if found is not None:
            return _rule(text, form, found)
    raise ValueError(f"{text!r} is not a rule; {_HELP}")


def _rule(text: str, form: str, found: re.Match[str]) -> Rule:
    others: Sequence[str | None] = found.groups()[1:]
    second = others[0] if form in ("before", "never_after", "never_before") and others else None
    count = int(others[0] or 1) if form in ("at_least", "at_most") else 0
    return Rule(
        text=text,
        form=form,
        first=_named(text, found.group(1)),
        second=None if second is None else _named(text, second),
        count=count,
    )


def _named(text: str, event: str) -> Named:
    name, brace, rest = event.partition("{")
    try:
        arguments = json.loads(brace + rest) if brace else {}
    except (ValueError, RecursionError):
        raise ValueError(f"{text!r}: {brace + rest!r} is not a JSON object") from None
    plain = name.strip()
    return Named(name=plain.removeprefix("tool:"), arguments=arguments, only_call=plain.startswith("tool:"))
