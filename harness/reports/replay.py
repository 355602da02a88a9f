"""The sources of a run's answers, and the requests of its cases that had no effect."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final, Literal

from harness.traces.trial import ModelUse, RecordingReport, Trial
from harness.values import Frozen, JsonObject, canonical_json

# The changes of a run to its cassettes: recordings that were added, kept and replaced, and calls that could not be
# recorded.


class RecordedCassette(Frozen):
    """The cassette of one case, over all trials of the run."""

    case: str
    added: int
    kept: int
    replaced: int
    levelled: int
    differing: tuple[str, ...]
    failed: dict[str, int]
    unreadable: dict[str, int]
    ignored: dict[str, int]
    unsettled: int
    """See RecordingReport for all of them."""


def recorded_cassettes(reports: Iterable[tuple[str, RecordingReport]]) -> tuple[RecordedCassette, ...]:
    """By case, in the order of their first trial; `reports` are (case, what became of its cassette)."""
    found: dict[str, list[RecordingReport]] = {}
    for case, report in reports:
        found.setdefault(case, []).append(report)
    return tuple(_of_case(case, own) for case, own in found.items())


def _of_case(case: str, own: list[RecordingReport]) -> RecordedCassette:
    failed, unreadable, ignored = Counter[str](), Counter[str](), Counter[str]()
    for one in own:
        failed.update(one.failed)
        unreadable.update(one.unreadable)
        ignored.update(one.ignored)
    return RecordedCassette(
        case=case,
        added=sum(one.added for one in own),
        kept=sum(one.kept for one in own),
        replaced=sum(one.replaced for one in own),
        levelled=sum(one.levelled for one in own),
        differing=tuple(sorted({tool for one in own for tool in one.differing})),
        failed=dict(sorted(failed.items())),
        unreadable=dict(sorted(unreadable.items())),
        ignored=dict(sorted(ignored.items())),
        unsettled=sum(one.unsettled for one in own),
    )


_TRUE = ("exact", "exact_reused")
_REPLAYED = (*_TRUE, "volatile_reused", "miss")


UserMiss = Literal["unrecorded", "diverged"]
"""Why a simulated user had no message: it is not recorded, or the agent diverged from the log and no model is set."""
_USER_MISSES: Final[tuple[UserMiss, ...]] = ("unrecorded", "diverged")


class MissedTool(Frozen):
    """A tool with calls that no recording answers."""

    tool: str
    calls: int
    trials: int
    example: str
    """The first such call's arguments."""
    nearest: str | None
    """The recording nearest to it and how it differs; None: the cassette has none of this tool."""
    model: bool = False
    """Whether the calls are requests to a model."""
    user: UserMiss | None = None
    """Set if the calls are messages of a simulated user; see UserMiss."""


class Replay(Frozen):
    """Over all trials of a run."""

    tiers: dict[str, int] = {}
    misses: tuple[MissedTool, ...] = ()
    fidelity: float | None = None
    """Share of the calls put to a cassette that were answered as the tool would have; None: none was put to a cassette.
    """
    unfired_faults: tuple[str, ...] = ()
    """`case/attempt: fault` of each fault that no call triggered, so that its effect was not tested."""
    recorded: tuple[RecordedCassette, ...] = ()
    """By case; empty where nothing was recorded."""
    unsaid_turns: tuple[str, ...] = ()
    """`case/attempt: message` for each message that the scripted user did not send."""
    self_reported_calls: int = 0
    """The number of calls that only the agent reports: none of them crossed the gateway."""
    model_tiers: dict[str, int] = {}
    """The number of requests to models by the source of the answer."""
    provenances: dict[str, int] = {}
    """Answers of tools, hosts, models and probes, by where they were taken from; see Trial.provenances."""
    model_use: ModelUse | None = None
    """Over all replies; None: no model replied."""


def replay_of(trials: Iterable[Trial]) -> Replay:
    """Reads each trial once and computes the rows."""
    tiers: Counter[str] = Counter()
    missed: dict[tuple[str, str], tuple[JsonObject, Counter[str]]] = {}
    unfired: list[str] = []
    unsaid: list[str] = []
    reports: list[tuple[str, RecordingReport]] = []
    model_tiers: Counter[str] = Counter()
    provenances: Counter[str] = Counter()
    use: ModelUse | None = None
    reported = 0
    for trial in trials:
        model_tiers.update(trial.model_tiers)
        provenances.update(trial.provenances)
        use = _summed([one for one in (use, trial.model_use) if one is not None])
        reported += sum(call.evidence == "self_reported" for call in trial.trajectory.calls)
        reports += [] if trial.recording is None else [(trial.case_id, trial.recording)]
        name = f"{trial.case_id}/{trial.attempt}"
        tiers.update(trial.tiers)
        unfired += [f"{name}: {fault}" for fault in trial.unfired_faults]
        unsaid += [f"{name}: {turn}" for turn in trial.unsaid_turns]
        for miss in trial.misses:
            missed.setdefault((str(miss.get("tool")), str(miss.get("user", ""))), (miss, Counter()))[1][name] += 1
    return Replay(
        tiers=dict(sorted(tiers.items())),
        misses=tuple(_missed(*kind, *found) for kind, found in sorted(missed.items(), key=itemgetter(0))),
        fidelity=_fidelity(tiers),
        unfired_faults=tuple(unfired),
        recorded=recorded_cassettes(reports),
        unsaid_turns=tuple(unsaid),
        self_reported_calls=reported,
        model_tiers=dict(sorted(model_tiers.items())),
        provenances=dict(sorted(provenances.items())),
        model_use=use,
    )


def _summed(uses: Sequence[ModelUse]) -> ModelUse | None:
    costs = [use.cost_usd for use in uses if use.cost_usd is not None]
    if not uses:
        return None
    return ModelUse(
        replies=sum(use.replies for use in uses),
        input_tokens=sum(use.input_tokens for use in uses),
        output_tokens=sum(use.output_tokens for use in uses),
        cost_usd=sum(costs) if costs else None,
    )


def _fidelity(tiers: Mapping[str, int]) -> float | None:
    asked = sum(tiers.get(tier, 0) for tier in _REPLAYED)
    return sum(tiers.get(tier, 0) for tier in _TRUE) / asked if asked else None


def _missed(tool: str, user: str, first: JsonObject, trials: Counter[str]) -> MissedTool:
    nearest = first.get("nearest")
    best = nearest[0] if isinstance(nearest, list) and nearest else None
    return MissedTool(
        tool=tool,
        calls=trials.total(),
        trials=len(trials),
        example=canonical_json(first.get("arguments")),
        nearest=None if best is None else _nearest_words(best),
        model=first.get("model") is True,
        user=next((one for one in _USER_MISSES if one == user), None),
    )


def _nearest_words(best: object) -> str:
    if not isinstance(best, dict):
        return str(best)
    if "tool" not in best:  # how an agent's turn differs from the log's
        return str(best.get("difference"))
    call = f"{best.get('tool')}({canonical_json(best.get('arguments'))})"
    difference = best.get("difference")
    return call if difference is None else f"{call}: {difference}"
