"""Learned rules against planted single faults: how many are found, at which step, and how many passing trials are
flagged; see `faults`.

`python -m qa.rules_eval import FORMAT FILE ...` imports the files and joins them to one suite.
`python -m qa.rules_eval run RUN ...` takes stored runs of one suite of this project.

Whole cases are left out, a fifth at a time, and the harmful faults are counted. A fault is found if the trial breaks
a rule that it kept without the fault; its step is the one named first (`harness.scoring.rules.learned.broken`). Of
stored runs, the same cases are tried too: three trials of each case
teach, of an agent that makes its reads in another order each time, and two more are tried.
"""

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from harness.runs.importing import with_rewards
from harness.runs.measured_trials import suite_of
from harness.runs.rescore import evidence_of
from harness.runs.store.folder import RunFolder, run_path
from harness.scoring.evidence import Evidence
from harness.scoring.rules.candidates import Scope
from harness.scoring.rules.events import Event, Row, row_of
from harness.scoring.rules.features import trial_of
from harness.scoring.rules.language import Rule, parsed_rule
from harness.scoring.rules.learned import LearnedRule, RuleResult, Ruleset, broken
from harness.scoring.rules.mining import Learned, learn
from qa.converters import imported as import_set
from qa.rules_eval.faults import World, planted
from qa.rules_eval.workflow import WRITES, runs

ROOT = Path(__file__).parents[2]
FOLDS = 5
Breaks = tuple[RuleResult, ...]


class Passing(NamedTuple):
    """A trial that passed."""

    case: str
    category: str
    row: Row


@dataclass
class Counts:
    """What was found, over all folds."""

    trials: int = 0
    flagged: int = 0
    tried: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    exact: Counter[str] = field(default_factory=Counter)
    blamed: Counter[str] = field(default_factory=Counter)
    """Forms of the rules that flagged a passing trial."""


def imported(format: str, path: Path) -> tuple[list[Passing], frozenset[str]]:
    """The rewarded trials of a file, and its write tools."""
    run = import_set(format, path)
    suite = with_rewards(run)
    cases = {case.id: case for case in suite.cases}
    rows = [
        Passing(trial.case_id, case.category, row_of(Evidence(case=case, trial=trial, tools=suite.tools)))
        for trial, _ in run.trials
        if (run.rewards.get((trial.case_id, trial.attempt)) or 0) >= 1 and (case := cases[trial.case_id])
    ]
    return rows, frozenset(tool.name for tool in suite.tools if tool.effect == "write")


def breaks_of(learned: Learned) -> Callable[[Row, str, str], Breaks]:
    """What a trial of a case and category breaks."""
    rules: dict[Scope, list[tuple[LearnedRule, Rule]]] = defaultdict(list)
    for one in learned.rules:
        rule = LearnedRule(rule=one.text, cases=one.cases, trials=one.trials)
        rules[one.scope].append((rule, parsed_rule(one.text)))
    ruleset = Ruleset(rules=rules)
    return lambda row, case, category: broken(ruleset.results(row, case, category))


def cases_left_out(trials: Sequence[Passing], writes: frozenset[str]) -> Counts:
    """Rules of four fifths of the cases, on the trials of the others, with and without a fault."""
    chosen, counts = random.Random(1), Counts()
    cases = sorted({one.case for one in trials})
    chosen.shuffle(cases)
    for fold in range(FOLDS):
        out = {*cases[fold::FOLDS]}
        train = [one for one in trials if one.case not in out]
        world = World(rows=[one.row for one in train], writes=writes)
        breaks = breaks_of(learn(trial_of(one.row, one.case, one.category, writes) for one in train))
        for one in trials:
            if one.case in out:
                _try(one, world, breaks, chosen, counts, harmful=True)
    return counts


def one_workflow() -> Counts:
    """Rules of twenty runs of one workflow, on eighty more with other data."""
    trials = [Passing(f"run-{number}", "", row) for number, row in enumerate(runs(100, seed=1))]
    train, chosen, counts = trials[:20], random.Random(3), Counts()
    breaks = breaks_of(learn(trial_of(one.row, one.case, one.category, WRITES) for one in train))
    world = World(rows=[one.row for one in train], writes=WRITES)
    for one in trials[20:]:
        _try(one, world, breaks, chosen, counts, harmful=True)
    return counts


def varied(row: Row, writes: frozenset[str], chosen: random.Random) -> Row:
    """The same trial by an agent that makes its reads between two writes in another order."""
    events, block = list[Event](), list[Event]()
    for event in (*row.events, None):
        if event is not None and event.is_call and event.name not in writes:
            block.append(event)
            continue
        steps = [one.step for one in block]
        chosen.shuffle(block)
        events += [replace(one, step=step) for one, step in zip(block, steps, strict=True)]
        block.clear()
        events += [event] if event is not None else []
    return Row(tuple(events))


def same_cases(trials: Sequence[Passing], writes: frozenset[str]) -> Counts:
    """Rules of three trials a case, on two more of the same case, with and without a fault."""
    chosen, counts = random.Random(2), Counts()
    first = {one.case: one for one in reversed(trials)}
    rows = {case: [varied(one.row, writes, chosen) for _ in range(5)] for case, one in sorted(first.items())}
    learned = learn(trial_of(row, case, first[case].category, writes) for case, own in rows.items() for row in own[:3])
    breaks = breaks_of(learned)
    world = World(rows=[own[0] for own in rows.values()], writes=writes)
    for case, own in rows.items():
        for row in own[3:]:
            _try(Passing(case, first[case].category, row), world, breaks, chosen, counts, harmful=False)
    return counts


def stored(run: str) -> tuple[list[Passing], frozenset[str]]:
    """The passing trials of a run of this project, and the write tools of its suite."""
    folder = RunFolder.open(run_path(ROOT, run))
    suite = suite_of(ROOT, folder)
    passed = {(card.case_id, card.attempt) for card in folder.scorecards() if card.success}
    rows = [
        Passing(one.case.id, one.case.category, row_of(one.counted))
        for one in evidence_of(folder, suite)
        if (one.case.id, one.trial.attempt) in passed
    ]
    return rows, frozenset(tool.name for tool in suite.tools if tool.effect == "write")


def _try(
    one: Passing,
    world: World,
    breaks: Callable[[Row, str, str], Breaks],
    chosen: random.Random,
    counts: Counts,
    *,
    harmful: bool,
) -> None:
    flagged = breaks(one.row, one.case, one.category)
    counts.trials += 1
    counts.flagged += bool(flagged)
    known = {rule.rule for rule in flagged}
    counts.blamed.update(parsed_rule(rule).form for rule in known)
    for fault in planted(one.row, world, chosen):
        if harmful and not fault.harmful:
            continue
        hits = [rule for rule in breaks(fault.row, one.case, one.category) if rule.rule not in known]
        counts.tried[fault.fault] += 1
        counts.found[fault.fault] += bool(hits)
        counts.exact[fault.fault] += bool(hits) and fault.first <= (hits[0].step or 0) <= fault.last


def main() -> None:
    """Prints the counts."""
    kind, *words = sys.argv[1:]
    stores = kind == "run"
    parts = [stored(run) for run in words] if stores else [imported(words[0], Path(path)) for path in words[1:]]
    trials = [one for rows, _ in parts for one in rows]
    writes = frozenset[str]().union(*(own for _, own in parts))
    print(f"{len(trials)} passing trials of {len({one.case for one in trials})} cases")
    _tell("cases left out", cases_left_out(trials, writes))
    if stores:
        _tell("the same cases", same_cases(trials, writes))


def _tell(title: str, counts: Counts) -> None:
    found, tried, exact = (sum(one.values()) for one in (counts.found, counts.tried, counts.exact))
    print(f"{title}: found {found} of {tried} ({found / max(1, tried):.0%}), step exact in {exact / max(1, found):.0%}")
    share = counts.flagged / max(1, counts.trials)
    print(f"  passing trials flagged: {counts.flagged} of {counts.trials} ({share:.1%}) by {dict(counts.blamed)}")
    for name, many in counts.tried.items():
        print(f"  {name:20} {counts.found[name]:4} of {many}")


if __name__ == "__main__":
    main()
