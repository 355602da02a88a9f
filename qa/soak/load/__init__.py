"""Load: 64 trials in flight on this machine, an agent in four misbehaving, and no other trial the worse for it."""

import random as randomness
from collections.abc import Iterator

from harness.sandbox.providers import ProviderName
from qa.soak.load.loaded import Loaded, Project
from qa.soak.load.project import MISBEHAVIOURS, WELL_BEHAVED
from qa.soak.rows import Row

JOBS = 64
TRIALS: dict[ProviderName, int] = {"docker-warm": 2000, "docker": 300, "local": 1000}
"""In `local` 270 are over before there was a moment without a flood: two of three such runs looked as if they grew."""
_MEMORY_GROWS_AT_MOST = 1.3
_FLAT_FROM = 4 * JOBS
"""Of fewer trials, those at the end would be among the first that were in flight: that is not a level to grow from."""


def rows(random: randomness.Random, scale: float) -> Iterator[Row]:
    with Project() as project:
        for sandbox, trials in TRIALS.items():
            attempts = max(round(trials * scale / (len(MISBEHAVIOURS) * (WELL_BEHAVED + 1))), 1)
            yield from rows_of(project, sandbox, attempts, random.randrange(1_000_000))


def rows_of(project: Project, sandbox: ProviderName, attempts: int, seed: int) -> Iterator[Row]:
    """What comes of so many attempts at every case, held against an undisturbed run with one job."""
    calm = project.run(sandbox, jobs=1, attempts=1, seed=seed, well_behaved=True)
    busy = project.run(sandbox, jobs=JOBS, attempts=attempts, seed=seed)
    yield _outcomes(busy, sandbox, seed)
    yield _scorecards(busy, calm, sandbox)
    yield _calls(busy, sandbox)
    yield _process(busy, sandbox)


def _outcomes(busy: Loaded, sandbox: str, seed: int) -> Row:
    wrong, failed = busy.unexpected(), len(busy.retried())
    said = f"{busy.wall_s:.0f} s, {busy.planned / busy.wall_s:.1f} a second, {failed} tried twice, seed {seed}"
    return Row(
        what=f"{sandbox}: {JOBS} in flight, one in four misbehaves",
        tries=busy.planned,
        survived=busy.stored - len(wrong),
        lost=busy.planned - busy.stored,
        left=len(busy.left),
        said="; ".join([said, *wrong[:3], *sorted(busy.left)[:3]]),
    )


def _scorecards(busy: Loaded, calm: Loaded, sandbox: str) -> Row:
    alike, different = busy.alike(calm)
    return Row(
        what=f"{sandbox}: scorecards of the others as with one job",
        tries=alike + len(different),
        survived=alike,
        lost=len(different),
        said=", ".join(different[:3]),
        void=bool(calm.unexpected()) or calm.stored < calm.planned,
    )


def _calls(busy: Loaded, sandbox: str) -> Row:
    seen, served = busy.latencies_ms()
    return Row(
        what=f"{sandbox}: their calls to the gateway",
        tries=busy.calls_expected,
        survived=len(seen),
        said=f"p50 {_part(served, 0.5):.2f} p99 {_part(served, 0.99):.1f} ms in it,"
        f" p50 {_part(seen, 0.5):.0f} p99 {_part(seen, 0.99):.0f} ms seen by the agent",
    )


def _process(busy: Loaded, sandbox: str) -> Row:
    first, *later = busy.resident_mb
    kept = [max(later) <= first * _MEMORY_GROWS_AT_MOST] if busy.planned >= _FLAT_FROM else []
    kept += [now <= before for before, now in zip(busy.before, busy.after, strict=True)]
    at = " ".join(f"{mb:.0f}" for mb in busy.resident_mb)
    threads, descriptors = (f"{was} -> {now}" for was, now in zip(busy.before, busy.after, strict=True))
    return Row(
        what=f"{sandbox}: memory, threads and descriptors of the harness",
        tries=len(kept),
        survived=sum(kept),
        said=f"{at} MB early, at half (the least), kept at the end, {threads} threads, {descriptors} descriptors",
    )


def _part(values: list[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)] if values else float("nan")
