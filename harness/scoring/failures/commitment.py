"""Detectors of premature commitment: acting, guessing or finishing before what is needed was known."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from pydantic import JsonValue

from harness.scoring.evidence import Evidence, calls_of
from harness.scoring.failures.grounding import atoms, is_identifier, texts
from harness.scoring.failures.reading import Act, Reading, opened, read
from harness.scoring.failures.signals import Foreign, foreign_of, hands_in, is_hand_over
from harness.scoring.json_values import equality_key
from harness.scoring.scorecard import Diagnosis, Failure, Kind
from harness.suite.cases import ReferenceCall
from harness.suite.tool_words import action_of, deeds_in
from harness.traces.trajectory import Step

PREMATURE_COMMITMENT_VERSION: Final = "9"
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
        _premature_finding(
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
            for text in act.argument_texts:
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
            found.append(_premature_finding("unseen_target", act.step, evidence, 0.7))
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
            return (_premature_finding("missing_reads", made.step, evidence, 0.8),)
    return ()


def early_stops(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding, naming all that is missing; the more of what is needed is missing, the surer."""
    trial = reading.evidence.trial
    last = next((step.index for step in reversed(reading.steps) if step.source == "agent"), None)
    if trial.outcome != "finished" or last is None or _handed_over_as_asked(reading):
        return ()
    refused = {id(act.call) for act in reading.acts if act.failed}
    # of all calls: a user may have made some himself
    made = Counter(call.name for call in calls_of(reading.evidence) if id(call) not in refused)
    needed = Counter(call.tool for call in _needed(reading))
    missing = sorted((needed - made).elements())
    missing += sorted(
        set(reading.evidence.case.required_tools) - {call.name for call in calls_of(reading.evidence)} - set(missing)
    )
    if not missing:
        return ()
    names = ", ".join(missing)
    refusal = _refusal(reading)
    if refusal is not None:
        evidence = f"refused, having seen what the reference sees: {names} was not made"
        return (_premature_finding("refused", refusal, evidence, 0.6, failure="wrong_outcome"),)
    share = len(missing) / max(len(missing), needed.total())
    return (_premature_finding("stopped_early", last, f"ended without {names}", round(0.6 + 0.3 * share, 2)),)


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
            found[name] = _premature_finding("unwarranted_write", act.step, evidence, 0.7)
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


def _premature_finding(
    kind: Kind, step: int, evidence: str, confidence: float, *, failure: Failure = "premature_commitment"
) -> Diagnosis:
    return Diagnosis(
        failure=failure,
        kind=kind,
        origin_step=step,
        evidence=evidence,
        confidence=confidence,
        version=PREMATURE_COMMITMENT_VERSION,
    )


class PrematureCommitment:
    """Premature commitment: acting, guessing or finishing before what is needed was known.

    `guessed_argument` counts: a call that wrote or failed with an identifier that nobody had given: it should have been
    looked up or asked for. `unseen_target` counts: a successful write to something (an argument called `id`, `..._id`,
    `..._ids`) that no observation had shown before, and that was not looked up before (an answer need not repeat what
    it is about): the user's word was taken for what should have been examined. `missing_reads` counts: a write of the
    reference made while none of the reads was made that the reference makes before it, though it makes some.
    `stopped_early` counts: a finished trial in which a write of the reference was not made as often as the reference
    makes it (an attempt that the tool refused is none), or a required tool never called. `unwarranted_write` counts: an
    irreversible write (by its tool's verb: it cancels, books, buys, returns, exchanges, deletes, refunds) that
    succeeded more often than the reference makes it: what the reference requires to be seen first would have spoken
    against it.

    Does not count: a read with a wrong identifier that worked; a write that the tool refused (no harm was done), unless
    its identifier was guessed; a write that succeeded, whoever named its target, in a trial that is known to have
    succeeded; a target that the user named where no tool reads; fewer reads than the reference makes; a trial that a
    limit, a crash or the harness ended; a write with other arguments than the reference's (that is for the checks);
    another write that can be taken back; a hand-over to a person that did not happen (agents that settle the matter
    themselves succeed without). Of the reference's writes none is missing that: the agent left to the person it handed
    over to, where the reference hands over too; stands in for the same request by another tool, a call with the very
    same arguments having succeeded; or only makes settings take hold (by its tool's verb: it restarts, reboots,
    refreshes), which other ways do as well. An agent that saw what the reference sees, wrote nothing and said that it
    may not or cannot did not stop too early: it refused. Where writes of the reference are missing then, the failure is
    `wrong_outcome`, its kind `refused`.

    Origin: the write or guess; for `stopped_early` the agent's last step; for `refused` the first message that says so.
    Dependent steps: none.
    """

    name: ClassVar[str] = "premature_commitment"
    version: ClassVar[str] = PREMATURE_COMMITMENT_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        foreign = foreign_of(evidence)
        if evidence.success:  # what a write did was right then, whoever named its target
            return guesses([one for one in foreign if one.acts[0].failed])
        found = (*guesses(foreign), *unseen_targets(reading))
        return (*found, *missing_reads(reading), *early_stops(reading), *unwarranted_writes(reading))


LISTED_ITEMS_VERSION: Final = "1"
Item = Mapping[str, str]
"""The texts and numbers of one object of a list, as text; what is nested is left out."""
_NAMES: Final = frozenset(
    {"name", "title", "drug", "label", "subject", "customer", "patient", "contact", "employee", "full_name", "product"}
)
_STATUS: Final = frozenset({"status", "state", "active", "enabled", "available", "in_stock", "stock"})
_ALL: Final = re.compile(r"\b(?:all|each|every|which of|any of|both|per)\b", re.I)
_LEFT_OUT: Final = re.compile(
    r"\b(?:not|n't|only|remaining|others?|rest|without|could|skipped|unread|unchecked|still|yet|assum\w+)\b|n't\b", re.I
)
_SENTENCE: Final = re.compile(r"[^.!?\n]{1,1000}")
_THIN: Final = 3
"""Fields of an item that tells nothing but what it is called."""
_FEWEST: Final = 3
"""Items of a list of which some can stand for all."""
_MOST: Final = 200
_DEPTH: Final = 4


def ambiguous_matches(reading: Reading) -> Iterator[Diagnosis]:
    """One finding a list."""
    for place, items in _listings(reading):
        write = next((act for act in reading.acts if act.number > place.number and act.writes and not act.failed), None)
        if write is None or _asked_between(reading, place, write):
            continue
        given = set(texts(write.call.arguments))
        chosen = [item for item in items if any(_is_own(value, items) and value in given for value in item.values())]
        if len(chosen) != 1 or _read_between(reading, place, write, items):
            continue
        said = _said_by_users(reading, write.moment)
        twin = next((one for one in items if one is not chosen[0] and _are_twins(chosen[0], one, said)), None)
        if twin is not None:
            name = next(value for key, value in chosen[0].items() if key in _NAMES)
            evidence = (
                f"{write.call.name} took one of several that match {name!r}, and neither asked nor looked further"
            )
            yield _listed_finding("ambiguous_match", write.step, evidence)


def unread_items(reading: Reading) -> Iterator[Diagnosis]:
    """At most one finding."""
    last = next((step for step in reversed(reading.steps) if step.source == "agent" and step.message), None)
    if last is None or _ALL.search(" ".join((reading.evidence.case.task, *_messages(reading)))) is None:
        return
    for place, items in _listings(reading):
        if len(items) < _FEWEST or any(len(item) > _THIN for item in items):
            continue
        later = [act for act in reading.acts if act.number > place.number]
        asked = [any(_is_about(act, item, items) for act in later) for item in items]
        if not 2 <= sum(asked) < len(items):
            continue
        told = [item for item, seen in zip(items, asked, strict=True) if not seen and _tells_of(last, item, items)]
        if told:
            name = next(iter(_own_texts(told[0], items)))
            evidence = f"{sum(asked)} of {len(items)} listed items were looked at, and {name!r} is told of as well"
            yield _listed_finding("unread_items", last.index, evidence)
            return


def _listings(reading: Reading) -> tuple[tuple[Act, Sequence[Item]], ...]:
    """The lists of objects in answers, each with its call; found at most once for the same evidence."""
    return reading.evidence.once(_listed)


def _listed(evidence: Evidence) -> tuple[tuple[Act, Sequence[Item]], ...]:
    return tuple((act, items) for act in read(evidence).acts if not act.failed for items in _lists(act))


def _lists(act: Act) -> Iterator[Sequence[Item]]:
    content = None if act.seen is None else act.seen.content
    if not isinstance(content, str) or "[" in content:
        yield from _nested(opened(content), 0)


def _nested(value: JsonValue, depth: int) -> Iterator[Sequence[Item]]:
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        items = [one for one in value[:_MOST] if isinstance(one, dict)]
        if 2 <= len(items) == len(value):
            yield [_item(one) for one in items]
    for inner in value.values() if isinstance(value, dict) else ():
        yield from _nested(inner, depth + 1)


def _item(value: Mapping[str, JsonValue]) -> Item:
    told = value.items()
    return {key.casefold(): str(one) for key, one in told if isinstance(one, str | int | float)}


def _is_own(value: str, items: Sequence[Item]) -> bool:
    """Whether only one of the items has the value."""
    return sum(value in item.values() for item in items) == 1


def _own_texts(item: Item, items: Sequence[Item]) -> Iterator[str]:
    return (value for key, value in item.items() if key in _NAMES and _is_own(value, items))


def _are_twins(chosen: Item, other: Item, said: frozenset[str]) -> bool:
    """Whether both match what was said by the same words of a name, and nothing that was said tells them apart."""
    shared = [
        key
        for key in _NAMES & chosen.keys() & other.keys()
        if (named := said & set(atoms(chosen[key]))) and named == said & set(atoms(other[key]))
    ]
    if not shared or any(chosen.get(key) != other.get(key) for key in _STATUS):
        return False
    apart = (set(atoms(chosen[key])) ^ set(atoms(other.get(key, ""))) for key in chosen)
    return not any(said & words for words in apart)


def _asked_between(reading: Reading, place: Act, write: Act) -> bool:
    users = (step for step in reading.steps if step.source == "user" and step.message)
    return any(place.moment < reading.moments[step.index] < write.moment for step in users)


def _read_between(reading: Reading, place: Act, write: Act, items: Sequence[Item]) -> bool:
    """Whether an item was looked at before the write, or its tool was given further items: then it made no choice."""
    others = (
        act
        for act in reading.acts
        if place.number < act.number < write.number or (act.call.name == write.call.name and act is not write)
    )
    return any(_is_about(act, item, items) for act in others for item in items)


def _is_about(act: Act, item: Item, items: Sequence[Item]) -> bool:
    given = set(texts(act.call.arguments))
    return any(value in given and _is_own(value, items) for value in item.values())


def _tells_of(last: Step, item: Item, items: Sequence[Item]) -> bool:
    """Whether a sentence of the message names the item, and does not say that it was left out."""
    names = [frozenset(atoms(name)) for name in _own_texts(item, items)]
    shared = frozenset.intersection(*(frozenset(atoms(" ".join(one.values()))) for one in items))
    for sentence in _SENTENCE.findall(last.message or ""):
        words = set(atoms(sentence))
        named = any(len((name - shared) & words) >= min(2, len(name - shared)) > 0 for name in names)
        if named and _LEFT_OUT.search(sentence) is None:
            return True
    return False


def _messages(reading: Reading) -> Iterator[str]:
    return (step.message for step in reading.steps if step.source == "user" and step.message)


def _said_by_users(reading: Reading, moment: int) -> frozenset[str]:
    users = (step for step in reading.steps if step.source == "user" and reading.moments[step.index] < moment)
    said = (reading.evidence.case.task, *(step.message or "" for step in users))
    return frozenset(word for text in said for word in atoms(text) if len(word) > 1)


def _listed_finding(kind: Kind, step: int, evidence: str) -> Diagnosis:
    return Diagnosis(
        failure="premature_commitment",
        kind=kind,
        origin_step=step,
        evidence=evidence,
        confidence=0.7,
        version=LISTED_ITEMS_VERSION,
    )


class ListedItems:
    """Premature commitment by lists: one of several items that match alike is taken, or some items stand for all.

    `ambiguous_match` counts: a write on one item of a list (objects in a tool's answer) where another item of the list
    has the words that the user gave under the same name (`name`, `title`, `drug`), nothing else that the user said
    tells the two apart, and the agent neither asked nor read further before it wrote. Does not count: items whose
    status differs; a trial that is known to have succeeded.

    `unread_items` counts: a task about all items of a list ("every", "which of"), a list that tells no more of its
    items than names and ids, a tool that was asked about at least two of them and not about all, and a last message
    that tells of one of the others as well. Does not count: a sentence that says that something was left out or not
    looked at.

    Origin: the write, or the last message. Dependent steps: none.
    """

    name: ClassVar[str] = "listed_items"
    version: ClassVar[str] = LISTED_ITEMS_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        if evidence.success is True or len(reading.acts) < 2:
            return ()
        return (*ambiguous_matches(reading), *unread_items(reading))


FIRST_CHANGE_VERSION: Final = "1"
_CHANGES: Final = frozenset(
    {"activate", "add", "apply", "assign", "book", "buy", "cancel", "change", "close", "create", "deactivate"}
    | {"delete", "disable", "downgrade", "edit", "enable", "enroll", "exchange", "grant", "issue", "modify", "move"}
    | {"order", "pause", "pay", "place", "publish", "purchase", "rebook", "refund", "register", "remove", "rename"}
    | {"replace", "reserve", "restore", "resume", "return", "revoke", "schedule", "sell", "send", "set", "submit"}
    | {"subscribe", "suspend", "swap", "terminate", "trade", "transfer", "unsubscribe", "update", "upgrade", "void"}
)


class FirstChange:
    """The first change that a failed run made, where nothing tells what it should have done: a place to look at first.

    Not a failure by itself, and no finding: whatever a check of the world found wrong is most often what the first
    change did. A call counts whose declared or worded effect is a change of something outside of the agent; shells,
    restarts, hand-overs and the answer that is handed in do not.

    Kind `first_change`: the first call that changed something, in a run that failed and has no reference.
    """

    name: ClassVar[str] = "first_change"
    version: ClassVar[str] = FIRST_CHANGE_VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        if evidence.success is not False or evidence.case.reference is not None:
            return ()
        first = next(filter(_changes, read(evidence).acts), None)
        if first is None:
            return ()
        return (
            Diagnosis(
                failure="wrong_outcome",
                kind="first_change",
                origin_step=first.step,
                evidence=f"{first.call.name} is the first change that the run made; no reference tells which was wrong",
                confidence=0.3,
                version=FIRST_CHANGE_VERSION,
            ),
        )


def _changes(act: Act) -> bool:
    if act.tool is None or not act.writes or act.failed or act.seen is None or act.is_code:
        return False
    if is_hand_over(act.call.name) or hands_in(act.call.name):
        return False
    return not _CHANGES.isdisjoint(deeds_in(act.tool, act.call.arguments))
