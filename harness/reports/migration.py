"""The comparison of a run with a new base model and a run with the old one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pydantic import computed_field

from harness.errors import ExitCode
from harness.reports.change import LATENCY, MetricChange, change
from harness.reports.compare import Attribution, CaseChange, Comparison
from harness.reports.failure_kinds import FailureKind, failure_kinds
from harness.reports.judged import JudgedPair, judged_pairs
from harness.reports.margin import MarginCheck, Standing, margins_of, no_worse_than
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Scorecard
from harness.values import Frozen

AMOUNT_MARGIN: Final = "10%"
SHARE_MARGIN: Final = 0.05
_AMOUNTS: Final = ("cost_usd", "tokens", LATENCY)


class MigrationFigure(Frozen):
    """A figure and its margin."""

    figure: MetricChange
    check: MarginCheck
    decides: bool
    """False: the figure is not measured in both runs, and no margin was given for it."""


class Migration(Frozen):
    """The result of `harness compare --migration`."""

    before: RunManifest
    after: RunManifest
    models_before: tuple[str, ...]
    """The observed models."""
    models_after: tuple[str, ...]
    attribution: Attribution
    figures: tuple[MigrationFigure, ...]
    """Success, domains of rubrics, cost, tokens and latency, then further figures with margins."""
    left_out: tuple[str, ...] = ()
    """Figures that could not be compared, with the reasons."""
    kinds: tuple[FailureKind, ...] = ()
    lost: tuple[CaseChange, ...] = ()
    """Trials that succeeded before and fail now, or whose success is unknown now."""
    won: int = 0
    """Trials that failed before and succeed now."""
    unpaired: int = 0

    @computed_field  # type: ignore[prop-decorator]  # python/mypy#14461
    @property
    def standing(self) -> Standing:
        """Worse where one figure is, else undecided where one is, else that of success."""
        found = [one.check.standing for one in self.figures if one.decides]
        if not found or "worse" in found:
            return "worse" if found else "cannot_tell"
        if "cannot_tell" in found:
            return "cannot_tell"
        return self.figures[0].check.standing

    @property
    def exit_code(self) -> ExitCode:
        codes = {"worse": ExitCode.VERDICT, "cannot_tell": ExitCode.COULD_NOT}
        return codes.get(self.standing, ExitCode.DONE)


def migration_of(
    runs: tuple[RunFolder, RunFolder],
    comparison: Comparison,
    typed: Sequence[str],
    repetitions: Sequence[RunFolder] = (),
    prompt_texts: Mapping[str, str] | None = None,
) -> Migration:
    """The page on two runs and their comparison; `typed` are margins that replace or extend the defaults.

    `prompt_texts` are the later run's prompt files by name, by which the page calls prompts.

    Raises UsageError for a margin that is malformed or names no figure.
    """
    before, after = runs
    judged, left_out = judged_pairs(before, after)
    domains = [one for pair in judged for one in _domains(pair)]
    known = {one.metric: one for one in _figures(comparison, domains)}
    defaults: dict[str, float | str] = {"task_success": SHARE_MARGIN}
    defaults |= {one.metric: SHARE_MARGIN for one in domains} | {one: AMOUNT_MARGIN for one in _AMOUNTS if one in known}
    named = {spec.partition("=")[0].strip() for spec in typed}
    specs = margins_of(defaults, typed)
    checks = {check.metric: check for check in no_worse_than(comparison, specs, repetitions, domains)}
    old = {(card.case_id, card.attempt): card for card in before.cards()}
    new = after.cards()
    pairs = [(old[key], card) for card in new if (key := (card.case_id, card.attempt)) in old]
    return Migration(
        before=comparison.before,
        after=comparison.after,
        models_before=_models(one for one, _ in pairs),
        models_after=_models(one for _, one in pairs),
        attribution=comparison.attribution,
        figures=tuple(_figure(known[one], checks[one], one in named) for one in dict.fromkeys((*defaults, *checks))),
        left_out=left_out,
        kinds=failure_kinds(pairs, after, prompt_texts or {}),
        lost=tuple(one for one in (*comparison.hidden, *comparison.changed) if one.before),
        won=sum(not one.before for one in comparison.changed),
        unpaired=comparison.unpaired,
    )


def _domains(pair: JudgedPair) -> list[MetricChange]:
    return [change(f"{pair.rubric.name}/{domain}", pair.values(domain)) for domain in pair.rubric.weights]


def _figures(comparison: Comparison, domains: Sequence[MetricChange]) -> list[MetricChange]:
    latency = comparison.latency or MetricChange(metric=LATENCY, pairs=0, before=None, after=None)
    return [comparison.held or comparison.success, latency, *comparison.metrics, *domains]


def _figure(figure: MetricChange, check: MarginCheck, typed: bool) -> MigrationFigure:
    measured = bool(figure.pairs) and (bool(figure.before) or not check.percent)
    return MigrationFigure(figure=figure, check=check, decides=typed or measured or figure.metric == "task_success")


def _models(cards: Iterable[Scorecard]) -> tuple[str, ...]:
    return tuple(sorted({model for card in cards for model in card.models}))
