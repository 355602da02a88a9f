"""An optimisation as text and as one HTML page: decision, curve, tree and differences."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from harness.improve.acceptance import HeldOut
from harness.improve.candidates import Candidate
from harness.improve.lineage import CandidateRecord
from harness.improve.outcome import CurvePoint, OptimisationOutcome, OptimiserResult
from harness.reports.palette import palette


def tree_lines(records: Mapping[str, CandidateRecord], accepted: str | None = None) -> Iterator[str]:
    """One line a candidate, each below its parent."""
    for name, depth in placed(records):
        yield f"{'  ' * depth}{_candidate_line(records[name], accepted)}"


def placed(records: Mapping[str, CandidateRecord]) -> Iterator[tuple[str, int]]:
    """Each candidate with its depth in the tree, behind its parent."""
    children: dict[str | None, list[str]] = {}
    for one in records.values():
        children.setdefault(one.parent if one.parent in records else None, []).append(one.candidate)
    waiting = [(name, 0) for name in reversed(children.get(None, []))]
    while waiting:
        name, depth = waiting.pop()
        yield name, depth
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
    between = "" if one.interval is None else f" [{one.interval.low:+.3f}, {one.interval.high:+.3f}]"
    p = "" if one.p is None else f", p = {one.p:.4f}"
    return (
        f"held-out {one.before:.3f} -> {one.after:.3f} ({one.gain:+.3f}{between}{p}; {one.better} cases better, "
        f"{one.worse} worse of {one.cases})"
    )


def _optimiser(one: OptimiserResult) -> Iterator[str]:
    yield f"{one.optimiser}: {one.candidates} candidates by {one.rollouts} rollouts; {one.pick.why}"
    for name, breaches in one.pick.vetoed.items():
        yield f"  vetoed {name}: {', '.join(breaches)}"
    for name in one.pick.too_costly:
        yield f"  too costly {name}"
    if one.pruning is not None and one.pruning.kept < one.pruning.changes:
        left = f"{one.pruning.kept} of {one.pruning.changes} changed lines are left"
        yield f"  pruned to {one.pruning.candidate}: {left}, by {one.pruning.rollouts} rollouts"
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


# An optimisation as one HTML page: decision, curve, tree and diff; no script, nothing loaded from elsewhere.

_WIDTH, _HEIGHT, _EDGE = 640, 260, 40
_ROW, _INDENT = 26, 28
_STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:var(--text)}
body{background:var(--page)}pre{background:var(--sunk);padding:1rem;overflow-x:auto}
.add{color:var(--good)}.del{color:var(--bad)}svg{max-width:100%}table{border-collapse:collapse}
td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid var(--line)}"""


def optimisation_page(
    outcome: OptimisationOutcome, records: Mapping[str, CandidateRecord], start: Candidate, shown: Candidate | None
) -> str:
    """`shown` is the candidate whose difference to the texts in use is printed."""
    title = f"Optimisation of {outcome.suite}: {outcome.component or 'all components'}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<pre>{escape(chr(10).join(result_lines(outcome)))}</pre>",
        "<h2>Best score by rollouts</h2>",
        *(
            f"<h3>{escape(one.optimiser)}</h3>{_curve(one.optimiser, one.curve)}"
            for one in outcome.results
            if len(one.curve) > 0
        ),
        "<h2>Scores by domain</h2>",
        _domains(records),
        "<h2>Candidates</h2>",
        _tree(records, outcome.accepted),
    ]
    if shown is not None:
        parts += [f"<h2>Difference: {escape(shown.id)}</h2>", _diff(start, shown)]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{palette()}{_STYLE}</style>{''.join(parts)}</html>\n"
    )


def _curve(optimiser: str, points: Sequence[CurvePoint]) -> str:
    """Validation and held-out score of the best candidate so far, as steps over the rollouts."""
    most = max(one.rollouts for one in points) or 1
    lines = []
    for name, colour in (("validation", "var(--a)"), ("held_out", "var(--b)")):
        measured = [(one.rollouts, getattr(one, name)) for one in points if getattr(one, name) is not None]
        if measured:
            path = _steps([(_EDGE + (_WIDTH - 2 * _EDGE) * at / most, _level(score)) for at, score in measured])
            lines.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            lines += [
                f'<circle cx="{_EDGE + (_WIDTH - 2 * _EDGE) * at / most:.1f}" cy="{_level(score):.1f}" r="3" '
                f'fill="{colour}"><title>{name} {score:.3f} after {at} rollouts</title></circle>'
                for at, score in measured
            ]
            label = name.replace("_", "-")
            lines.append(
                f'<text x="{_WIDTH - _EDGE}" y="{_level(measured[-1][1]) - 6:.1f}" text-anchor="end" fill="{colour}" '
                f'font-size="12">{label} {measured[-1][1]:.3f}</text>'
            )
    axes = (
        f'<path d="M{_EDGE} {_EDGE}V{_HEIGHT - _EDGE}H{_WIDTH - _EDGE}" fill="none" stroke="var(--edge)"/>'
        f'<text x="4" y="{_EDGE + 4}" font-size="12" fill="var(--dim)">1.0</text>'
        f'<text x="4" y="{_HEIGHT - _EDGE + 4}" font-size="12" fill="var(--dim)">0.0</text>'
        f'<text x="{_WIDTH - _EDGE}" y="{_HEIGHT - 12}" text-anchor="end" font-size="12" fill="var(--dim)">'
        f"{most} rollouts</text>"
    )
    name = f'aria-label="Best score of {escape(optimiser)} by rollouts"'
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" {name}>{axes}{"".join(lines)}</svg>'


def _level(score: float) -> float:
    return _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * min(1.0, max(0.0, score))


def _steps(points: Sequence[tuple[float, float]]) -> str:
    first, *rest = points
    return f"M{first[0]:.1f} {first[1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest) + f"H{_WIDTH - _EDGE}"


def _domains(records: Mapping[str, CandidateRecord]) -> str:
    names = dict.fromkeys(name for one in records.values() for part in one.parts.values() for name in part.domains)
    rows = [
        f"<tr><td>{escape(one.candidate)}</td><td>{escape(part)}</td>"
        + "".join(f"<td>{_figure(domain.domains.get(name))}</td>" for name in names)
        + f"<td>{_figure(domain.score)}</td><td>{domain.steps:.1f}</td><td>{_figure(domain.cost_usd)}</td></tr>"
        for one in records.values()
        for part, domain in one.parts.items()
    ]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    columns = f"<th>candidate</th><th>part</th>{head}<th>score</th><th>steps</th><th>USD</th>"
    return f'<table aria-label="Scores by domain"><tr>{columns}</tr>{"".join(rows)}</table>'


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _tree(records: Mapping[str, CandidateRecord], accepted: str | None) -> str:
    """Each candidate below and right of its parent."""
    places = {name: (depth, row) for row, (name, depth) in enumerate(placed(records))}
    lines = []
    for name, (depth, row) in places.items():
        x, y = 12 + depth * _INDENT, 14 + row * _ROW
        one = records[name]
        if one.parent in places:
            parent_depth, parent_row = places[one.parent]
            from_x, from_y = 12 + parent_depth * _INDENT, 14 + parent_row * _ROW
            lines.append(f'<path d="M{from_x} {from_y}V{y}H{x}" fill="none" stroke="var(--edge)"/>')
        colour = "var(--good)" if name == accepted else "var(--bad)" if one.vetoed else "var(--a)"
        score = one.parts["validation"].score if "validation" in one.parts else None
        words = [name, one.optimiser or "in use", _figure(score), *(f"vetoed at {where}" for where in one.vetoed)]
        lines.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"/>')
        lines.append(
            f'<text x="{x + 10}" y="{y + 4}" font-size="13" fill="currentColor">{escape("  ".join(words))}</text>'
        )
    height = 14 + len(places) * _ROW
    name = 'aria-label="Candidates, each below its parent"'
    return f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img" {name}>{"".join(lines)}</svg>'


def _diff(before: Candidate, after: Candidate) -> str:
    kinds = {"+": "add", "-": "del"}
    lines = (f'<span class="{kinds.get(one[:1], "")}">{escape(one)}</span>' for one in diff_lines(before, after))
    return f"<pre>{chr(10).join(lines)}</pre>"
