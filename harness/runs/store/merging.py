"""Merges the shards of a run, such as `--shard 1/4` ... `4/4` of four machines."""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from harness.cassettes.journals import FOLDER as LIVE_ANSWERS
from harness.disk import UnusableEntry, open_plain, size_below
from harness.errors import UsageError
from harness.runs.store.beside_trials import (
    Stop,
    carry_reference_states,
    stop_reason,
    write_stop,
)
from harness.runs.store.drift_report import DRIFT, DriftFinding, DriftReport, Severity, read_drift, write_drift
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import (
    JudgementWriter,
    judged_rubrics,
    keep_rubric,
    kept_rubric,
    read_judgements,
)
from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.runs.store.storage import refused_entry

_MAX_BYTES = 16 << 30
_OWN = ("run", "created", "planned", "shard")
"""In these the parts of one run differ."""


def merge_runs(parts: Sequence[RunFolder], root: Path, name: str, max_bytes: int = _MAX_BYTES) -> RunFolder:
    """Creates the run folder `root/name`, open for writing, with every trial of the parts as it was committed, and the
    parts' live cassettes, judgements and drift reports.

    Its manifest is that of the undivided run. It holds no run scores yet. Raises UsageError if the parts are not the
    shards of one run, each once, or are together larger than `max_bytes`, and ResultsError if one is damaged.
    """
    ordered = _shards_in_order(parts)
    _refuse_too_large(ordered, max_bytes)
    merged = RunFolder.create(root, _manifest([part.manifest for part in ordered], name))
    try:
        for part in ordered:
            merged.adopt(part)
        carry(ordered, merged)
        reasons = [reason for part in ordered if (reason := stop_reason(part)) is not None]
        write_stop(merged, Stop(reason="; ".join(dict.fromkeys(reasons))) if reasons else None)
    except BaseException:
        merged.close()
        shutil.rmtree(merged.path, ignore_errors=True)
        raise
    return merged


def _shards_in_order(parts: Sequence[RunFolder]) -> list[RunFolder]:
    by_number: dict[int, RunFolder] = {}
    counts = set()
    for part in parts:
        number, count = _shard(part.manifest)
        counts.add(count)
        if number in by_number:
            raise UsageError(
                f"shard {number}/{count} is given twice: {by_number[number].path.name}, {part.path.name}",
                remedy="omit one of them",
            )
        by_number[number] = part
    if len(counts) != 1:
        raise UsageError(
            f"expected shards of one division, found {', '.join(f'n/{n}' for n in sorted(counts))}",
            remedy="merge the shards of one division only",
        )
    [count] = counts
    missing = [f"{number}/{count}" for number in range(1, count + 1) if number not in by_number]
    if missing:
        raise UsageError(f"shard {', '.join(missing)} is missing", remedy="run it, or fetch its run folder")
    ordered = [by_number[number] for number in sorted(by_number)]
    for part in ordered[1:]:
        _refuse_another(ordered[0].manifest, part.manifest)
    return ordered


def _refuse_too_large(parts: Sequence[RunFolder], max_bytes: int) -> None:
    """Before anything is copied: one file is bounded by its reader, and the number of files is not."""
    together = 0
    for part in parts:
        together += size_below(part.path)
        if together > max_bytes:
            raise UsageError(
                f"the shards exceed {max_bytes / (1 << 30):g} GiB together, counted up to run {part.path.name!r}",
                remedy="check what the agent leaves in end_state.tar; if that is intended: --max-gib N",
            )


def _shard(manifest: RunManifest) -> tuple[int, int]:
    if manifest.shard is None:
        raise UsageError(
            f"run {manifest.run!r} is not a shard", remedy="shards are made by `harness run SUITE --shard 1/4`"
        )
    number, _, count = manifest.shard.partition("/")
    return int(number), int(count)


def _refuse_another(one: RunManifest, other: RunManifest) -> None:
    fields = [field for field in RunManifest.model_fields if field not in _OWN]
    differing = [field for field in fields if getattr(one, field) != getattr(other, field)]
    if differing:
        raise UsageError(
            f"runs {one.run!r} and {other.run!r} are not shards of one run: {', '.join(differing)} differ",
            remedy="merge only shards of one commit with the same options",
        )


def _manifest(manifests: Sequence[RunManifest], name: str) -> RunManifest:
    """The trials in their places again: shard i of n has every n-th from the i-th."""
    count = len(manifests)
    slots: list[PlannedTrial | None] = [None] * sum(len(manifest.planned) for manifest in manifests)
    for number, manifest in enumerate(manifests):
        if len(slots[number::count]) != len(manifest.planned):
            raise UsageError(
                f"run {manifest.run!r}: expected {len(slots[number::count])} trials as its share of {len(slots)},"
                f" found {len(manifest.planned)}"
            )
        slots[number::count] = manifest.planned
    planned = tuple(slot for slot in slots if slot is not None)
    if len({(one.case_id, one.attempt) for one in planned}) != len(planned):
        raise UsageError("two shards contain the same trial, so they are not of one division")
    created = min(manifest.created for manifest in manifests)
    return manifests[0].model_copy(update={"run": name, "created": created, "planned": planned, "shard": None})


# Files of a run folder besides the trials, which a merge copies.
#
# Live cassettes, judges' verdicts, and drift findings are stored under the merged run's name, in the
# order that an undivided run would have had.


def carry(parts: Sequence[RunFolder], merged: RunFolder) -> None:
    """Raises ResultsError naming a damaged file."""
    paths = [part.path for part in parts]
    for path in paths:
        _carry_live_cassettes(path, merged.path)
    carry_reference_states(paths, merged)
    _carry_judgements(paths, merged)
    reports = [read_drift(path) for path in paths if (path / DRIFT).is_file()]
    if reports:
        write_drift(merged.path, _one_report(reports, merged.manifest.run))


def _carry_live_cassettes(part: Path, merged: Path) -> None:
    """Each as a plain file of a bounded size: a sparse file would be written out in full."""
    for source in sorted((part / LIVE_ANSWERS).glob("*/*")):
        target = merged / source.relative_to(part)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open_plain(source) as stream, target.open("wb") as written:
                shutil.copyfileobj(stream, written)
        except UnusableEntry as error:
            raise refused_entry(error) from None


def _carry_judgements(parts: Sequence[Path], merged: RunFolder) -> None:
    """In the order of the plan; of one trial in the order in which they were made."""
    places = {(one.case_id, one.attempt): place for place, one in enumerate(merged.manifest.planned)}
    for rubric in sorted({name for part in parts for name in judged_rubrics(part)}):
        judgements = [(part, one) for part in parts for one in read_judgements(part, rubric)]
        with JudgementWriter(merged.path, rubric) as writer:
            for one in sorted(
                (one for _, one in judgements), key=lambda one: places.get((one.case_id, one.attempt), len(places))
            ):
                writer.add(one.model_copy(update={"run": merged.manifest.run}))
        for digest, part in {one.rubric_digest: part for part, one in judgements}.items():
            keep_rubric(merged.path, kept_rubric(part, rubric, digest))


def _one_report(reports: Sequence[DriftReport], run: str) -> DriftReport:
    """Every change once, with all of its cases; confirmed if one of the parts is sure of it."""
    findings = _merged_findings(one for report in reports for one in report.findings)
    sure = {one.fingerprint for one in findings}
    doubted = _merged_findings(one for report in reports for one in report.unconfirmed if one.fingerprint not in sure)
    tools = sorted({tool for report in reports for tool in report.exercised})
    return DriftReport(
        suite=reports[0].suite,
        run=run,
        seen=max(report.seen for report in reports),
        command=reports[0].command.replace(reports[0].run, run),
        pages=reports[0].pages,
        findings=findings,
        exercised={
            tool: tuple(sorted({path for report in reports for path in report.exercised.get(tool, ())}))
            for tool in tools
        },
        unconfirmed=doubted,
        divergences=tuple(one for report in reports for one in report.divergences),
        unavailable=tuple(dict.fromkeys(one for report in reports for one in report.unavailable)),
    )


def _merged_findings(findings: Iterable[DriftFinding]) -> tuple[DriftFinding, ...]:
    by_change: dict[str, DriftFinding] = {}
    for one in findings:
        known = by_change.get(one.fingerprint)
        by_change[one.fingerprint] = one if known is None else _merged_finding(known, one)
    return tuple(sorted(by_change.values(), key=_finding_order))


def _finding_order(one: DriftFinding) -> tuple[str, int, str, str, str]:
    return one.tool, get_args(Severity).index(one.severity), one.operation, one.path, one.fingerprint


def _merged_finding(one: DriftFinding, other: DriftFinding) -> DriftFinding:
    return one.model_copy(
        update={
            "cases": tuple(sorted({*one.cases, *other.cases})),
            "flips": tuple(sorted({*one.flips, *other.flips})),
            "samples": one.samples + other.samples,
        }
    )
