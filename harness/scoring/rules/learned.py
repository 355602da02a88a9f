"""The file of a suite's learned rules, `suites/SUITE/rules.yaml`, and what a trial does with them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, field_validator

from harness.scoring.rules.candidates import SUITE, Scope
from harness.scoring.rules.events import Row
from harness.scoring.rules.language import NO_OCCASION, OF_THE_WHOLE, Rule, State, parsed_rule
from harness.scoring.rules.mining import Learned, Mined
from harness.suite.documents import read_document
from harness.values import Frozen

FILE: Final = "rules.yaml"
_HEAD: Final = """\
# Rules that all passing trials kept, written by `harness rules learn {suite}`; `--update` renews them.
# `pinned: true` keeps a rule in this file whatever is learned later, `pinned: false` switches one off.
# To make a rule a check of the suite, move its text to `with: {{rules: [...]}}` of a check `verifier: rules`.
"""


class LearnedRule(Frozen):
    """One rule, with the passing trials that kept it and gave it an occasion."""

    rule: str
    """In the notation of the check `rules`."""
    cases: int = Field(default=0, ge=0)
    """Cases of these trials."""
    trials: int = Field(default=0, ge=0)
    pinned: bool | None = None
    """True: kept whatever is learned later. False: not applied, and not learned again."""

    @field_validator("rule")
    @classmethod
    def _readable(cls, value: str) -> str:
        parsed_rule(value)
        return value


class RulesFile(Frozen):
    """The content of `rules.yaml`."""

    suite: tuple[LearnedRule, ...] = ()
    """Rules of every case."""
    category: dict[str, tuple[LearnedRule, ...]] = {}
    """Category -> the rules of its cases."""
    case: dict[str, tuple[LearnedRule, ...]] = {}
    """Case -> its rules."""

    @property
    def scopes(self) -> dict[Scope, tuple[LearnedRule, ...]]:
        """The rules by what they hold for, the widest first."""
        found = {SUITE: self.suite} if self.suite else {}
        found |= {Scope("category", name): rules for name, rules in self.category.items()}
        return found | {Scope("case", name): rules for name, rules in self.case.items()}


class RuleResult(Frozen):
    """What one trial did with one learned rule."""

    rule: str
    scope: Literal["suite", "category", "case"]
    state: State
    cases: int
    """The rule's support: passing cases and trials that it was learned from."""
    trials: int
    step: int | None = None
    """Where it was broken; None: it was not, or by something that did not happen in a trial without steps."""
    at_end: bool = False
    """Whether it was broken by what did not happen until the end: no step shows when it should have happened."""
    reason: str = ""

    @property
    def support(self) -> str:
        """In words."""
        cases = "1 case" if self.cases == 1 else f"{self.cases} cases"
        return f"held in {self.trials} of {self.trials} passing trials of {cases}"


def broken(rules: Iterable[RuleResult]) -> tuple[RuleResult, ...]:
    """The broken rules, the one that names best where the trial deviates first: those that a call breaks, by step,
    since what follows may be its consequence; then those that are broken by what did not happen until the end, the
    latest first. Of equals, the one with more support.
    """
    return tuple(sorted((one for one in rules if one.state == "broken"), key=_naming))


def _naming(one: RuleResult) -> tuple[bool, int, int, int]:
    step = -1 if one.step is None else one.step
    return one.at_end, -step if one.at_end else step, -one.cases, -one.trials


@dataclass(frozen=True, kw_only=True)
class Ruleset:
    """The rules of a suite, ready to be applied."""

    rules: Mapping[Scope, Sequence[tuple[LearnedRule, Rule]]]

    def results(
        self, row: Row, case: str, category: str, *, ended: bool = True, named_alone: bool = False
    ) -> tuple[RuleResult, ...]:
        """What a trial did with the rules of its case, its category and the suite.

        `ended`: whether the row has all that the agent would have done; else nothing is broken by what is not there.
        `named_alone`: whether the names of tools are all that is known of the calls.
        """
        found: list[RuleResult] = []
        for scope in (SUITE, Scope("category", category), Scope("case", case)):
            own = self.rules.get(scope, ())
            known = {
                at
                for _, rule in own
                if rule.form == "require" and rule.names[0].arguments
                for at in rule.names[0].at(row)
            }
            for one, rule in own:
                told = ended or rule.form not in OF_THE_WHOLE
                known_of = not (named_alone and rule.reads_values)
                kept = rule.kept(row) if told and known_of else NO_OCCASION
                if kept.state == "broken" and rule.form == "require":
                    kept = rule.instead(row, known) or kept
                found.append(
                    RuleResult(
                        rule=one.rule,
                        scope=scope.kind,
                        state=kept.state,
                        cases=one.cases,
                        trials=one.trials,
                        step=kept.step,
                        at_end=kept.at_end,
                        reason=kept.reason,
                    )
                )
        return tuple(found)


NO_RULES: Final = Ruleset(rules={})


def read_rules(folder: Path) -> RulesFile | None:
    """The learned rules beside a suite; None: there are none. Raises InvalidDocument with file, line and field."""
    path = folder / FILE
    return read_document(path, RulesFile) if path.is_file() else None


def ruleset_of(folder: Path) -> Ruleset:
    """The rules that apply to trials of the suite in a folder."""
    read = read_rules(folder)
    if read is None:
        return NO_RULES
    applied = {
        scope: [(one, parsed_rule(one.rule)) for one in rules if one.pinned is not False]
        for scope, rules in read.scopes.items()
    }
    return Ruleset(rules=applied)


@dataclass(frozen=True, kw_only=True)
class Update:
    """A newly learned file beside the one before."""

    file: RulesFile
    changes: tuple[str, ...]
    """A line for each rule that is new, gone or has less support."""


def updated(old: RulesFile | None, learned: Learned) -> Update:
    """The file that follows from what was learned; pinned rules stay as they are."""
    before = {} if old is None else old.scopes
    fresh: dict[Scope, list[LearnedRule]] = {}
    for one in learned.rules:
        fresh.setdefault(one.scope, []).append(_as_rule(one))
    after: dict[Scope, tuple[LearnedRule, ...]] = {}
    changes: list[str] = []
    for scope in sorted({*before, *fresh}, key=lambda one: one.order):
        pinned = [one for one in before.get(scope, ()) if one.pinned is not None]
        fixed = {one.rule for one in pinned}
        after[scope] = (*pinned, *(one for one in fresh.get(scope, ()) if one.rule not in fixed))
        changes += _changes(scope, before.get(scope, ()), after[scope])
    return Update(file=_file(after), changes=tuple(changes))


def _as_rule(one: Mined) -> LearnedRule:
    return LearnedRule(rule=one.text, cases=one.cases, trials=one.trials)


def _changes(scope: Scope, old: Sequence[LearnedRule], new: Sequence[LearnedRule]) -> Iterator[str]:
    before, after = ({one.rule: one for one in rules} for rules in (old, new))
    where = " ".join(part for part in scope if part)
    for rule in {**before, **after}:
        was, now = before.get(rule), after.get(rule)
        if was is None and now is not None:
            yield f"new     {where}: {rule} (in {now.trials} trials of {now.cases} cases)"
        elif now is None:
            yield f"gone    {where}: {rule}"
        elif was is not None and now.cases < was.cases:
            yield f"weaker  {where}: {rule} (in {now.cases} cases, {was.cases} before)"


def _file(rules: Mapping[Scope, tuple[LearnedRule, ...]]) -> RulesFile:
    def named(kind: str) -> dict[str, tuple[LearnedRule, ...]]:
        return {scope.name: own for scope, own in rules.items() if scope.kind == kind and own}

    return RulesFile(suite=rules.get(SUITE, ()), category=named("category"), case=named("case"))


def text_of(file: RulesFile, suite: str) -> str:
    """The file's text: one line a rule, in a fixed order."""
    lines = [_HEAD.format(suite=suite)]
    kind = ""
    for scope, rules in file.scopes.items():
        if scope.kind != kind:
            kind = scope.kind
            lines.append(f"{kind}:\n")
        indent = "  "
        if scope.name:
            lines.append(f"  {_quoted(scope.name)}:\n")
            indent = "    "
        for one in rules:
            pinned = "" if one.pinned is None else f", pinned: {json.dumps(one.pinned)}"
            support = f"cases: {one.cases}, trials: {one.trials}{pinned}"
            lines.append(f"{indent}- {{rule: {_quoted(one.rule)}, {support}}}\n")
    return "".join(lines) if file.scopes else f"{lines[0]}suite: []\n"


def _quoted(text: str) -> str:
    """A text in YAML: in single quotes if it has no character that needs an escape."""
    if text.isprintable() and text.isascii():
        doubled = text.replace("'", "''")
        return f"'{doubled}'"
    return json.dumps(text)
