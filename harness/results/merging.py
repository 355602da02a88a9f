"""Runs that were made in parts, put together: `--shard 1/4` ... `4/4` on four machines are one run afterwards."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from harness.errors import UsageError
from harness.results.allowance import allowed_inconclusive, write_allowance
from harness.results.carried import carry
from harness.results.folder import RunFolder
from harness.results.manifest import PlannedTrial, RunManifest
from harness.results.stop import stop_reason, write_stop

_OWN = ("run", "created", "planned", "shard")
"""In these the parts of one run differ."""


def shard_of(planned: Sequence[PlannedTrial], number: int, count: int) -> tuple[PlannedTrial, ...]:
    """Every `count`-th trial from the `number`-th (counted from 1), so that long cases are spread over the shards."""
    return tuple(planned[number - 1 :: count])


def merge_runs(parts: Sequence[RunFolder], root: Path, name: str) -> RunFolder:
    """Creates the run folder `root/name`, open for writing, with every trial of the parts as it was committed, and the
    parts' live cassettes, judgements and drift reports. It may have as many inconclusive trials as the most lenient
    part.

    Its manifest is that of the undivided run. It holds no run scores yet. Raises UsageError where the parts are not the
    shards of one run, each once, and ResultsError where one is damaged.
    """
    ordered = _in_order(parts)
    merged = RunFolder.create(root, _manifest([part.manifest for part in ordered], name))
    try:
        for part in ordered:
            merged.adopt(part)
        carry(ordered, merged)
        write_allowance(merged, max(map(allowed_inconclusive, ordered)))
        reasons = [reason for part in ordered if (reason := stop_reason(part)) is not None]
        write_stop(merged, "; ".join(dict.fromkeys(reasons)) or None)
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
            raise UsageError(f"shard {number}/{count} is given twice: {by_number[number].path.name}, {part.path.name}")
        by_number[number] = part
    if len(counts) != 1:
        raise UsageError(f"the runs are shards of different divisions: {', '.join(f'n/{n}' for n in sorted(counts))}")
    [count] = counts
    missing = [f"{number}/{count}" for number in range(1, count + 1) if number not in by_number]
    if missing:
        raise UsageError(f"shard {', '.join(missing)} is missing", remedy="run it, or fetch its run folder")
    ordered = [by_number[number] for number in sorted(by_number)]
    for part in ordered[1:]:
        _refuse_another(ordered[0].manifest, part.manifest)
    return ordered


def _shard(manifest: RunManifest) -> tuple[int, int]:
    if manifest.shard is None:
        raise UsageError(
            f"run {manifest.run!r} is no shard", remedy="shards are made by `harness run SUITE --shard 1/4`"
        )
    number, _, count = manifest.shard.partition("/")
    return int(number), int(count)


def _refuse_another(one: RunManifest, other: RunManifest) -> None:
    fields = [field for field in RunManifest.model_fields if field not in _OWN]
    differing = [field for field in fields if getattr(one, field) != getattr(other, field)]
    if differing:
        raise UsageError(
            f"runs {one.run!r} and {other.run!r} are not shards of one run: {', '.join(differing)} differ",
            remedy="merge what was run from one commit with the same options",
        )


def _manifest(manifests: Sequence[RunManifest], name: str) -> RunManifest:
    """The trials in their places again: shard i of n has every n-th from the i-th."""
    count = len(manifests)
    slots: list[PlannedTrial | None] = [None] * sum(len(manifest.planned) for manifest in manifests)
    for number, manifest in enumerate(manifests):
        if len(slots[number::count]) != len(manifest.planned):
            raise UsageError(f"run {manifest.run!r} has not as many trials as its share of {len(slots)}")
        slots[number::count] = manifest.planned
    planned = tuple(slot for slot in slots if slot is not None)
    if len({(one.case_id, one.attempt) for one in planned}) != len(planned):
        raise UsageError("the shards have trials in common, so they are not of one division")
    created = min(manifest.created for manifest in manifests)
    return manifests[0].model_copy(update={"run": name, "created": created, "planned": planned, "shard": None})
