"""Runs for each combination of values of the agent's variables: all run folders are created before the first trial,
then the runs are made one after another.

A run that is begun is a run folder without a trial, so that a matrix is resumed by resuming its runs.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import UsageError
from harness.runs.execution.environment import Say
from harness.runs.execution.run import PreparedRun, manifest_of, prepare
from harness.runs.plan.plan import RunOptions, RunPlan
from harness.runs.plan.planning import plan_of
from harness.runs.plan.variables import combinations
from harness.runs.store.beside_trials import stop_of
from harness.runs.store.folder import RunFolder, run_path
from harness.runs.store.manifest import (
    Matrix,
    RunNameTaken,
    begin_run,
    default_run_name,
    matrix_at,
    matrix_run_names,
    write_matrix,
)
from harness.suite.loading import load_suite


@dataclass(frozen=True, kw_only=True)
class BegunMatrix:
    """A matrix whose run folders exist."""

    matrix: Matrix
    path: Path
    plans: tuple[RunPlan, ...]
    """The plan of each run, in the order of the matrix; each resumes its folder, and they share one budget."""

    @property
    def unfinished(self) -> tuple[RunPlan, ...]:
        """The plans with missing trials; trials that a sequential test left out are not missing."""
        return tuple(plan for plan in self.plans if plan.resumes is not None and not _is_complete(plan.resumes))


def is_matrix(project: Path, options: RunOptions) -> bool:
    """Whether the options start or resume several runs."""
    if options.resume is not None:
        return matrix_at(run_path(project, options.resume)) is not None
    return any("," in spec for spec in options.variables)


def begin_matrix(project: Path, options: RunOptions, say: Say) -> BegunMatrix:
    """Creates the run folders of a new matrix. Raises UsageError for invalid options before any is created."""
    if options.suite is None:
        raise UsageError("give a suite, or a matrix to resume: --resume MATRIX")
    if options.shard is not None:
        raise UsageError(
            "--shard divides one run, and --with gives several",
            remedy="run the values one after another, each by shards",
        )
    suite = load_suite(project, options.suite)
    chosen = combinations(suite, options.agent, options.variables)
    prepared = [prepare(plan_of(project, _of_one(options, values))) for values in chosen]
    first = prepared[0]
    several = tuple(name for name in chosen[0] if len({values[name] for values in chosen}) > 1)
    runs = first.plan.runs

    def begin(name: str) -> Matrix:
        names = matrix_run_names(name, [[values[one] for one in several] for values in chosen])
        _refuse_taken(runs, name, names)
        matrix = Matrix(
            name=name,
            created=first.plan.created.isoformat(timespec="seconds"),
            suite=suite.name,
            agent=first.agent.name,
            variables=several,
            runs=tuple(names),
        )
        _begin_runs(prepared, names, say)
        write_matrix(runs, matrix)
        return matrix

    matrix = begin_run(
        runs, options.run_name, default_run_name(first.plan.created, suite.name, f"{first.agent.name}-matrix"), begin
    )
    plans = (replace(one.plan, name=name, resumes=runs / name) for one, name in zip(prepared, matrix.runs, strict=True))
    return _with_one_budget(matrix, runs / matrix.name, plans)


def resume_matrix(project: Path, options: RunOptions) -> BegunMatrix:
    """The matrix that the options resume. Raises UsageError if one of its runs is gone, or cannot be resumed."""
    assert options.resume is not None
    path = run_path(project, options.resume)
    matrix = matrix_at(path)
    if matrix is None:
        raise UsageError(f"{str(path)!r} is not a matrix")
    folders = [path.parent / name for name in matrix.runs]
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(
                f"matrix {matrix.name!r} names the run {folder.name!r}, which is not in {path.parent}",
                remedy="restore it, or run its values again: harness run SUITE --with NAME=VALUE",
            )
    plans = (plan_of(project, options.model_copy(update={"resume": str(folder)})) for folder in folders)
    return _with_one_budget(matrix, path, plans)


def _of_one(options: RunOptions, values: dict[str, str]) -> RunOptions:
    specs = tuple(f"{name}={value}" for name, value in values.items())
    return options.model_copy(update={"variables": specs, "run_name": None})


def _with_one_budget(matrix: Matrix, path: Path, plans: Iterable[RunPlan]) -> BegunMatrix:
    own = list(plans)
    shared = tuple(replace(plan, budget=own[0].budget) for plan in own)
    return BegunMatrix(matrix=matrix, path=path, plans=shared)


def _refuse_taken(runs: Path, matrix: str, names: Sequence[str]) -> None:
    for name in (matrix, *names):
        if (runs / name).exists():
            raise RunNameTaken(
                f"run {name!r} already exists in {runs}",
                remedy="choose another --run-name, or continue that matrix or run: --resume",
            )


def _begin_runs(prepared: Sequence[PreparedRun], names: Sequence[str], say: Say) -> None:
    begun: list[Path] = []
    try:
        for one, name in zip(prepared, names, strict=True):
            with RunFolder.create(one.plan.runs, manifest_of(one.job(name, say))) as folder:
                begun.append(folder.path)
    except BaseException:
        for path in begun:  # nothing ran in them
            shutil.rmtree(path, ignore_errors=True)
        raise


def _is_complete(path: Path) -> bool:
    folder = RunFolder.open(path)
    stop = stop_of(folder)
    decided = stop is not None and stop.decided
    return decided or len(folder.finished()) == len(folder.manifest.planned)
