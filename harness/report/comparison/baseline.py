"""Compares a run with its suite's baseline: what became worse, and whether that is enough to reject a change."""

from collections.abc import Collection, Sequence

from harness.errors import ExitCode, NotMeasured
from harness.report.comparison.compare import CaseChange, Comparison, compare
from harness.report.gate import Holding
from harness.results import Baseline, RunFolder, RunManifest, stop_of
from harness.score import Scorecard
from harness.trace import MEASURED
from harness.values import Frozen


class BaselineGate(Frozen):
    """Whether a run is at least as good as its baseline.

    Where tools and model were replayed, the same agent behaves identically: a trial that succeeded and now fails is
    lost, and one is enough to fail the gate. Where a model answered live, results vary by chance: the gate fails where
    the success rate is worse by the paired test of the comparison. A trial that succeeded and whose success is now
    unknown, because a check is undecided or a call had a replay miss, counts as lost: an agent must not gain by hiding
    a failure.
    """

    holding: Holding
    reason: str
    lost: tuple[CaseChange, ...] = ()
    left_out: tuple[str, ...] = ()
    """Metrics and detectors whose version differs in the baseline: they are not compared."""

    @property
    def exit_code(self) -> ExitCode:
        ends = {"holds": ExitCode.DONE, "fails": ExitCode.VERDICT, "not_measured": ExitCode.COULD_NOT}
        return ends[self.holding]


def compare_with_baseline(baseline: Baseline, folder: RunFolder) -> Comparison:
    """Compares a run with the baseline. Metrics and detectors of different versions are left out; success does not
    depend on them.

    Raises NotMeasured if the suite or one of its verifiers differs, UsageError if no trial is in common.
    """
    manifest = folder.manifest
    remedy = f"to make this run the new baseline: harness baseline set {manifest.run}"
    if baseline.manifest.suite_digest != manifest.suite_digest:
        raise NotMeasured(f"the baseline of {manifest.suite!r} is of another suite digest than the run", remedy=remedy)
    unlike = _unlike(baseline.manifest, manifest)
    verifiers = [name for name in unlike if name.startswith("verifier:")]
    if verifiers:
        raise NotMeasured(f"the baseline was scored by other versions: {', '.join(verifiers)}", remedy=remedy)
    return compare(
        _without(baseline.manifest, unlike),
        [_pruned(card, unlike) for card in baseline.scorecards],
        _without(manifest, unlike),
        [_pruned(card, unlike) for card in folder.scorecards()],
    )


def hold_against(
    baseline: Baseline, folder: RunFolder, comparison: Comparison, allow_unmeasured: int = 0
) -> BaselineGate:
    """The gate. Not measured: trials of the run that the baseline has and that could not be measured now."""
    left_out = tuple(name.partition(":")[2] for name in _unlike(baseline.manifest, folder.manifest))
    known = {(card.case_id, card.attempt): card for card in baseline.scorecards}
    cards, stop = folder.scorecards(), stop_of(folder)
    measured = {(card.case_id, card.attempt) for card in cards if card.outcome in MEASURED}
    asked = {(one.case_id, one.attempt) for one in folder.manifest.planned}
    if stop is not None and stop.decided:  # trials that a sequential test left out are not missing
        asked &= {(card.case_id, card.attempt) for card in cards}
    missing = len((asked & known.keys()) - measured)
    lost = (*(one for one in comparison.changed if one.before), *comparison.hidden)
    success = comparison.held or comparison.success
    holding: Holding
    if missing > allow_unmeasured or not success.pairs:
        holding, reason = "not_measured", f"{missing} of {len(asked & known.keys())} trials could not be measured"
    elif is_replayed(folder.manifest):
        holding = "fails" if lost else "holds"
        reason = f"{len(lost)} of {success.pairs} trials succeeded in the baseline and fail now"
    else:
        holding = "fails" if success.found == "worse" else "holds"
        reason = f"success {success.before:.3g} -> {success.after:.3g}: {success.verdict}"
    if comparison.hidden:
        reason += f"; {len(comparison.hidden)} of the lost cannot be determined"
    return BaselineGate(holding=holding, reason=reason, lost=lost, left_out=left_out)


def is_replayed(manifest: RunManifest) -> bool:
    """Whether the same agent behaves identically in each of its trials, so that one that is worse is enough."""
    return manifest.tool_mode in ("replay", "sealed") and manifest.model_mode in ("none", "replay")


def _unlike(before: RunManifest, after: RunManifest) -> list[str]:
    old, new = before.scorer_versions, after.scorer_versions
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


def _without(manifest: RunManifest, unlike: Collection[str]) -> RunManifest:
    kept = {name: version for name, version in manifest.scorer_versions.items() if name not in unlike}
    return manifest.model_copy(update={"scorer_versions": kept})


def _pruned(card: Scorecard, unlike: Sequence[str]) -> Scorecard:
    """Removes all failure modes if one detector differs, because a detector can report several modes."""
    detectors_alike = not any(name.startswith("detector:") for name in unlike)
    return card.model_copy(
        update={
            "scores": tuple(one for one in card.scores if f"metric:{one.metric}" not in unlike),
            "diagnoses": card.diagnoses if detectors_alike else (),
        }
    )
