"""Compares two runs trial by trial: improvements, regressions, and their significance."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from harness.errors import ExitCode, NotMeasured, UsageError
from harness.reports.change import MetricChange, Values, change, corrected
from harness.reports.divergence import LIVE, RunDivergence, divergence
from harness.reports.figures import BrokenRule, broken_rules, failure_reasons, has_failure
from harness.reports.gates import Holding
from harness.reports.units import p_words, percent
from harness.runs.store.baseline import Baseline
from harness.runs.store.drift_report import DRIFT, DriftReport, read_drift
from harness.runs.store.folder import RunFolder, gc_paused
from harness.runs.store.manifest import ManifestDifference, RunManifest, differences
from harness.scoring.scorecard import Failure, Scorecard
from harness.traces.outcomes import MEASURED
from harness.values import Frozen

# Attributes a change between two runs to the parts that differ, and names the run that would separate them.

Part = Literal["agent", "variables", "prompt", "model", "tools", "snapshot", "conditions"]

_CONDITIONS = ("tool_mode", "model_mode", "provider", "packages_digest", "pins", "run_suite_digest")


class PartChange(Frozen):
    """A part that differs between the runs."""

    part: Part
    before: str
    after: str


class Attribution(Frozen):
    """`agent`: its code and declaration apart from declared prompts and from the values of its variables, which are
    `variables` except where the observed models are these values. `prompt`: its declared prompt files or, where it
    declares none, the system messages seen in the model traffic. `model`: the observed models. `conditions`: the
    sources of answers, the kind of sandbox, the pinned values.
    """

    changed: tuple[PartChange, ...]
    separating: tuple[str, ...] = ()
    """Descriptions of the runs that would separate the parts, where several changed."""
    significant: str | None = None
    """The smallest p-value of the significant changes, in words; None: each change could be chance."""
    unrecorded: tuple[str, ...] = ()
    """Causes that no digest records, of a significant change that at most one recorded part could have caused."""

    @property
    def verdict(self) -> str:
        """A description of the parts that a changed score can be attributed to."""
        names, real = [one.part for one in self.changed], self.significant
        if not names and real is None:
            return "no recorded part differs, and each change could be chance"
        if not names:
            return f"no recorded part differs, but the change is no chance ({real}): look for an unrecorded cause"
        if len(names) > 1:
            return f"{', '.join(names[:-1])} and {names[-1]} differ: one comparison cannot tell them apart"
        several = names[0].endswith("s")
        verb, it = ("differ", "them") if several else ("differs", "it")
        if real is None:
            return f"only the {names[0]} {verb}: a change is caused by {it} or by chance"
        beside = ", or by what is not recorded" if self.unrecorded else ""
        return f"only the {names[0]} {verb}: the change ({real}) is caused by {it}{beside}"


def attribute(
    before: RunManifest,
    before_cards: Sequence[Scorecard],
    after: RunManifest,
    after_cards: Sequence[Scorecard],
    significant: str | None = None,
) -> Attribution:
    """Attributes by the digests of the manifests, and by the models and prompts in the scorecards; a significant change
    that they do not explain also by what is not recorded.
    """
    old, new = _parts(before, before_cards), _parts(after, after_cards)
    if before.code_digest is None or after.code_digest is None:
        old["agent"], new["agent"] = before.agent_digest, after.agent_digest
    if _only_name_models(before, before_cards, after) and _only_name_models(after, after_cards, before):
        del old["variables"], new["variables"]
    changed = tuple(
        PartChange(part=part, before=_short(old[part]), after=_short(new[part]))
        for part in old
        # models that were seen in one run only are not known of the other: nobody answered it
        if old[part] != new[part] and not (part == "model" and None in (old[part], new[part]))
    )
    several = changed if len(changed) > 1 else ()
    searched = significant is not None and len(changed) < 2
    return Attribution(
        changed=changed,
        separating=tuple(_separating(one, before, after) for one in several[:-1]),
        significant=significant,
        unrecorded=tuple(_unrecorded(before, after, new["model"], {one.part for one in changed})) if searched else (),
    )


def _unrecorded(
    before: RunManifest, after: RunManifest, models: str | None, changed: Collection[Part]
) -> Iterator[str]:
    """What may differ although no digest does, the most probable first."""
    both = (before, after)
    if "model" not in changed and any(one.model_mode in LIVE for one in both):
        named = f"behind the name {models}" if models else "whose name was not observed"
        yield f"model alias: the model {named} answered live, and its provider may have replaced it"
    live = [one for one in both if one.tool_mode in LIVE]
    if live and "tools" not in changed:
        yield (
            "live tools: the real services answered, and their answers may have changed "
            f"(harness drift compare {live[-1].run})"
        )
    for users in (one.users for one in reversed(both)):
        if users is not None and users.mode in LIVE:
            yield f"simulated user: the model {users.model} behind it answered live"
            break
    if any(one.code_digest is None for one in both) and "agent" not in changed:
        yield "agent: its code has no digest of its own, such as one that is asked over the network"
    if not all("clock" in one.pins for one in both):
        yield f"time: the runs were begun at {before.created} and {after.created}, and the clock was not pinned"
    if not all(one.isolates for one in both):
        yield "this machine: a run was not isolated from it"
    yield "the agent itself: random numbers or an order of threads; repeat both runs with --trials"


def _parts(manifest: RunManifest, cards: Sequence[Scorecard]) -> dict[Part, str | None]:
    seen = sorted({card.prompt for card in cards if card.prompt is not None})
    models = sorted({model for card in cards for model in card.models})
    conditions = manifest.model_dump(include=set(_CONDITIONS))
    return {
        "agent": manifest.code_digest,
        "variables": ", ".join(f"{name}={value}" for name, value in sorted(manifest.variables.items())) or None,
        "prompt": _versions(manifest) or manifest.prompt_digest or ", ".join(_short(one) for one in seen) or None,
        "model": ", ".join(models) or None,
        "tools": manifest.tools_digest,
        "snapshot": manifest.snapshot_digest,
        "conditions": _condition_words(conditions),
    }


def _versions(manifest: RunManifest) -> str | None:
    """Versions of prompts by name; the digest covers files that have none."""
    if not manifest.prompts:
        return None
    return f"{', '.join(sorted(set(manifest.prompts.values())))} ({(manifest.prompt_digest or '')[:12]})"


def _only_name_models(manifest: RunManifest, cards: Sequence[Scorecard], other: RunManifest) -> bool:
    """Whether the value of each differing variable names an observed model, such as `gpt-5` for `gpt-5-2026-01-31`: the
    difference is then already described by the models.
    """
    models = {model for card in cards for model in card.models}
    own = [value for name, value in manifest.variables.items() if other.variables.get(name) != value]
    return all(any(model.startswith(value) for model in models) for value in own)


def _condition_words(conditions: Mapping[str, object]) -> str:
    return "; ".join(f"{name} {value}" for name, value in sorted(conditions.items()) if value not in (None, {}))


def _separating(one: PartChange, before: RunManifest, after: RunManifest) -> str:
    """Describes the run that differs from `before` in this part only."""
    place = f" (harness run {before.suite} --agent {after.agent})" if one.part == "agent" else ""
    return (
        f"a run with the {one.part} of {after.run} and all else as in {before.run}{place}: "
        f"compared with {before.run}, it shows the effect of the {one.part}"
    )


def _short(value: str | None) -> str:
    if value is None:
        return "none"
    return value[:12] if len(value) == 64 and set(value) <= set("0123456789abcdef") else value


class GroupChange(Frozen):
    """Success within one category."""

    name: str
    success: MetricChange


class CaseChange(Frozen):
    """A trial whose success changed."""

    case_id: str
    attempt: int
    category: str
    before: bool
    after: bool | None
    """None where the trial succeeded before, and its success is now unknown."""
    reasons: tuple[str, ...]
    """Why it fails now, or why its success is unknown now; why it failed before, if it passes now."""


class Comparison(Frozen):
    """`before` and `after` are the runs' manifests."""

    before: RunManifest
    after: RunManifest
    differences: tuple[ManifestDifference, ...]
    success: MetricChange
    """The change of the success rate. It is the primary endpoint and therefore not corrected."""
    metrics: tuple[MetricChange, ...]
    """Corrected as one family of tests."""
    categories: tuple[GroupChange, ...]
    changed: tuple[CaseChange, ...]
    hidden: tuple[CaseChange, ...] = ()
    """Trials that succeeded before and whose success is now unknown for a reason that the agent may have caused: an
    undecided check, or a replay miss. Gates count them as lost. Trials that the harness could not run are not included.
    """
    held: MetricChange | None = None
    """`success` with the hidden trials counted as failed, as gates use it. None: no trial is hidden."""
    latency: MetricChange | None = None
    """Seconds of the trials; None: it was not requested, or tools and model of one run were replayed."""
    unpaired: int
    """Trials that only one of the runs has, or that one of them could not measure."""
    failures: tuple[MetricChange, ...] = ()
    """Number of trials with each failure mode; less is better. Corrected as one family of tests."""
    broken_rules: tuple[BrokenRule, ...] = ()
    """Those that more trials of the later run break, with support and place."""
    rules: tuple[MetricChange, ...] = ()
    """Share of trials that break each learned rule which some trial breaks; less is better. Corrected as one family."""
    attribution: Attribution
    divergence: RunDivergence | None = None
    """Set if one run is replayed and the other live, with the same agent."""


@gc_paused()
def compare_runs(before: RunFolder, after: RunFolder) -> Comparison:
    """Compares two stored runs, with the drift report of the live one; raises the same errors as `compare`."""
    drift = next((read_drift(run.path) for run in (after, before) if _has_drift(run)), None)
    return compare(before.manifest, before.cards(), after.manifest, after.cards(), drift)


def _has_drift(run: RunFolder) -> bool:
    return run.manifest.tool_mode in LIVE and (run.path / DRIFT).is_file()


def compare(
    before: RunManifest,
    before_cards: Sequence[Scorecard],
    after: RunManifest,
    after_cards: Sequence[Scorecard],
    drift: DriftReport | None = None,
) -> Comparison:
    """Pairs the trials of two runs by case and attempt.

    Raises UsageError where the runs have different suite digests, were scored by different versions, or share no trial:
    such a difference would not be due to the agent.
    """
    _refuse_unlike(before, after)
    old = {(card.case_id, card.attempt): card for card in before_cards}
    new = {(card.case_id, card.attempt): card for card in after_cards}
    alike = {case for case, digest in after.case_digests.items() if before.case_digests.get(case) == digest}
    keys = [key for key in new if key in old and (key[0] in alike or not after.case_digests)]
    if not keys:
        raise UsageError(f"runs {before.run!r} and {after.run!r} have no trial of a case that asks the same in common")
    pairs = [(old[key], new[key]) for key in keys]
    known = [pair for pair in pairs if pair[0].success is not None and pair[1].success is not None]
    hidden = [pair for pair in pairs if pair[0].success and _is_hidden(pair[1])]
    categories: dict[str, list[_Pair]] = {}
    for pair in pairs:
        categories.setdefault(pair[1].category, []).append(pair)
    success, held = _success(known), _success([*known, *hidden]) if hidden else None
    metrics, failures, rules = corrected(_metrics(pairs)), corrected(_failures(pairs)), corrected(_rules(pairs))
    groups = tuple(_group(name, own) for name, own in categories.items())
    tested = (success, *(() if held is None else (held,)), *metrics, *failures, *rules)
    real = _significant((*tested, *corrected([one.success for one in groups])))
    return Comparison(
        before=before,
        after=after,
        differences=differences(before, after),
        success=success,
        metrics=metrics,
        categories=groups,
        changed=tuple(_case(*pair) for pair in known if pair[0].success != pair[1].success),
        hidden=tuple(_case(*pair) for pair in hidden),
        held=held,
        unpaired=len({*old, *new}) - len(known),
        failures=failures,
        broken_rules=_more_often(pairs),
        rules=rules,
        attribution=attribute(before, [old for old, _ in pairs], after, [new for _, new in pairs], real),
        divergence=divergence((before, before_cards), (after, after_cards), drift),
    )


def _significant(tested: Iterable[MetricChange]) -> str | None:
    """The smallest p-value of the changes that are better or worse, in words."""
    decided = [one for one in tested if one.found in ("better", "worse")]
    found = [p for one in decided if (p := one.p if one.p_corrected is None else one.p_corrected) is not None]
    return p_words(min(found)) if found else None


def _refuse_unlike(before: RunManifest, after: RunManifest) -> None:
    if not _are_of_one_suite(before, after):
        raise UsageError(
            f"runs {before.run!r} and {after.run!r} used different versions of the suite: their suite digests differ",
            remedy="run the current suite again, or score the older run again: harness score RUN",
        )
    unlike = _unlike(before.scorer_versions, after.scorer_versions)
    if unlike:
        raise UsageError(
            f"runs {before.run!r} and {after.run!r} were scored by different versions of: {', '.join(unlike)}",
            remedy="score the older run again: harness score RUN",
        )


def _are_of_one_suite(before: RunManifest, after: RunManifest) -> bool:
    """Imported runs are compared case by case."""
    return before.suite_digest == after.suite_digest or bool(before.case_digests and after.case_digests)


def _unlike(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return [
        f"{name} {before.get(name, 'absent')} / {after.get(name, 'absent')}"
        for name in sorted({*before, *after} - {"verifier:reward"})  # a file may tell no reward for a trial
        if before.get(name) != after.get(name)
    ]


_Pair = tuple[Scorecard, Scorecard]


def _success(known: Sequence[_Pair]) -> MetricChange:
    values = [(new.case_id, float(old.success or 0), float(new.success or 0)) for old, new in known]
    return change("task_success", values)


def _metrics(pairs: Sequence[_Pair]) -> tuple[MetricChange, ...]:
    """All metrics except the success rate, which is listed separately."""
    lower = {score.metric: score.lower_is_better for _, card in pairs for score in card.scores}
    values: dict[str, list[Values]] = {name: [] for name in lower if name != "task_success"}
    for old, new in pairs:
        before = _by_name(old)
        for name, after in _by_name(new).items():
            first = before.get(name)
            if first is not None and after is not None and name in values:
                values[name].append((new.case_id, first, after))
    return tuple(change(name, own, lower_is_better=lower[name]) for name, own in values.items())


def _by_name(card: Scorecard) -> dict[str, float | None]:
    return {score.metric: score.value for score in reversed(card.scores)}


def _group(name: str, pairs: Sequence[_Pair]) -> GroupChange:
    known = [pair for pair in pairs if pair[0].success is not None and pair[1].success is not None]
    return GroupChange(name=name, success=_success(known))


def _failures(pairs: Sequence[_Pair]) -> tuple[MetricChange, ...]:
    measured = [pair for pair in pairs if pair[0].outcome in MEASURED and pair[1].outcome in MEASURED]
    seen = {one.failure for pair in measured for card in pair for one in card.diagnoses}
    return tuple(
        change(
            failure,
            [
                (new.case_id, float(has_failure(old, failure)), float(has_failure(new, failure)))
                for old, new in measured
            ],
            lower_is_better=True,
        )
        for failure in get_args(Failure)
        if failure in seen
    )


def _rules(pairs: Sequence[_Pair]) -> tuple[MetricChange, ...]:
    """The rules that both trials of a pair were held against; a rule without an occasion is not broken."""
    found: dict[str, list[Values]] = {}
    for old, new in pairs:
        before = {one.rule: one.state == "broken" for one in old.rules}
        for one in new.rules:
            if one.rule in before:
                found.setdefault(one.rule, []).append(
                    (new.case_id, float(before[one.rule]), float(one.state == "broken"))
                )
    broken = {rule: values for rule, values in found.items() if any(old or new for _, old, new in values)}
    return tuple(change(rule, values, lower_is_better=True) for rule, values in sorted(broken.items()))


def _more_often(pairs: Sequence[_Pair]) -> tuple[BrokenRule, ...]:
    before = {one.rule: one.trials for one in broken_rules([old for old, _ in pairs])}
    return tuple(one for one in broken_rules([new for _, new in pairs]) if one.trials > before.get(one.rule, 0))


def _is_hidden(card: Scorecard) -> bool:
    return card.success is None and (card.undecided or card.may_hide_failure)


def _case(old: Scorecard, new: Scorecard) -> CaseChange:
    failing = new if old.success else old
    return CaseChange(
        case_id=new.case_id,
        attempt=new.attempt,
        category=new.category,
        before=bool(old.success),
        after=new.success,
        reasons=failure_reasons(failing),
    )


# Compares a run with its suite's baseline: what became worse, and whether that is enough to reject a change.


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
    remedy = f"to make this run the new baseline: harness baseline {manifest.run}"
    if not _are_of_one_suite(baseline.manifest, manifest):
        raise NotMeasured(f"the baseline of {manifest.suite!r} is of another suite digest than the run", remedy=remedy)
    unlike = _other_versions(baseline.manifest, manifest)
    verifiers = [name for name in unlike if name.startswith("verifier:")]
    if verifiers:
        raise NotMeasured(f"the baseline was scored by other versions: {', '.join(verifiers)}", remedy=remedy)
    return compare(
        _without(baseline.manifest, unlike),
        [_pruned(card, unlike) for card in baseline.scorecards],
        _without(manifest, unlike),
        [_pruned(card, unlike) for card in folder.cards()],
    )


def hold_against(
    baseline: Baseline, folder: RunFolder, comparison: Comparison, allow_unmeasured: int = 0
) -> BaselineGate:
    """The gate. Not measured: trials that could not be measured now, and cases that the baseline does not cover."""
    left_out = tuple(name.partition(":")[2] for name in _other_versions(baseline.manifest, folder.manifest))
    known = {(card.case_id, card.attempt): card for card in baseline.scorecards}
    cards = folder.cards()
    measured = {(card.case_id, card.attempt) for card in cards if card.outcome in MEASURED}
    asked = {(one.case_id, one.attempt) for one in folder.manifest.planned}
    covered = {case_id for case_id, _ in known}
    beyond = {key for key in asked if key[0] not in covered}
    held = (asked & known.keys()) | beyond
    missing = len((asked & known.keys()) - measured) + len(beyond)
    lost = (*(one for one in comparison.changed if one.before), *comparison.hidden)
    success = comparison.held or comparison.success
    holding: Holding
    if missing > allow_unmeasured or not success.pairs:
        holding, reason = "not_measured", f"{missing} of {len(held)} trials could not be measured"
        if beyond:
            reason += f" against the baseline, which does not cover {len({case_id for case_id, _ in beyond})} cases"
    elif is_replayed(folder.manifest):
        holding = "fails" if lost else "holds"
        reason = f"{len(lost)} of {success.pairs} trials succeeded in the baseline and fail now"
    else:
        holding = "fails" if success.found == "worse" else "holds"
        reason = f"passed {percent(success.before)} → {percent(success.after)}: {success.verdict}"
    if comparison.hidden:
        reason += f"; {len(comparison.hidden)} of the lost cannot be determined"
    return BaselineGate(holding=holding, reason=reason, lost=lost, left_out=left_out)


def is_replayed(manifest: RunManifest) -> bool:
    """Whether the same agent behaves identically in each of its trials, so that one that is worse is enough."""
    return manifest.tool_mode in ("replay", "sealed") and manifest.model_mode in ("none", "replay")


def _other_versions(before: RunManifest, after: RunManifest) -> list[str]:
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
