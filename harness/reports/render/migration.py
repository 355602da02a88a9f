"""The page on a change of the base model, for a terminal and as Markdown: the same tables and lines in both."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from harness.reports.change import MetricChange
from harness.reports.compare import CaseChange
from harness.reports.failure_kinds import FailureKind
from harness.reports.margin import margin_words
from harness.reports.migration import Migration, MigrationFigure
from harness.reports.render.markdown import plain, section_lines
from harness.reports.render.sections import Section, chance
from harness.reports.render.terminal import heading, section_table, view
from harness.reports.render.wording import printable, reason_words, variable_words
from harness.reports.units import UNKNOWN, figure, figure_between, signed_figure, signed_percent

_SHOWN = 12
_LONGEST = 160


@dataclass(frozen=True, kw_only=True)
class _Lines:
    """A heading and lines of text below it."""

    title: str
    lines: Sequence[str]


@view
def migration_view(migration: Migration) -> Iterator[RenderableType]:
    """The verdict, then the figures behind it."""
    found = migration
    yield heading(f"{found.after.suite}: {_models(found)}", f"{found.before.run} → {found.after.run}")
    yield Text(printable(verdict_words(found)), style="bold")
    for part in _parts(found):
        if isinstance(part, Section):
            yield from section_table(part)
            continue
        yield Text(f"\n{part.title}", style="bold")
        for line in part.lines:
            yield Text(f"  {printable(line, _LONGEST)}")


def migration_markdown(migration: Migration) -> str:
    """The page with the same parts."""
    lines = [f"# {plain(migration.after.suite)}: {plain(_models(migration))}", ""]
    lines += [f"**{plain(verdict_words(migration))}**", ""]
    lines.append(plain(f"{migration.before.run} → {migration.after.run}"))
    for part in _parts(migration):
        if isinstance(part, Section):
            lines += section_lines(part)
        else:
            lines += ["", f"## {part.title[0].upper()}{part.title[1:]}", "", *(f"- {plain(one)}" for one in part.lines)]
    return "\n".join(lines) + "\n"


def verdict_words(migration: Migration) -> str:
    """The verdict in one line, with the deciding figures."""
    deciding = [one.figure.metric for one in migration.figures if one.decides]
    of = [one.figure.metric for one in migration.figures if one.decides and one.check.standing == migration.standing]
    match migration.standing:
        case "worse":
            return f"worse: {', '.join(of)}"
        case "cannot_tell":
            return f"cannot tell: {', '.join(of) or 'nothing is measured in both runs'}"
        case "better":
            return f"better: task_success; no figure is worse by more than its margin ({', '.join(deciding)})"
        case "parity":
            return f"at parity: no figure is worse by more than its margin ({', '.join(deciding)})"


def _models(migration: Migration) -> str:
    before, after = ", ".join(migration.models_before), ", ".join(migration.models_after)
    if not before and not after:
        before, after = variable_words(migration.before.variables), variable_words(migration.after.variables)
    return f"{before or 'model not seen'} → {after or 'model not seen'}"


def _parts(migration: Migration) -> Iterator[Section | _Lines]:
    attribution = migration.attribution
    changed = [f"{one.part}: {one.before} → {one.after}" for one in attribution.changed]
    apart = [f"to separate them: {words}" for words in attribution.separating]
    yield _Lines(title="what differs", lines=[attribution.verdict, *changed, *apart])
    yield _parity(migration)
    if not migration.kinds:
        yield _Lines(title="failure kinds", lines=["no kind is new or more frequent"])
    else:
        yield _kinds(migration.kinds)
        touched = [*_touched("tool", migration.kinds), *_touched("agent", migration.kinds)]
        touched += _touched("prompt", migration.kinds)
        if touched:
            yield _Lines(title="tools, agents and prompts with these failures: trials", lines=touched)
    yield _cases(migration)


def _parity(migration: Migration) -> Section:
    undecided = [
        f"{one.figure.metric}: {one.check.reason}"
        for one in migration.figures
        if one.decides and one.check.standing == "cannot_tell"
    ]
    unpaired = f"{migration.unpaired} trials without a measured counterpart are omitted"
    return Section(
        title="parity",
        heads=("figure", "before", "after", "change", "95 %", "margin", "says"),
        rows=tuple(_figure_row(one) for one in migration.figures),
        notes=(*undecided, *migration.left_out, *((unpaired,) if migration.unpaired else ())),
    )


def _figure_row(one: MigrationFigure) -> tuple[str, ...]:
    figure, check = one.figure, one.check
    margin = margin_words(check.margin, percent=check.percent)
    says = check.standing.replace("_", " ") if one.decides else "not measured"
    if not figure.pairs:
        return (figure.metric, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, margin, says)
    return (figure.metric, *_cells(figure, percentage=check.percent), margin, says)


def _cells(found: MetricChange, *, percentage: bool) -> tuple[str, ...]:
    metric = found.metric
    values = figure(metric, found.before), figure(metric, found.after)
    if percentage and found.is_amount and found.relative_difference is not None:
        ends = found.relative
        between = UNKNOWN if ends is None else f"{signed_percent(ends.low)} to {signed_percent(ends.high)}"
        return (*values, signed_percent(found.relative_difference), between)
    return (*values, signed_figure(metric, found.difference), figure_between(metric, found.interval) or UNKNOWN)


_GROUPS = {
    "invalid_arguments": "invalid arguments",
    "failure_mode": "finding",
    "outcome": "outcome",
}


def _kinds(kinds: Sequence[FailureKind]) -> Section:
    rows = tuple(
        (
            kind_words(one),
            f"{one.trials_before} of {one.change.pairs}",
            f"{one.trials_after} of {one.change.pairs}",
            "new" if one.appeared else "more",
            chance(one.change),
            ", ".join(one.examples[:1]),
        )
        for one in kinds[:_SHOWN]
    )
    more = (f"and {len(kinds) - _SHOWN} more kinds; --json has all",) if len(kinds) > _SHOWN else ()
    return Section(
        title="new or more frequent kinds of failure",
        heads=("kind", "before", "after", "", "p", "for example"),
        rows=rows,
        notes=more,
    )


def kind_words(one: FailureKind) -> str:
    """The group and the kind."""
    return f"{_GROUPS[one.group]}: {one.kind.replace('_', ' ')}"


def _touched(what: str, kinds: Sequence[FailureKind]) -> list[str]:
    by_name: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for one in kinds:
        counts = {"tool": one.tools, "agent": one.agents, "prompt": one.prompts}[what]
        for name, trials in counts.items():
            by_name[name].append((trials, kind_words(one)))
    ordered = sorted(by_name.items(), key=lambda named: (-sum(trials for trials, _ in named[1]), named[0]))
    return [f"{what} {name}: " + ", ".join(f"{words} ({trials})" for trials, words in own) for name, own in ordered]


def _cases(migration: Migration) -> _Lines:
    lost = migration.lost
    lines = [f"{one.case_id}/{one.attempt} {_now(one)}: {reason_words(one.reasons)}" for one in lost[:_SHOWN]]
    if len(lost) > _SHOWN:
        lines.append(f"and {len(lost) - _SHOWN} more; --json has all")
    title = f"trials that passed before and not now: {len(lost)}; trials that pass only now: {migration.won}"
    return _Lines(title=title, lines=lines or ["none"])


def _now(one: CaseChange) -> str:
    return "now fails" if one.after is False else "is undecided now"
