"""The trials of a run paired with those of a reference run: the same case, the same number of attempt."""

from collections.abc import Iterable, Mapping
from typing import Literal

from harness.results import Baseline, RunFolder, RunManifest, TrialKey, rounds_of, stop_of
from harness.score import Scorecard
from harness.stats import PairTally
from harness.trace import MEASURED
from harness.values import Frozen


class ReferenceTrials(Frozen):
    """The reference of a run with `--trials auto`."""

    name: str
    """Of the run, or of the run that the baseline was made of."""
    suite_digest: str
    is_baseline: bool = False
    """Whether the trials are those of the suite's baseline."""
    successes: Mapping[TrialKey, bool]
    """The result of `counted_success`, so that both sides use the same rule."""

    @property
    def attempts(self) -> dict[str, int]:
        """Case -> its last attempt; a case can be given no more pairs."""
        last: dict[str, int] = {}
        for case_id, attempt in self.successes:
            last[case_id] = max(attempt, last.get(case_id, 0))
        return last


def reference_trials(source: RunFolder | Baseline) -> ReferenceTrials:
    """The trials of a stored run, or of a baseline."""
    cards = source.scorecards() if isinstance(source, RunFolder) else source.scorecards
    return ReferenceTrials(
        name=source.manifest.run,
        suite_digest=source.manifest.suite_digest,
        is_baseline=not isinstance(source, RunFolder),
        successes={
            (one.case_id, one.attempt): success for one in cards if (success := counted_success(one)) is not None
        },
    )


def tally_of(reference: ReferenceTrials, cards: Iterable[Scorecard]) -> PairTally:
    """The pairs whose trials are both known."""
    tally = PairTally()
    for card in cards:
        before, after = reference.successes.get((card.case_id, card.attempt)), counted_success(card)
        if before is not None and after is not None:
            tally = tally.with_pair(before, after)
    return tally


def counted_success(card: Scorecard) -> bool | None:
    """Whether a trial counts as a success: a measured or inconclusive one whose success is unknown does not, since an
    agent must not gain by hiding a failure; None: it was not measured for another reason, and counts for nothing.
    """
    return card.success is True if card.outcome in MEASURED or card.outcome == "inconclusive" else None


def is_replayed(manifest: RunManifest) -> bool:
    """Whether the same agent behaves identically in each of its trials, so that one that is worse is enough."""
    return manifest.tool_mode in ("replay", "sealed") and manifest.model_mode in ("none", "replay")


def pair_words(tally: PairTally, name: str, found: str | None) -> str:
    """The comparison in words."""
    relation = "cannot be told from" if found is None else f"{found} than"
    return f"{relation} {name}: {tally.better} better, {tally.worse} worse, {tally.same} alike of {tally.pairs} pairs"


def found_in_pairs(
    reference: ReferenceTrials, folder: RunFolder
) -> tuple[Literal["better", "worse"] | None, str] | None:
    """What a run with `--trials auto` found, and the pairs in words; None: its trials were not allocated so.

    What ended the run stays found, whatever the trials showed that were under way at its end. Of a run that something
    else ended, complete rounds count alone: which trials of a round end first may depend on how they end.
    """
    manifest, stop = folder.manifest, stop_of(folder)
    if manifest.allocated_against != reference.name:
        return None
    tally = tally_of(reference, folder.scorecards() if is_replayed(manifest) else _of_complete_rounds(folder))
    if is_replayed(manifest):
        found: Literal["better", "worse"] | None = "worse" if tally.worse else "better" if tally.better else None
        return found, pair_words(tally, reference.name, found)
    if stop is not None and stop.found is not None:
        return stop.found, stop.reason
    return tally.found(), pair_words(tally, reference.name, tally.found())


def _of_complete_rounds(folder: RunFolder) -> tuple[Scorecard, ...]:
    """The trials of the rounds of which each trial was made; all trials where the run has no stored rounds."""
    cards, rounds = folder.scorecards(), rounds_of(folder)
    if rounds is None:
        return cards
    made = {(card.case_id, card.attempt): card for card in cards}
    return tuple(made[key] for one in rounds if all(key in made for key in one) for key in one)
