"""Checks that the process followed declared rules, whatever its result."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from pydantic import Field, field_validator

from harness.scoring.evidence import Evidence
from harness.scoring.json_values import json_contains
from harness.suite.suites import Suite
from harness.traces.trajectory import Step
from harness.values import Frozen, JsonObject

# A trajectory as a row of events, for process rules: calls by tool name, and what else happens in a trial.
#
# <tool>         a call of the tool, however it was answered; `tool:<name>` names one that is called like an event
# reply          the agent spoke to the user          answer        its last reply, if it gave a final answer
# user           the user spoke                       error         a call was answered with an error
# plan_create    the agent stated its first plan      plan_update   it stated a later one
# compaction     the context was cut down: a system message in the midst of the trial that speaks of it, a line of a
#                thought that begins with it ("Compacting: ...", "Context compacted"), not one that weighs it, or a
#                model reply of one agent whose input is less than half of that of its reply before

EVENTS: Final = frozenset({"reply", "answer", "user", "error", "plan_create", "plan_update", "compaction"})
_COMPACTION: Final = re.compile(
    r"\bcompact(?:ed|ion|ing)?\b|\bsummary of (?:the |this )?(?:conversation|context)", re.I
)
_ANNOUNCED: Final = re.compile(
    r"^[\s*#>(\[]{0,4}(?:(?:(?:i'm|i am|i have|i've|i|now|the|my|context|conversation|history|was|is|has been) ){0,5}"
    r"(?:compacted|compacting)\b|compaction(?=\s*(?:[:.)\]]|done\b|$))|"
    r"summary of (?:the |this |our )?(?:conversation|context)\b)",
    re.I | re.M,
)


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that happened."""

    name: str
    step: int
    is_call: bool = False
    arguments: JsonObject | None = None


def events(evidence: Evidence) -> tuple[Event, ...]:
    """In order; what happens in one step: the compaction before it, its plan, its calls and errors, its reply."""
    return evidence.once(_events)


def _events(evidence: Evidence) -> tuple[Event, ...]:
    found: list[Event] = []
    planned = False
    compactions = _Compactions()
    for step in evidence.trial.trajectory.steps:
        if compactions.at(step):
            found.append(Event(name="compaction", step=step.index))
        if step.plan is not None:
            found.append(Event(name="plan_update" if planned else "plan_create", step=step.index))
            planned = True
        found.extend(_of_step(step))
    last = next((event for event in reversed(found) if event.name == "reply" and not event.is_call), None)
    if last is not None and evidence.answered:
        found.insert(found.index(last) + 1, Event(name="answer", step=last.step))
    elif evidence.answered:
        found.append(Event(name="answer", step=found[-1].step if found else 0))
    return tuple(found)


def _of_step(step: Step) -> Iterator[Event]:
    failed = {seen.call_id for seen in step.observations if seen.error is not None}
    for call in step.calls:
        yield Event(name=call.name, step=step.index, is_call=True, arguments=call.arguments)
        if call.id in failed:
            yield Event(name="error", step=step.index)
    if step.message is not None and not step.calls and step.source != "system":
        yield Event(name="user" if step.source == "user" else "reply", step=step.index)


class _Compactions:
    """Recognises them step by step; one that was announced is not counted again if its effect is seen."""

    def __init__(self) -> None:
        self._inputs: dict[str | None, int] = {}
        self._acted = self._announced = False

    def at(self, step: Step) -> bool:
        announced = self._says_so(step)
        shrinks = self._shrinks(step)
        known = shrinks and self._announced
        if shrinks:
            self._announced = False
        self._announced = self._announced or announced
        self._acted = self._acted or step.source == "agent"
        return announced or (shrinks and not known)

    def _says_so(self, step: Step) -> bool:
        if step.source == "system":
            return self._acted and _COMPACTION.search(step.message or "") is not None
        return step.source == "agent" and _ANNOUNCED.search(step.thought or "") is not None

    def _shrinks(self, step: Step) -> bool:
        now = None if step.usage is None else step.usage.input_tokens
        if step.source != "agent" or now is None:
            return False
        before = self._inputs.get(step.agent)
        self._inputs[step.agent] = now
        return before is not None and 2 * now < before


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

    `A before B`: wherever B happens, A has happened earlier (when B never happens it holds). `never A after B`; `never
    A before B`: no A until the first B. `require A`, `require A 2 times`; `A at most 2 times`; `never A`.
    `harness.scoring.verifiers.rules` lists the events. The credit is the share of rules that hold.
    """

    version: ClassVar[str] = "3"

    rules: tuple[str, ...] = Field(min_length=1)
    """Process rules, each a line in the words above; all of them must hold."""

    @field_validator("rules")
    @classmethod
    def _readable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            _parsed_rule(text)
        return value

    def problem_in(self, suite: Suite) -> str | None:
        """Explains why this check cannot work in its suite; None if it can."""
        known = {tool.name for tool in suite.tools} | EVENTS
        for text in self.rules:
            rule = _parsed_rule(text)
            for named in (rule.first, rule.second):
                if named is not None and not named.only_call and named.name not in known:
                    return (
                        f"with.rules: {text!r} names {named.name!r}, which is neither a tool of the suite nor an event "
                        f"({', '.join(sorted(EVENTS))}); a tool of the agent's own is tool:{named.name}"
                    )
        return None

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        row = events(evidence)
        broken = [(rule.text, _problem(rule, row)) for rule in map(_parsed_rule, self.rules)]
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


def _parsed_rule(text: str) -> Rule:
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
        first=_named_event(text, found.group(1)),
        second=None if second is None else _named_event(text, second),
        count=count,
    )


def _named_event(text: str, event: str) -> Named:
    name, brace, rest = event.partition("{")
    try:
        arguments = json.loads(brace + rest) if brace else {}
    except (ValueError, RecursionError):
        raise ValueError(f"{text!r}: {brace + rest!r} is not a JSON object") from None
    plain = name.strip()
    return Named(name=plain.removeprefix("tool:"), arguments=arguments, only_call=plain.startswith("tool:"))
