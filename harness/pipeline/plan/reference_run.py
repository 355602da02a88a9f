"""The reference of `--trials auto`, and the number of attempts that it permits."""

from pathlib import Path

from harness.case import Suite
from harness.errors import UsageError
from harness.pipeline.plan.run_options import RunOptions
from harness.report import ReferenceTrials, reference_trials
from harness.results import RunFolder, RunManifest, read_baseline, run_path


def reference_of(project: Path, suite: Suite, options: RunOptions) -> ReferenceTrials | None:
    """The reference's trials; None where the number of attempts is fixed.

    Raises UsageError where nothing is named to compare with, or a run of another suite, NotMeasured where the suite has
    no baseline.
    """
    if options.trials != "auto":
        if options.against is not None and not options.no_worse_than:
            raise UsageError("--against needs --trials auto or --no-worse-than", remedy="add one of them")
        return None
    for name, given in (("--stop-early", options.stop_early), ("--shard", options.shard)):
        if given:
            raise UsageError(f"--trials auto and {name} exclude each other: --trials auto chooses the trials itself")
    if options.against is not None:
        found = reference_trials(RunFolder.open(run_path(project, options.against)))
        if found.suite_digest != suite.digest:
            raise UsageError(
                f"run {found.name!r} is of another suite, or of another version of {suite.name!r}",
                remedy="run its agent again: harness run SUITE --agent NAME --trials 8",
            )
        return found
    if not (options.against_baseline or suite.gates.against_baseline):
        raise UsageError("--trials auto needs a run to compare with", remedy="add --against RUN or --against-baseline")
    return reference_trials(read_baseline(project, suite.name, suite.digest))


def with_kept_reference(project: Path, options: RunOptions, manifest: RunManifest) -> RunOptions:
    """The options of a resumed run, with what its first part was compared with.

    Raises UsageError where the options name another run: rounds that one comparison chose are not evidence in another.
    """
    kept = manifest.allocated_against
    if kept is None:
        return options
    typed = options.against
    if typed is not None and (
        manifest.allocated_by_baseline or RunFolder.open(run_path(project, typed)).manifest.run != kept
    ):
        raise UsageError(
            f"the trials of run {manifest.run!r} were chosen by comparison with"
            f" {'the baseline' if manifest.allocated_by_baseline else repr(kept)}, not with {typed!r}",
            remedy="omit --against: a resumed run is compared with the same trials",
        )
    if manifest.allocated_by_baseline:
        return options.model_copy(update={"trials": "auto", "against_baseline": True})
    return options.model_copy(update={"trials": "auto", "against": typed or kept})


def attempts_of(suite: Suite, options: RunOptions, reference: ReferenceTrials | None) -> dict[str, int]:
    """The most attempts that each case can be given: as many as the reference has.

    One where tools and model are replayed, since a further attempt would be the same as the first.
    """
    if reference is None:
        return {}
    replayed = options.tools in ("replay", "sealed") and (
        suite.model is None or (options.model or suite.model.mode) == "replay"
    )
    return {} if replayed else reference.attempts
