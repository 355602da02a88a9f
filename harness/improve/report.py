"""An optimisation as text: decision, curve, tree and differences."""

import difflib
from collections.abc import Iterator, Mapping

from harness.improve.acceptance import HeldOut
from harness.improve.candidates import Candidate
from harness.improve.lineage import CandidateRecord
from harness.improve.outcome import OptimisationOutcome, OptimiserResult


def tree_lines(records: Mapping[str, CandidateRecord], accepted: str | None = None) -> Iterator[str]:
    """One line a candidate, each below its parent."""
    children: dict[str | None, list[str]] = {}
    for one in records.values():
        children.setdefault(one.parent if one.parent in records else None, []).append(one.candidate)
    waiting = [(name, 0) for name in reversed(children.get(None, []))]
    while waiting:
        name, depth = waiting.pop()
        yield f"{'  ' * depth}{_candidate_line(records[name], accepted)}"
        waiting += [(child, depth + 1) for child in reversed(children.get(name, []))]


def result_lines(outcome: OptimisationOutcome) -> Iterator[str]:
    """The decision, and each optimiser beside the others."""
    train, validation, held_out = outcome.cases
    what = "all components" if outcome.component is None else f"component {outcome.component}"
    yield f"{outcome.suite}: {what}, {train} training, {validation} validation and {held_out} held-out cases"
    yield f"noise of judge and simulator on validation: {outcome.noise_margin:.3f} ({outcome.noise_samples} samples)"
    for one in outcome.results:
        yield from _optimiser(one)
    yield from _added_by_optimiser(outcome)
    if outcome.refusals:
        yield f"refused proposals: {len(outcome.refusals)}, the last because {outcome.refusals[-1]}"
    if outcome.looks_before:
        yield f"the held-out cases were examined by {outcome.looks_before} optimisations before"
    spent = outcome.spent
    cost = "at an unknown cost" if spent.usd is None else f"{spent.usd:.4f} USD"
    yield (
        f"spent: {spent.rollouts} rollouts, {spent.reflections} revisions, {spent.calls} calls, {spent.tokens} tokens, "
        f"{cost}; {outcome.calls} asked in this session"
    )
    verdict = f"accepted {outcome.accepted}" if outcome.accepted else "no better prompt found"
    yield f"{verdict}: {outcome.why}"


def curve_lines(outcome: OptimisationOutcome) -> Iterator[str]:
    """The best candidate so far by rollouts, of the optimiser whose pick counts."""
    yield "rollouts  validation  held-out  best candidate"
    for one in outcome.result.curve:
        held_out = "       -" if one.held_out is None else f"{one.held_out:8.3f}"
        yield f"{one.rollouts:8d}  {one.validation:10.3f}  {held_out}  {one.candidate}"


def diff_lines(before: Candidate, after: Candidate) -> Iterator[str]:
    """A unified diff of the texts that differ, with `a/` and `b/` before the paths."""
    for path in sorted({*before.texts, *after.texts}):
        old, new = before.texts.get(path, ""), after.texts.get(path, "")
        yield from difflib.unified_diff(
            old.splitlines(), new.splitlines(), fromfile=f"a/{path}", tofile=f"b/{path}", lineterm=""
        )


def held_out_words(one: HeldOut) -> str:
    """The held-out figures of a candidate in one line."""
    if one.before is None or one.after is None or one.gain is None:
        return "held-out not measured"
    share = "" if one.interval is None else f", at least {one.interval.low:.1%} of changed cases better at 95 %"
    p = "" if one.p is None else f", p = {one.p:.4f}"
    return (
        f"held-out {one.before:.3f} -> {one.after:.3f} ({one.gain:+.3f}; {one.better} cases better, {one.worse} worse "
        f"of {one.cases}{share}{p})"
    )


def held_out_rows(before: CandidateRecord, after: CandidateRecord) -> Iterator[str]:
    """One line a domain, and one a criterion: the mean on the held-out cases before and after."""
    was, becomes = before.parts.get("held_out"), after.parts.get("held_out")
    if was is None or becomes is None:
        return
    for kind, old, new in (("domain", was.domains, becomes.domains), ("criterion", was.criteria, becomes.criteria)):
        for name in dict.fromkeys((*old, *new)):
            yield f"{kind} {name}: {_mean_words(old.get(name))} -> {_mean_words(new.get(name))}"


def _mean_words(mean: float | None) -> str:
    return "not determined" if mean is None else f"{mean:.3f}"


def _optimiser(one: OptimiserResult) -> Iterator[str]:
    yield f"{one.optimiser}: {one.candidates} candidates by {one.rollouts} rollouts; {one.pick.why}"
    for name, breaches in one.pick.vetoed.items():
        yield f"  vetoed {name}: {', '.join(breaches)}"
    for name in one.pick.too_costly:
        yield f"  too costly {name}"
    if one.pruning is not None and one.pruning.kept < one.pruning.changes:
        left = f"{one.pruning.kept} of {one.pruning.changes} changed lines are left"
        yield f"  pruned to {one.pruning.candidate}: {left}, by {one.pruning.rollouts} rollouts"
    if one.pruning is not None and one.pruning.out_of_rollouts:
        yield f"  pruning ran out of rollouts after {one.pruning.rollouts}: lines without use may be left"
    if one.held_out is not None:
        yield f"  {one.held_out.candidate}: {held_out_words(one.held_out)}: {one.held_out.why}"


def _added_by_optimiser(outcome: OptimisationOutcome) -> Iterator[str]:
    """What the optimiser reached beyond each other one, by what each would have handed over."""
    first, *others = outcome.results
    before = next((one.held_out.before for one in outcome.results if one.held_out is not None), None)
    own = _held_out_score(first, before)
    for other in others:
        reached = _held_out_score(other, before)
        if own is not None and reached is not None:
            added = f"{own - reached:+.3f} on held-out cases by as many rollouts"
            yield f"{first.optimiser} over {other.optimiser}: {added} ({own:.3f} and {reached:.3f})"


def _held_out_score(one: OptimiserResult, before: float | None) -> float | None:
    """The held-out score of the texts that would be in use: those of its pick if that is accepted."""
    return one.held_out.after if one.held_out is not None and one.held_out.accepted else before


def _candidate_line(one: CandidateRecord, accepted: str | None) -> str:
    scores = [f"{part} {domain.score:.3f}" for part, domain in one.parts.items() if domain.score is not None]
    vetoed = [f"vetoed at {where}: {', '.join(breaches)}" for where, breaches in one.vetoed.items()]
    taken = ["accepted"] if one.candidate == accepted else []
    dropped = [f"without {len(one.dropped)} changed lines of its parent"] if one.dropped else []
    return "  ".join([one.candidate, one.optimiser or "in use", *dropped, *scores, *vetoed, *taken])
