"""Premature commitment: acting, guessing or finishing before what is needed was known.

`guessed_argument` counts: a call that wrote or failed with an identifier that nobody had given: it should have been
looked up or asked for. `unseen_target` counts: a successful write to something (an argument called `id`, `..._id`,
`..._ids`) that no observation had shown before, and that was not looked up before (an answer need not repeat what it
is about): the user's word was taken for what should have been examined.
`missing_reads` counts: a write of the reference made while none of the reads was made that the reference makes before
it, though it makes some. `stopped_early` counts: a finished trial in which a write of the reference was not made as
often as the reference makes it (an attempt that the tool refused is none), or a required tool never called.
`unwarranted_write` counts: an irreversible write (by its tool's verb: it cancels, books, buys, returns, exchanges,
deletes, refunds) that succeeded more often than the reference makes it: what the reference requires to be seen first
would have spoken against it.

Does not count: a read with a wrong identifier that worked; a write that the tool refused (no harm was done), unless
its identifier was guessed; a write that succeeded, whoever named its target, in a trial that is known to have
succeeded; a target that the user named where no tool reads; fewer reads than the reference makes; a trial that a
limit, a crash or the harness ended; a write with other arguments than the reference's (that is for the checks);
another write that can be taken back; a hand-over to a person that did not happen (agents that settle the matter
themselves succeed without). Of the reference's writes none is missing that: the agent left to the person it handed
over to, where the reference hands over too; stands in for the same request by another tool, a call with the very same
arguments having succeeded; or only makes settings take hold (by its tool's verb: it restarts, reboots, refreshes),
which other ways do as well. An agent that saw what the reference sees, wrote nothing and said that it may not or
cannot did not stop too early: it refused. Where writes of the reference are missing then, the failure is
`wrong_outcome`, its kind `refused`.

Origin: the write or guess; for `stopped_early` the agent's last step; for `refused` the first message that says so.
Dependent steps: none.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from harness.case import ReferenceCall, action_of, deeds_in
from harness.score.comparison.jsonvalue import equality_key
from harness.score.diagnosis import Diagnosis, Failure, Kind
from harness.score.evidence import Evidence
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.foreign import Foreign, foreign_of
from harness.score.failures.signals.grounding import is_identifier, texts
from harness.score.failures.signals.handing_over import hands_in, is_hand_over
from harness.score.failures.signals.reading import Reading, read
from harness.values import JsonValue

VERSION: Final = "9"
_NOTHING: Final = frozenset({"", "{}", "[]", "null"})
"""Answers to a look-up that found nothing, as JSON."""
_TAKES_HOLD: Final = frozenset({"reboot", "refresh", "reload", "restart"})
_IRREVERSIBLE: Final = frozenset(
    {"book", "buy", "cancel", "close", "delete", "exchange", "order", "purchase", "refund", "remove", "return"}
    | {"submit", "terminate"}
)
_CANNOT: Final = re.compile(
    r"\b(?:cannot|can't|can not|unable to|not able to|not (?:allowed|permitted|eligible|possible)|"
    r"(?:isn't|aren't|is not|are not) (?:\w+ )?(?:allowed|permitted|eligible|possible)|polic(?:y|ies) (?:only|do not|"
    r"does not|don't|doesn't))\b",
    re.I,
)


def guesses(foreign: Sequence[Foreign]) -> tuple[Diagnosis, ...]:
    """One finding a value."""
    return tuple(
        _found(
            "guessed_argument",
            one.acts[0].step,
            f"{one.acts[0].call.name} was called with {one.value!r}, which nobody had given",
            0.9,
        )
        for one in foreign
        if (one.acts[0].failed or one.acts[0].writes) and not hands_in(one.acts[0].call.name)
    )


def unseen_targets(reading: Reading) -> tuple[Diagnosis, ...]:
    """One finding a write; where nothing at all was read before, the finding is surer."""
    if not any(tool.effect == "read" for tool in reading.evidence.tools):
        return ()
    found = []
    looked_up: dict[str, int] = {}
    for act in reading.acts:
        if not act.writes and not act.failed and (act.answer or "").strip(' "') not in _NOTHING:
            for text in texts(act.call.arguments):
                looked_up.setdefault(text, act.moment)
        if not act.writes or act.failed:
            continue
        unseen = [
            value
            for value in _targets(act.call.arguments)
            if not reading.sources.observed(value, act.moment) and looked_up.get(value, act.moment) >= act.moment
        ]
        if unseen:
            evidence = f"{act.call.name} wrote to {', '.join(map(repr, unseen))} before any answer had shown it"
            found.append(_found("unseen_target", act.step, evidence, 0.7))
    return tuple(found)


def missing_reads(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding: the first write of the reference that was made blind."""
    writes = _writing_tools(reading)
    reference = reading.evidence.case.reference or ()
    before: set[str] = set()
    for call in reference:
        if call.tool not in writes:
            before.add(call.tool)
            continue
        made = next((act for act in reading.acts if act.call.name == call.tool and not act.failed), None)
        if before and made is not None and not _any_read(reading, made):
            evidence = f"{call.tool} was made, and none of the reads before it: {', '.join(sorted(before))}"
            return (_found("missing_reads", made.step, evidence, 0.8),)
    return ()


def early_stops(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding, naming all that is missing; the more of what is needed is missing, the surer."""
    trial = reading.evidence.trial
    last = next((step.index for step in reversed(reading.steps) if step.source == "agent"), None)
    if trial.outcome != "finished" or last is None or _handed_over_as_asked(reading):
        return ()
    refused = {id(act.call) for act in reading.acts if act.failed}
    # of all calls: a user may have made some himself
    made = Counter(call.name for call in trial.trajectory.calls if id(call) not in refused)
    needed = Counter(call.tool for call in _needed(reading))
    missing = sorted((needed - made).elements())
    missing += sorted(
        set(reading.evidence.case.required_tools) - {call.name for call in trial.trajectory.calls} - set(missing)
    )
    if not missing:
        return ()
    names = ", ".join(missing)
    refusal = _refusal(reading)
    if refusal is not None:
        evidence = f"refused, having seen what the reference sees: {names} was not made"
        return (_found("refused", refusal, evidence, 0.6, failure="wrong_outcome"),)
    share = len(missing) / max(len(missing), needed.total())
    return (_found("stopped_early", last, f"ended without {names}", round(0.6 + 0.3 * share, 2)),)


def unwarranted_writes(reading: Reading) -> tuple[Diagnosis, ...]:
    """One finding a tool: the first call that is one too many."""
    reference = reading.evidence.case.reference
    if reference is None:
        return ()
    left = Counter(call.tool for call in reference)
    found: dict[str, Diagnosis] = {}
    for act in reading.acts:
        name = act.call.name
        if act.tool is None or not act.writes or act.failed:
            continue
        if _IRREVERSIBLE.isdisjoint(deeds_in(act.tool, act.call.arguments)):
            continue
        left[name] -= 1
        if left[name] < 0 and name not in found:
            evidence = f"{name} was made once more than the reference makes it"
            found[name] = _found("unwarranted_write", act.step, evidence, 0.7)
    return tuple(found.values())


def _needed(reading: Reading) -> list[ReferenceCall]:
    """The reference's writes, those left out for which another call stands."""
    writes = _writing_tools(reading)
    done = {(equality_key(act.call.arguments), act.call.name) for act in reading.acts if act.writes and not act.failed}
    others = Counter(arguments for arguments, _ in done)
    return [
        call
        for call in reading.evidence.case.reference or ()
        if call.tool in writes
        and action_of(call.tool) not in _TAKES_HOLD
        and not (call.arguments and others[key := equality_key(call.arguments)] and (key, call.tool) not in done)
    ]


def _handed_over_as_asked(reading: Reading) -> bool:
    asked = {call.tool for call in reading.evidence.case.reference or () if is_hand_over(call.tool)}
    return any(act.call.name in asked and not act.failed for act in reading.acts)


def _refusal(reading: Reading) -> int | None:
    """Where an agent that had read all that the reference reads, and had written nothing, first said that it cannot."""
    writes = _writing_tools(reading)
    reads = [act for act in reading.acts if act.call.name not in writes and not is_hand_over(act.call.name)]
    needed = {call.tool for call in reading.evidence.case.reference or ()} - writes
    needed = {name for name in needed if not is_hand_over(name)}
    seen = {act.call.name for act in reads if not act.failed}
    if not seen or not needed <= seen or any(act.call.name in writes for act in reading.acts):
        return None
    since = reads[-1].moment
    said = (step for step in reading.steps if step.source == "agent" and reading.moments[step.index] > since)
    return next((step.index for step in said if _CANNOT.search(step.message or "")), None)


def _writing_tools(reading: Reading) -> frozenset[str]:
    return frozenset(
        tool.name for tool in reading.evidence.tools if tool.effect == "write" and not is_hand_over(tool.name)
    )


def _any_read(reading: Reading, write: Act) -> bool:
    return any(act.moment < write.moment and not act.writes and not act.failed for act in reading.acts)


def _targets(arguments: JsonValue) -> Iterator[str]:
    if not isinstance(arguments, dict):
        return
    for key, value in arguments.items():
        named = key.casefold()
        if named in ("id", "ids") or named.endswith(("_id", "_ids")):
            items = value if isinstance(value, list) else [value]
            yield from (item for item in items if isinstance(item, str) and is_identifier(item))


def _found(
    kind: Kind, step: int, evidence: str, confidence: float, *, failure: Failure = "premature_commitment"
) -> Diagnosis:
    return Diagnosis(
        failure=failure,
        kind=kind,
        origin_step=step,
        evidence=evidence,
        confidence=confidence,
        version=VERSION,
    )


class PrematureCommitment:
    """Guesses, and actions before what they rest on was read."""

    name: ClassVar[str] = "premature_commitment"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        foreign = foreign_of(evidence)
        if evidence.success:  # what a write did was right then, whoever named its target
            return guesses([one for one in foreign if one.acts[0].failed])
        found = (*guesses(foreign), *unseen_targets(reading))
        return (*found, *missing_reads(reading), *early_stops(reading), *unwarranted_writes(reading))
