"""Merges the shards of a run, such as `--shard 1/4` ... `4/4` of four machines."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from harness.errors import UsageError
from harness.plain_files import size_below
from harness.results.allowance import allowed_inconclusive, write_allowance
from harness.results.folder import RunFolder
from harness.results.manifest import PlannedTrial, RunManifest
from harness.results.stop import Stop, stop_reason, write_stop
from harness.values import Frozen


class MergeLimits(Frozen):
    """The limits of a merge and of the merged run."""

    max_bytes: int = Field(default=16 << 30, ge=0)
    """The size of all files of the parts together, sparse ones in full, as copying writes them."""
    max_inconclusive: int | None = Field(default=None, ge=0)
    """Trials with a replay miss that the merged run may have; None: as many as the most lenient part."""


_OWN = ("run", "created", "planned", "shard")
"""In these the parts of one run differ."""


def shard_of(planned: Sequence[PlannedTrial], number: int, count: int) -> tuple[PlannedTrial, ...]:
    """Every `count`-th trial from the `number`-th (counted from 1), so that long cases are spread over the shards."""
    return tuple(planned[number - 1 :: count])


def merge_runs(parts: Sequence[RunFolder], root: Path, name: str, limits: MergeLimits | None = None) -> RunFolder:
    """Creates the run folder `root/name`, open for writing, with every trial of the parts as it was committed, and the
    parts' live cassettes, judgements and drift reports.

    Its manifest is that of the undivided run. It holds no run scores yet. Raises UsageError where the parts are not the
    shards of one run, each once, or are larger together than the limit, and ResultsError where one is damaged.
    """
    from harness.results.carried import carry  # it reads what judges write

    limits = limits or MergeLimits()
    ordered = _in_order(parts)
    _refuse_too_large(ordered, limits.max_bytes)
    merged = RunFolder.create(root, _manifest([part.manifest for part in ordered], name))
    try:
        for part in ordered:
            merged.adopt(part)
        carry(ordered, merged)
        lenient = max(map(allowed_inconclusive, ordered))
        write_allowance(merged, lenient if limits.max_inconclusive is None else limits.max_inconclusive)
        reasons = [reason for part in ordered if (reason := stop_reason(part)) is not None]
        write_stop(merged, Stop(reason="; ".join(dict.fromkeys(reasons))) if reasons else None)
    except BaseException:
        merged.close()
        shutil.rmtree(merged.path, ignore_errors=True)
        raise
    return merged


def _in_order(parts: Sequence[RunFolder]) -> list[RunFolder]:
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
