"""Candidates for rules in one scope, and the units that would break them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from operator import or_
from typing import Final, Literal, NamedTuple

from pydantic import JsonValue

from harness.scoring.rules.features import Key, Sourced, Trial
from harness.scoring.rules.language import ANYWHERE, Source, as_number, written_name, written_values

LEAST_CASES: Final = 8
"""Cases that a rule of the suite or of a category needs."""
LEAST_SOURCED: Final = 5
"""Cases that a rule of the suite about the source of a value needs: chance gives none to five different values."""
LEAST_TRIALS: Final = 3
"""Trials that a rule of one case needs."""
LEAST_ORDERS: Final = 6
"""Trials that an order of two reads of one case needs: in three, one of four orders is the same by chance."""
LEAST_COUNTED: Final = 60
"""Cases that "at most n" of the suite or of a category needs: a count is the first thing that a new case breaks."""
LEAST_VALUES: Final = 5
"""Different values that a rule about the source of a value needs: fewer agree by chance."""
_MOST_LISTED: Final = 6
"""Values that a rule lists."""
_MOST_JOINED: Final = 3
"""Sources of one rule."""
_MOST_LEFT_OUT: Final = 15
"""Trials of a case up to which each is left out once to see whether the others' calls are its calls too."""


class Scope(NamedTuple):
    """What a rule holds for: `("suite", "")`, `("category", NAME)` or `("case", ID)`."""

    kind: Literal["suite", "category", "case"]
    name: str

    @property
    def order(self) -> tuple[int, str]:
        """The widest first, then by name."""
        return ("suite", "category", "case").index(self.kind), self.name


SUITE: Final = Scope("suite", "")


@dataclass(kw_only=True)
class Candidate:
    """A rule in one scope. Masks have a bit for each unit."""

    scope: Scope
    key: Key
    text: str
    held: int
    breakers: int
    """The units that would break it, had it been learned without them; 0 for most."""
    trials: int
    learned: bool
    """Whether no unit breaks it."""

    @property
    def support(self) -> int:
        return self.held.bit_count()


@dataclass(kw_only=True)
class Units:
    """The units of one scope, and in which of them each candidate held."""

    scope: Scope
    units: list[list[Trial]]
    numbers: list[int]
    """Of each unit, its number among all units of scopes of this kind."""
    occasions: dict[Key, int] = field(default_factory=dict)
    held: dict[Key, int] = field(default_factory=dict)
    trials: Counter[Key] = field(default_factory=Counter)

    def count(self) -> None:
        for index, unit in enumerate(self.units):
            bit = 1 << index
            occasions = Counter(key for trial in unit for key in trial.occasions)
            held = Counter(key for trial in unit for key in trial.held)
            for key in occasions:
                self.occasions[key] = self.occasions.get(key, 0) | bit
            for key, many in held.items():
                if many == occasions[occasion_of(key)]:
                    self.held[key] = self.held.get(key, 0) | bit
                    self.trials[key] += many

    @property
    def every(self) -> int:
        return (1 << len(self.units)) - 1

    @property
    def least(self) -> int:
        return LEAST_TRIALS if self.scope.kind == "case" else LEAST_CASES

    def candidates(self) -> Iterator[Candidate]:
        """Those that no unit breaks, and those that exactly one breaks."""
        if len(self.units) < self.least:
            return
        self.count()
        yield from self._plain()
        yield from self._at_most()
        yield from self._absent()
        yield from self._choices()
        yield from self._listed()
        yield from self._ends()
        yield from _calls(self) if self.scope.kind == "case" else _provenance(self)

    def _plain(self) -> Iterator[Candidate]:
        distinct: dict[Key, set[str]] = defaultdict(set)
        for unit in self.units:
            for trial in unit:
                for key, values in trial.distinct.items():
                    if len(distinct[key]) < LEAST_VALUES:
                        distinct[key] |= values
        for key, held in self.held.items():
            breakers = self.occasions[occasion_of(key)] & ~held
            if breakers.bit_count() > 1 or held.bit_count() < self._least_of(key):
                continue
            if key[0] == "=" or (key[0] in _OF_VALUES and self.scope.kind == "case"):
                continue
            if key[0] in _OF_VALUES and len(distinct[key]) < LEAST_VALUES:
                continue
            if key[0] in ("<=", ">=") and len(distinct["=", *key[1:]]) < 2:  # else any two numbers would do
                continue
            yield self.made(key, held, breakers, learned=not breakers)

    def made(
        self, key: Key, held: int, breakers: int, *, learned: bool = True, text: str = "", trials: int = 0
    ) -> Candidate:
        return Candidate(
            scope=self.scope,
            key=key,
            text=text or _text(key),
            held=held,
            breakers=breakers,
            trials=trials or self.trials[key],
            learned=learned,
        )

    def _least_of(self, key: Key) -> int:
        """Units that a candidate needs."""
        if self.scope.kind == "suite" and key[0] in _OF_VALUES:
            return LEAST_SOURCED
        if self.scope.kind != "case" or key[0] not in _ORDERS:
            return self.least
        return self.least if self.units[0][0].writes & {*key[1:]} else LEAST_ORDERS

    def _usage(self) -> dict[str, int]:
        return {key[1]: mask for key, mask in self.occasions.items() if key[0] == "used"}

    def _at_most(self) -> Iterator[Candidate]:
        for tool, used in self._usage().items():
            if used.bit_count() < (self.least if self.scope.kind == "case" else LEAST_COUNTED):
                continue
            most = [max((trial.counts[tool] for trial in unit), default=0) for unit in self.units]
            greatest = max(most)
            breakers = 1 << most.index(greatest) if most.count(greatest) == 1 else 0
            text = f"{written_name(tool)} at most {greatest} times"
            yield self.made(("most", tool, str(greatest)), used, breakers, text=text, trials=self.trials_with(tool))

    def trials_with(self, tool: str) -> int:
        return sum(trial.counts[tool] > 0 for unit in self.units for trial in unit)

    def without(self, tool: str, name: str) -> int:
        """The units with a call of the tool that lacks the argument."""
        return _mask(
            index
            for index, unit in enumerate(self.units)
            if any(trial.counts[tool] > len(trial.sourced.get((tool, name), ())) for trial in unit)
        )

    def _absent(self) -> Iterator[Candidate]:
        usage = self._usage()
        if usage:
            text = "only " + ", ".join(map(written_name, sorted(usage)))
            many = sum(map(len, self.units))
            yield self.made(("only",), self.every, _alone(usage.values()), text=text, trials=many)

    def _ends(self) -> Iterator[Candidate]:
        """The few tools that trials begin or end with."""
        for form in ("first", "last"):
            tools: dict[str, int] = {key[1]: 0 for key in self.occasions if key[0] == "used"}
            used = self.occasions.get(("calls",), 0)
            for index, unit in enumerate(self.units):
                for trial in unit:
                    for key in trial.held:
                        if key[0] == form:
                            tools[key[1]] |= 1 << index
            ends = sorted(tool for tool, mask in tools.items() if mask)
            enough = used.bit_count() >= (LEAST_ORDERS if self.scope.kind == "case" else self.least)
            if 1 < len(ends) <= _MOST_LISTED and len(ends) < len(tools) and enough:
                text = f"{form} " + " or ".join(map(written_name, ends))
                many = sum(map(len, self.units))
                yield self.made((form, "of"), used, _alone(tools.values()), text=text, trials=many)

    def _choices(self) -> Iterator[Candidate]:
        usage = {tool: mask for tool, mask in self._usage().items() if mask != self.every}
        often = sorted(tool for tool, mask in usage.items() if mask.bit_count() * 5 >= len(self.units))
        for one, other in combinations(often[:30], 2):
            either = usage[one] | usage[other]
            breakers = self.every & ~either
            if breakers.bit_count() > 1:
                continue
            both = usage[one] & usage[other]
            text = f"require {written_name(one)} or {written_name(other)}"
            key = ("choice", one, other)
            yield self.made(key, either, breakers, learned=not breakers, text=text + (", not both" * (not both)))

    def _listed(self) -> Iterator[Candidate]:
        """Arguments with few different values."""
        seen: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for index, unit in enumerate(self.units):
            for trial in unit:
                for where, values in trial.values.items():
                    known = seen[where]
                    for value in values if len(known) <= _MOST_LISTED * 4 else ():
                        known[value] = known.get(value, 0) | 1 << index
        for (tool, name), known in sorted(seen.items()):
            used = reduce(or_, known.values())
            few = 1 if self.scope.kind == "case" else len(known)
            if len(known) > _MOST_LISTED or used.bit_count() < max(self.least, 2 * few):
                continue
            text = f"{written_name(tool)}({name}) in {written_values([_number_or_text(value) for value in known])}"
            without = self.without(tool, name)
            if without.bit_count() < 2:
                yield self.made(
                    ("in", tool, name),
                    used & ~without,
                    _alone(known.values()) | without,
                    learned=not without,
                    text=text,
                    trials=self.trials_with(tool),
                )


def _provenance(units: Units) -> Iterator[Candidate]:
    """The fewest sources that all values of an argument come from."""
    found: dict[tuple[str, str], list[tuple[int, Sourced]]] = defaultdict(list)
    for index, unit in enumerate(units.units):
        for trial in unit:
            for where, values in trial.sourced.items():
                found[where] += [(index, one) for one in values]
    for (tool, name), sourced in sorted(found.items()):
        used = _mask(index for index, _ in sourced)
        if (
            used.bit_count() < (LEAST_SOURCED if units.scope.kind == "suite" else units.least)
            or len({one.value for _, one in sourced}) < LEAST_VALUES
        ):
            continue
        unnamed = [one for one in sourced if not one[1].named]
        if len({one.value for _, one in unnamed}) < LEAST_VALUES:
            unnamed = []  # the values that are not the user's are too few to learn a source from
        sources, alone, left = _cover(sourced if unnamed else [])
        left = left if unnamed else sourced
        by_user = _mask(index for index, one in left if one.named)
        without = _mask(index for index, one in left if not one.named) | units.without(tool, name)
        if without.bit_count() > 1 or not (sources or by_user):
            continue
        alone |= _alone([by_user])
        words = [*map(str, sources), *["the user's"] * bool(by_user)]
        text = f"{written_name(tool)}({name}) is {' or '.join(words)}"
        key = ("is", tool, name, *sorted({one.tool for one in sources}))
        many = units.trials_with(tool)
        yield units.made(key, used & ~without, alone | without, learned=not without, text=text, trials=many)


def _cover(
    values: Sequence[tuple[int, Sourced]],
) -> tuple[list[Source], int, list[tuple[int, Sourced]]]:
    """Sources that together have most values, the units that alone need one of them, and the values that are left."""
    left = list(values)
    chosen: list[Source] = []
    alone = 0
    while left and len(chosen) < _MOST_JOINED:
        counts = Counter(source for _, one in left for source in one.sources)
        if not counts:
            break
        most = max(counts.values())
        best = min((source for source, many in counts.items() if many == most), key=_preferred_source)
        needing = _mask(index for index, one in left if best in one.sources)
        if chosen and needing.bit_count() == 1 and all(one.named for _, one in left):
            break
        alone |= _alone([needing])
        chosen.append(best)
        left = [(index, one) for index, one in left if best not in one.sources]
    return chosen, alone, left


def _preferred_source(source: Source) -> tuple[bool, bool, int, Source]:
    return source.path == ANYWHERE, not source.same, source.path.count("."), source


def _mask(indices: Iterable[int]) -> int:
    return reduce(or_, (1 << index for index in indices), 0)


def _alone(masks: Iterable[int]) -> int:
    """The units that are the only one of a mask."""
    return reduce(or_, (mask for mask in masks if mask.bit_count() == 1), 0)


def _calls(units: Units) -> Iterator[Candidate]:
    """The calls that every trial of a case makes, by the arguments that are the same in all of them."""
    trials = [unit[0] for unit in units.units]
    required = _required(trials)
    broken = 0
    if len(trials) <= _MOST_LEFT_OUT:
        for index, trial in enumerate(trials):
            others = _required([*trials[:index], *trials[index + 1 :]])
            if any(_times(trial, tool, fixed) < many for (tool, fixed), many in others.items()):
                broken |= 1 << index
    for (tool, fixed), many in sorted(required.items()):
        text = f"require {written_name(tool, {name: _number_or_text(value) for name, value in fixed})}"
        text += f" {many} times" if many > 1 else ""
        yield units.made(
            ("call", tool, str(many), *(name for name, _ in fixed)), units.every, broken, text=text, trials=len(trials)
        )


_Fixed = tuple[tuple[str, str], ...]


def _required(trials: Sequence[Trial]) -> dict[tuple[str, _Fixed], int]:
    """Tool and fixed arguments -> how many such calls each of the trials has at least."""
    found: dict[tuple[str, _Fixed], int] = {}
    for tool in set.intersection(*({*trial.counts} for trial in trials)):
        names = {name for trial in trials for one, own in trial.calls if one == tool for name in own}
        values = {name: [trial.values.get((tool, name), set()) for trial in trials] for name in names}
        fixed = sorted(name for name, each in values.items() if all(one == each[0] for one in each))
        counted = [
            Counter(
                tuple((name, own[name]) for name in fixed if name in own) for one, own in trial.calls if one == tool
            )
            for trial in trials
        ]
        common = counted[0]
        for other in counted[1:]:
            common &= other
        for arguments, many in common.items():
            found[tool, arguments] = many
    return found


def _times(trial: Trial, tool: str, fixed: _Fixed) -> int:
    return sum(one == tool and all(own.get(name) == value for name, value in fixed) for one, own in trial.calls)


_ORDERS: Final = frozenset({"before", "then", "first", "last"})
_OF_VALUES: Final = frozenset({"bound_before", "<=", ">="})


_OCCASIONS: Final[Mapping[str, tuple[str, tuple[int, ...]]]] = {
    "require": ("trial", ()),
    "first": ("calls", ()),
    "last": ("calls", ()),
    "before": ("used", (2,)),
    "then": ("used", (1,)),
    "bound_before": ("argument", (3, 4)),
    "=": ("argument", (1, 2)),
    "<=": ("argument", (1, 2)),
    ">=": ("argument", (1, 2)),
}
"""Template -> what gives a candidate its occasion, and the parts of the key that belong to it."""


def occasion_of(key: Key) -> Key:
    """What gives a candidate its occasion."""
    name, parts = _OCCASIONS[key[0]]
    return (name, *(key[part] for part in parts))


def _text(key: Key) -> str:
    match key:
        case ("require" | "first" | "last" as form, tool):
            return f"{form} {written_name(tool)}"
        case ("before" | "then" as form, one, other):
            return f"{written_name(one)} {form} {written_name(other)}"
        case ("bound_before", one, argument, other, name):
            return f"{written_name(one)}({argument}) before {written_name(other)}({name})"
        case ("<=" | ">=" as form, tool, name, other, path):
            return f"{written_name(tool)}({name}) {form} {Source(other, path)}"
        case _:
            raise AssertionError(key)


def _number_or_text(value: str) -> JsonValue:
    if as_number(value) is None:
        return value
    return float(value) if "." in value else int(value)
