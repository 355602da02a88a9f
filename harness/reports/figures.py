"""The figures of one run: failure modes, tools, reliability, repeated trials and failed code."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, get_args

from harness.reports.durations import Spread
from harness.scoring.rules.learned import RuleResult
from harness.scoring.scorecard import (
    Diagnosis,
    Failure,
    ParameterFault,
    Scorecard,
    ToolUse,
    raised_by,
)
from harness.scoring.statistics.intervals import (
    Interval,
    bootstrap,
    pass_at_k,
    pass_hat_k,
)
from harness.traces.outcomes import MEASURED
from harness.values import Frozen

# The frequency of each failure mode in a run, and the trials to inspect first.

_EXAMPLES = 3


class FailureMode(Frozen):
    """One failure mode over a run. A trial with several findings of a mode counts once."""

    failure: Failure
    trials: int
    failed_trials: int
    """Those that did not succeed: an agent can recover from a failure mode."""
    measured: int
    """The number of all trials."""
    kinds: dict[str, int]
    """Trials by kind of finding."""
    examples: tuple[str, ...]
    """Findings of failed trials first: case/attempt, step and evidence."""


def failure_modes(cards: Sequence[Scorecard]) -> tuple[FailureMode, ...]:
    """The modes that were found, in the order of the taxonomy."""
    measured = [card for card in cards if card.outcome in MEASURED]
    found = (_mode(failure, measured) for failure in get_args(Failure))
    return tuple(mode for mode in found if mode.trials)


def failure_reasons(card: Scorecard) -> tuple[str, ...]:
    """Why a trial did not pass: how it ended, if not by itself, then each check that failed or is undecided."""
    ended = () if card.outcome == "finished" else (f"{card.outcome}: {card.reason or 'no reason given'}",)
    checks = (f"{one.check}: {one.reason}" for one in card.verdicts if one.passed is not True)
    return (*ended, *checks) or ("the case has no check",)


def has_failure(card: Scorecard, failure: str) -> bool:
    """Whether one of the card's findings is of this mode."""
    return any(one.failure == failure for one in card.diagnoses)


def _mode(failure: Failure, measured: Sequence[Scorecard]) -> FailureMode:
    having = [(card, [one for one in card.diagnoses if one.failure == failure]) for card in measured]
    having = [(card, own) for card, own in having if own]
    findings = [(card, one) for card, own in having for one in own]
    surest = sorted(findings, key=lambda pair: (pair[0].success is True, pair[1].severity, -pair[1].confidence))
    return FailureMode(
        failure=failure,
        trials=len(having),
        failed_trials=sum(card.success is not True for card, _ in having),
        measured=len(measured),
        kinds=dict(sorted(Counter(kind for _, own in having for kind in {one.kind for one in own}).items())),
        examples=tuple(_words(card, one) for card, one in surest[:_EXAMPLES]),
    )


def _words(card: Scorecard, one: Diagnosis) -> str:
    return f"{_place(card, one.origin_step)}: {one.evidence}"


# Learned rules that were broken.


class BrokenRule(Frozen):
    """A learned rule that some trial broke."""

    rule: str
    support: str
    """The passing trials that it held in, in words."""
    trials: int
    """Trials that broke it."""
    tried: int
    """Trials that were held against it and gave it an occasion."""
    places: tuple[str, ...]
    """`case/attempt step N` of the first ones, those without success first."""


def broken_rules(cards: Sequence[Scorecard]) -> tuple[BrokenRule, ...]:
    """The rules that were broken, those that most trials broke first."""
    found: dict[tuple[str, str], list[tuple[Scorecard, RuleResult]]] = {}
    for card in cards:
        for one in card.rules:
            if one.state != "no_occasion":
                found.setdefault((one.rule, one.support), []).append((card, one))
    rules = []
    for (rule, support), tried in found.items():
        broke = [pair for pair in tried if pair[1].state == "broken"]
        broke.sort(key=lambda pair: pair[0].success is True)
        places = tuple(_place(card, one.step) for card, one in broke[:_EXAMPLES])
        rules += [BrokenRule(rule=rule, support=support, trials=len(broke), tried=len(tried), places=places)] * bool(
            broke
        )
    return tuple(sorted(rules, key=lambda one: -one.trials))


def _place(card: Scorecard, step: int | None) -> str:
    return f"{card.case_id}/{card.attempt}" + ("" if step is None else f" step {step}")


# The table by tool: the number of calls, their faults, and their results.

_Uses = list[tuple[Scorecard, ToolUse]]
_MOST_CHOSEN: Final = 100
"""Names that the agent chose, with rows of their own."""


class ToolRow(Frozen):
    """One tool, or the calls of one model, over a run's trials."""

    name: str
    others: int = 0
    """If not 0: so many names that have no row of their own, together; at least so many, where trials share names."""
    calls: int
    trials: int
    """Trials in which the tool was called."""
    wrong: int
    """Wrong selections; see the metric `tool_selection`."""
    invalid: dict[ParameterFault, int]
    """Calls by what is wrong with their arguments."""
    errors: int
    recovered: int
    faults: int
    """Injected faults that a call triggered."""
    misses: int
    cost_usd: float | None
    """The cost of the model replies that decided the calls, divided among the calls of a reply; None where it is not
    known.
    """
    latency: Spread | None = None
    """Milliseconds of a call, real services only; None: replayed, or not measured."""

    @property
    def invalid_calls(self) -> int:
        return sum(self.invalid.values())


def by_tool(cards: Iterable[Scorecard], latencies: Mapping[str, Spread]) -> tuple[ToolRow, ...]:
    """Most called first; what the agent itself named beyond the 100 most called names is one row, the last."""
    uses = _uses(cards)
    own = _by_name([one for one in uses if not one[1].others], lambda use: use.tool)
    rows = _rows(own, [one for one in uses if one[1].others], lambda use: use.undeclared)
    return tuple(row.model_copy(update={"latency": latencies.get(row.name)}) if not row.others else row for row in rows)


def by_model(cards: Iterable[Scorecard]) -> tuple[ToolRow, ...]:
    """Most calls first; empty where no model was seen. An agent may name models: they are bounded in the same way."""
    return _rows(_by_name(_uses(cards), lambda use: use.model), [], lambda _: True)


def _uses(cards: Iterable[Scorecard]) -> _Uses:
    return [(card, use) for card in cards for use in card.tool_use]


def _by_name(uses: _Uses, name_of: Callable[[ToolUse], str | None]) -> dict[str, _Uses]:
    parts: dict[str, _Uses] = {}
    for one in uses:
        name = name_of(one[1])
        if name is not None:
            parts.setdefault(name, []).append(one)
    return parts


def _rows(parts: dict[str, _Uses], rest: _Uses, is_chosen: Callable[[ToolUse], bool]) -> tuple[ToolRow, ...]:
    """`is_chosen`: whether the agent chose the name; `rest`: uses without a name of their own."""
    rows = [_row(name, own) for name, own in parts.items()]
    rows.sort(key=lambda row: (-row.calls, row.name))
    chosen = [row.name for row in rows if is_chosen(parts[row.name][0][1])]
    left_out = frozenset(chosen[_MOST_CHOSEN:])
    rest = [*rest, *(one for name in left_out for one in parts[name])]
    kept = tuple(row for row in rows if row.name not in left_out)
    if not rest:
        return kept
    names = max((use.others for _, use in rest), default=0) + len(left_out)
    return *kept, _row("other names", rest).model_copy(update={"others": names})


def _row(name: str, own: _Uses) -> ToolRow:
    uses = [use for _, use in own]
    costs = [use.cost_usd for use in uses if use.cost_usd is not None]
    return ToolRow(
        name=name,
        calls=sum(use.calls for use in uses),
        trials=len({(card.case_id, card.attempt) for card, _ in own}),
        wrong=sum(use.wrong for use in uses),
        invalid=_summed(use.invalid for use in uses),
        errors=sum(use.errors for use in uses),
        recovered=sum(use.recovered for use in uses),
        faults=sum(use.faults for use in uses),
        misses=sum(use.misses for use in uses),
        cost_usd=round(sum(costs), 12) if costs else None,
    )


def _summed(counts: Iterable[Mapping[ParameterFault, int]]) -> dict[ParameterFault, int]:
    total: Counter[ParameterFault] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))


# How a case's success holds over attempts: pass@k and pass^k, over all cases with enough attempts.


class Reliability(Frozen):
    """Estimated without bias from the n known attempts at a case, of which c succeeded; means over cases.

    pass@k = 1 - C(n-c, k) / C(n, k): of k attempts at least one succeeds. pass^k = C(c, k) / C(n, k): all k succeed.
    Left out: cases with fewer than k attempts of which success is known.
    """

    k: int
    cases: int
    at_least_one: float
    at_least_one_interval: Interval | None
    """Bootstrap over cases, 95 %."""
    all_of_them: float
    all_of_them_interval: Interval | None


def reliability(cards: Sequence[Scorecard]) -> tuple[Reliability, ...]:
    """For k = 1, 2, ... up to the most attempts that some case has; empty where no case was tried twice."""
    counts: dict[str, tuple[int, int]] = {}
    for card in cards:
        if card.success is not None:
            n, c = counts.get(card.case_id, (0, 0))
            counts[card.case_id] = (n + 1, c + card.success)
    most = max((n for n, _ in counts.values()), default=0)
    return tuple(_at(k, counts) for k in range(1, most + 1)) if most > 1 else ()


def _at(k: int, counts: Mapping[str, tuple[int, int]]) -> Reliability:
    enough = {case: (n, c) for case, (n, c) in counts.items() if n >= k}
    some = {case: [pass_at_k(n, c, k)] for case, (n, c) in enough.items()}
    every = {case: [pass_hat_k(n, c, k)] for case, (n, c) in enough.items()}
    return Reliability(
        k=k,
        cases=len(enough),
        at_least_one=_mean(some),
        at_least_one_interval=bootstrap(some),
        all_of_them=_mean(every),
        all_of_them_interval=bootstrap(every),
    )


def _mean(by_case: Mapping[str, Sequence[float]]) -> float:
    return round(math.fsum(value for values in by_case.values() for value in values) / len(by_case), 12)


class UnsteadyCase(Frozen):
    """A case of which some attempts succeed and others do not."""

    case_id: str
    successes: int
    trials: int
    """Attempts whose success is known."""


def unsteady(cards: Sequence[Scorecard]) -> tuple[UnsteadyCase, ...]:
    """Those whose attempts disagree most first."""
    by_case: dict[str, list[bool]] = {}
    for card in cards:
        if card.success is not None:
            by_case.setdefault(card.case_id, []).append(card.success)
    found = [UnsteadyCase(case_id=case, successes=sum(own), trials=len(own)) for case, own in by_case.items()]
    mixed = [one for one in found if 0 < one.successes < one.trials]
    return tuple(sorted(mixed, key=lambda one: abs(0.5 - one.successes / one.trials)))


# Metrics, checks and detectors whose own code raised: what they would have measured is missing from the figures.

CodeKind = Literal["metric", "check", "detector"]


class FailedCode(Frozen):
    """One metric, check or detector that raised."""

    kind: CodeKind
    name: str
    trials: int
    """The number of trials in which it raised."""
    raised: str
    """What it raised in most trials, and where."""


def failed_code(cards: Sequence[Scorecard]) -> tuple[FailedCode, ...]:
    """By kind and name."""
    raised: dict[tuple[CodeKind, str], Counter[str]] = {}
    for card in cards:
        for kind, name, what in {*_of_card(card)}:
            raised.setdefault((kind, name), Counter())[what] += 1
    return tuple(
        FailedCode(kind=kind, name=name, trials=counts.total(), raised=counts.most_common(1)[0][0])
        for (kind, name), counts in sorted(raised.items())
    )


def _of_card(card: Scorecard) -> Iterator[tuple[CodeKind, str, str]]:
    for score in card.scores:
        if (what := raised_by(score)) is not None:
            yield "metric", score.metric, what
    for verdict in card.verdicts:
        if (what := raised_by(verdict)) is not None:
            yield "check", verdict.check, what
    for finding in card.diagnoses:
        if (what := raised_by(finding)) is not None:
            yield "detector", finding.kind.partition(":")[0], what
