"""Rules that passing trials always keep: candidates from each trial, and which of them hold on cases left out.

The templates are those of declarative process mining (existence, absence, first, last, precedence, response, at most,
choice; see van der Aalst, Pesic & Schonenberg 2009), and three of data: precedence bound by a value, provenance
of an argument in an earlier answer, and the order of two numbers.

A rule is learned from *units*: the cases of the suite or of a category, or the trials of one case. It has to hold in
every unit that gives it an occasion. A candidate that exactly one unit breaks would have been learned without that
unit, and would then have been broken by it. The units that break such candidates are therefore exactly those that
break a rule when they are left out, and their share estimates how often a further passing unit is flagged.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.scoring.rules.candidates import LEAST_TRIALS, SUITE, Candidate, Scope, Units
from harness.scoring.rules.features import Key, Trial

_OWN_RECORD: Final = 15
"""Units from which on a rule of a case is judged by its own kin in other cases, not by its whole template."""


@dataclass(frozen=True, kw_only=True)
class Mined:
    """One rule and its support."""

    scope: Scope
    text: str
    cases: int
    trials: int


@dataclass(frozen=True, kw_only=True)
class Learned:
    """All rules, and what leaving out one unit at a time says about them."""

    rules: tuple[Mined, ...]
    cases: int
    flagged_cases: int
    """Cases that break a rule of the suite or of a category which the other cases teach."""
    trials: int
    """Trials of cases that have enough of them for rules of their own."""
    flagged_trials: int
    """Of these, trials that break a rule of their case which the case's other trials teach."""


def learn(trials: Iterable[Trial], limit: float = 0.02, most: int | None = 40) -> Learned:
    """The rules of passing trials.

    Candidates are taken by support until the share of left-out units that break one would exceed `limit`, among the
    rules of the suite and its categories and among those of single cases. At most `most` stay in each scope.
    """
    by_case: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        by_case[trial.case].append(trial)
    scopes = list(_scopes(dict(sorted(by_case.items()))))
    found = {scope.scope: list(scope.candidates()) for scope in scopes}
    numbers = {scope.scope: scope.numbers for scope in scopes}
    wide = {scope: one for scope, one in found.items() if scope.kind != "case"}
    narrow = {scope: one for scope, one in found.items() if scope.kind == "case"}
    enough = sum(len(one) for one in by_case.values() if len(one) >= LEAST_TRIALS)
    kept, flagged = _taken(wide, numbers, limit, len(by_case))
    kept_narrow, flagged_narrow = _taken(narrow, numbers, limit, enough)
    rules: list[Mined] = []
    categories = {case: own[0].category for case, own in by_case.items()}
    texts: dict[Scope, set[str]] = defaultdict(set)
    for scope in sorted({*kept, *kept_narrow}, key=lambda one: one.order):
        wider = texts[SUITE] if scope != SUITE else set()
        wider = wider | texts[Scope("category", categories[scope.name])] if scope.kind == "case" else wider
        chosen = [one for one in (*kept.get(scope, ()), *kept_narrow.get(scope, ())) if one.text not in wider]
        chosen = sorted(_without_implied(chosen), key=lambda one: (-one.support, _RANK[one.key[0]], one.text))
        for one in chosen[:most]:
            cases = 1 if scope.kind == "case" else one.support
            rules.append(Mined(scope=scope, text=one.text, cases=cases, trials=one.trials))
        texts[scope] = {one.text for one in chosen}
    return Learned(
        rules=tuple(rules),
        cases=len(by_case),
        flagged_cases=len(flagged),
        trials=enough,
        flagged_trials=len(flagged_narrow),
    )


_TEMPLATES: Final = (
    "is",
    "bound_before",
    "before",
    "call",
    "require",
    "first",
    "last",
    "then",
    "only",
    "in",
    "<=",
    ">=",
    "choice",
    "most",
)
_RANK: Final = {template: rank for rank, template in enumerate(_TEMPLATES)}


def _scopes(by_case: Mapping[str, list[Trial]]) -> Iterator[Units]:
    place = {case: index for index, case in enumerate(by_case)}
    yield Units(scope=SUITE, units=[*by_case.values()], numbers=[*place.values()])
    categories: dict[str, list[str]] = defaultdict(list)
    for case, own in by_case.items():
        categories[own[0].category].append(case)
    if len(categories) > 1:
        for category, cases in sorted(categories.items()):
            units, numbers = [by_case[case] for case in cases], [place[case] for case in cases]
            yield Units(scope=Scope("category", category), units=units, numbers=numbers)
    number = 0
    for case, own in by_case.items():
        yield Units(
            scope=Scope("case", case), units=[[one] for one in own], numbers=[*range(number, number + len(own))]
        )
        number += len(own)


def _taken(
    found: Mapping[Scope, Sequence[Candidate]], numbers: Mapping[Scope, Sequence[int]], limit: float, units: int
) -> tuple[dict[Scope, list[Candidate]], set[int]]:
    """The candidates that are learned, and the units that break one when they are left out."""
    every = [one for candidates in found.values() for one in candidates]
    record: Counter[Key] = Counter()
    for one in every:
        record[_kin(one)] += one.support
    groups: dict[tuple[int, Key], list[Candidate]] = defaultdict(list)
    for one in every:
        own = one.scope.kind == "case" and record[_kin(one)] >= _OWN_RECORD
        groups[one.support, _kin(one) if own else (one.scope.kind, one.key[0])].append(one)
    kept: dict[Scope, list[Candidate]] = defaultdict(list)
    flagged: set[int] = set()
    closed: set[Key] = set()
    for (_, family), group in sorted(groups.items(), key=lambda one: (-one[0][0], one[0][1])):
        broken = {
            numbers[one.scope][index]
            for one in group
            for index in range(one.breakers.bit_length())
            if one.breakers >> index & 1
        }
        if family in closed or len(flagged | broken) > limit * units:
            closed.add(family)
            continue
        flagged |= broken
        for one in group:
            if one.learned:
                kept[one.scope].append(one)
    return kept, flagged


def _kin(one: Candidate) -> Key:
    """Candidates of the same tools in scopes of one kind."""
    return (one.scope.kind, *one.key)


def _without_implied(chosen: Sequence[Candidate]) -> Iterator[Candidate]:
    """Leaves out what another rule of the scope says already."""
    keys = {one.key for one in chosen}
    before = {key[1:] for key in keys if key[0] == "before"}
    then = {key[1:] for key in keys if key[0] == "then"}
    called = {key[1] for key in keys if key[0] == "call"}
    ends = {key[1] for key in keys if key[0] in ("first", "last")}
    sourced = {key[1:3]: key[3:] for key in keys if key[0] == "is"}
    from_tool = {(other, tool) for (tool, _), others in sourced.items() for other in others if len(others) == 1}
    bound = sorted(key for key in keys if key[0] == "bound_before")
    best = {key[3:]: key for key in reversed(bound)}
    for one in chosen:
        key = one.key
        match key[0]:
            case "require":
                implied = key[1] in called or key[1] in ends
            case "before":
                implied = ("first", key[1]) in keys or key[1:] in from_tool or _through(before, key[1], key[2])
            case "then":
                implied = ("last", key[2]) in keys or _through(then, key[1], key[2])
            case "bound_before":
                implied = best[key[3:]] != key or key[1] in sourced.get(key[3:], ())
            case "<=" | ">=" | "in":
                implied = key[1:3] in sourced
            case "first" | "last":
                implied = key[1] == "of" and any(other[0] == key[0] and other[1] != "of" for other in keys)
            case _:
                implied = False
        if not implied:
            yield one


def _through(pairs: Collection[Sequence[str]], one: str, other: str) -> bool:
    """Whether the order of two follows from those of both with a third."""
    after = {pair[1] for pair in pairs if pair[0] == one}
    return any((third, other) in pairs for third in after if third not in (one, other))
