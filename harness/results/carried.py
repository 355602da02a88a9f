"""Files of a run folder besides the trials, which a merge copies.

Live cassettes, judges' verdicts and comparisons, and drift findings are stored under the merged run's name, in the
order that an undivided run would have had.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar, get_args

from harness.cassette.recorder.live import FOLDER as LIVE
from harness.judge import Judgement, PairwiseComparison
from harness.plain_files import UnusableEntry, open_plain
from harness.results.comparisons import add_comparison, compared_rubrics, read_comparisons
from harness.results.drift import DRIFT, DriftFinding, DriftReport, Severity, read_drift, write_drift
from harness.results.folder import RunFolder
from harness.results.judgements import JudgementWriter, judged_rubrics, keep_rubric, kept_rubric, read_judgements
from harness.results.reference_states import carry_reference_states
from harness.results.storage import refused_entry

Carried = TypeVar("Carried", Judgement, PairwiseComparison)


def carry(parts: Sequence[RunFolder], merged: RunFolder) -> None:
    """Raises ResultsError naming a damaged file."""
    paths = [part.path for part in parts]
    for path in paths:
        _carry_live_cassettes(path, merged.path)
    carry_reference_states(paths, merged)
    _carry_judgements(paths, merged)
    _carry_comparisons(paths, merged)
    reports = [read_drift(path) for path in paths if (path / DRIFT).is_file()]
    if reports:
        write_drift(merged.path, _one_report(reports, merged.manifest.run))


def _carry_live_cassettes(part: Path, merged: Path) -> None:
    """Each as a plain file of a bounded size: a sparse file would be written out in full."""
    for source in sorted((part / LIVE).glob("*/*")):
        target = merged / source.relative_to(part)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open_plain(source) as stream, target.open("wb") as written:
                shutil.copyfileobj(stream, written)
        except UnusableEntry as error:
            raise refused_entry(error) from None


def _carry_judgements(parts: Sequence[Path], merged: RunFolder) -> None:
    for rubric in _each(judged_rubrics(part) for part in parts):
        judgements = [(part, one) for part in parts for one in read_judgements(part, rubric)]
        with JudgementWriter(merged.path, rubric) as writer:
            for one in _in_order((one for _, one in judgements), merged):
                writer.add(one.model_copy(update={"run": merged.manifest.run}))
        for digest, part in {one.rubric_digest: part for part, one in judgements}.items():
            keep_rubric(merged.path, kept_rubric(part, rubric, digest))


def _carry_comparisons(parts: Sequence[Path], merged: RunFolder) -> None:
    for rubric in _each(compared_rubrics(part) for part in parts):
        comparisons = (one for part in parts for one in read_comparisons(part, rubric))
        for one in _in_order(comparisons, merged):
            add_comparison(merged.path, one.model_copy(update={"run_b": merged.manifest.run}))


def _each(names: Iterable[tuple[str, ...]]) -> Iterator[str]:
    return iter(sorted({name for some in names for name in some}))


def _in_order(entries: Iterable[Carried], merged: RunFolder) -> list[Carried]:
    """Sorts by the plan, and keeps the order of lines about the same trial."""
    places = {(one.case_id, one.attempt): place for place, one in enumerate(merged.manifest.planned)}
    return sorted(entries, key=lambda one: places.get((one.case_id, one.attempt), len(places)))


def _one_report(reports: Sequence[DriftReport], run: str) -> DriftReport:
    """Every change once, with all of its cases; confirmed where one of the parts is sure of it."""
    findings = _united(one for report in reports for one in report.findings)
    sure = {one.fingerprint for one in findings}
    doubted = _united(one for report in reports for one in report.unconfirmed if one.fingerprint not in sure)
    tools = sorted({tool for report in reports for tool in report.exercised})
    return DriftReport(
        suite=reports[0].suite,
        run=run,
        seen=max(report.seen for report in reports),
        command=reports[0].command.replace(reports[0].run, run),
        findings=findings,
        exercised={
            tool: tuple(sorted({path for report in reports for path in report.exercised.get(tool, ())}))
            for tool in tools
        },
        unconfirmed=doubted,
        divergences=tuple(one for report in reports for one in report.divergences),
        unavailable=tuple(dict.fromkeys(one for report in reports for one in report.unavailable)),
    )


def _united(findings: Iterable[DriftFinding]) -> tuple[DriftFinding, ...]:
    by_change: dict[str, DriftFinding] = {}
    for one in findings:
        known = by_change.get(one.fingerprint)
        by_change[one.fingerprint] = one if known is None else _both(known, one)
    return tuple(sorted(by_change.values(), key=_place))


def _place(one: DriftFinding) -> tuple[str, int, str, str, str]:
    return one.tool, get_args(Severity).index(one.severity), one.operation, one.path, one.fingerprint


def _both(one: DriftFinding, other: DriftFinding) -> DriftFinding:
    return one.model_copy(
        update={
            "cases": tuple(sorted({*one.cases, *other.cases})),
            "flips": tuple(sorted({*one.flips, *other.flips})),
            "samples": one.samples + other.samples,
        }
    )
