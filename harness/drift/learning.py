"""Adds the results of one probe session to the profile of an operation."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise

from pydantic import JsonValue

from harness.cassettes.profiles import ITEM, OperationProfile, PathProfile, ToolProfile, Volatility
from harness.drift.answers import Answer, answer_of, unlike
from harness.drift.forms import Forms, PathRules, forms_seen
from harness.drift.observations import CallObservations
from harness.drift.structure import PathShape, shape_of
from harness.runs.store.drift_report import holder_of

_RING = 10
_MOST_CALLS = 200
"""The number of calls of each operation whose last values are stored."""


@dataclass(frozen=True, kw_only=True)
class ProbeSession:
    """The conditions under which a probe session is learned."""

    day: date
    shape: bool = False
    """Whether the user states that the tools work correctly: optional members are learned too, and every change of a
    value counts as noise at once.
    """
    accept: bool = False
    """Whether the user also states that no more days are needed."""


@dataclass(kw_only=True)
class _ValueChanges:
    """Paths whose values changed."""

    within: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    """Paths that left the recorded value since the last session."""
    returned: set[str] = field(default_factory=set)
    """Paths that returned to the recorded value."""
    moved: set[str] = field(default_factory=set)
    """Paths that changed between two values, neither of which is the recorded one."""
    fleeting: set[str] = field(default_factory=set)


def learned(
    profile: ToolProfile, observations: Iterable[CallObservations], rules: PathRules, session: ProbeSession
) -> ToolProfile:
    """The tool's profile, extended by the answers to its calls."""
    own: defaultdict[str, list[CallObservations]] = defaultdict(list)
    for observation in observations:
        if observation.tool == profile.tool and _successful_answers(observation):
            own[observation.operation].append(observation)
    operations = {
        name: _operation(profile.operations.get(name) or OperationProfile(), found, rules, session)
        for name, found in own.items()
    }
    return profile.model_copy(update={"operations": dict(sorted((profile.operations | operations).items()))})


def _successful_answers(observation: CallObservations) -> list[Answer]:
    return [answer for answer in observation.answers if not answer.is_error]


def _operation(
    before: OperationProfile, observations: Sequence[CallObservations], rules: PathRules, session: ProbeSession
) -> OperationProfile:
    answers = [answer for observation in observations for answer in _successful_answers(observation)]
    forms = _forms(before, observations, answers, rules)
    seen, differing = _changes(before, observations, rules, forms)
    paths = dict(before.paths)
    for path in sorted(seen.within | seen.left | seen.returned | seen.moved):
        paths[path] = _volatile(paths.get(path) or PathProfile(), path, seen, session)
    if session.shape:
        for path in sorted(seen.fleeting):
            known = paths.get(path) or PathProfile()
            paths[path] = known.model_copy(update={"fleeting": known.fleeting + 1})
        paths = _profiles_by_path(paths, [answer.value for answer in answers], forms)
    return OperationProfile(
        samples=before.samples + len(answers),
        days=_with_day(before.days, session.day),
        shaped_samples=before.shaped_samples + (len(answers) if session.shape else 0),
        shaped_days=_with_day(before.shaped_days, session.day) if session.shape else before.shaped_days,
        accepted=session.day if session.accept else before.accepted,
        paths=dict(sorted(paths.items())),
        differing=differing,
    )


def _forms(
    before: OperationProfile, observations: Sequence[CallObservations], answers: Sequence[Answer], rules: PathRules
) -> Forms:
    """The forms in all samples together, so that a path is not learned both as a member and as a key of a map."""
    learned = Forms(rules=rules).over(forms_seen(path for path, one in before.paths.items() if one.kinds))
    recorded = [answer_of(observation.recorded) for observation in observations]
    values = [one.value for one in (*recorded, *answers) if not one.is_silent and not one.is_error]
    return learned.over(forms_seen(shape_of(values, learned)))


def _changes(
    before: OperationProfile, observations: Sequence[CallObservations], rules: PathRules, forms: Forms
) -> tuple[_ValueChanges, dict[str, dict[str, str]]]:
    seen, differing = _ValueChanges(), dict(before.differing)
    for observation in observations:
        answers, recorded = _successful_answers(observation), answer_of(observation.recorded)
        for old, new in pairwise(answers):
            seen.within |= {one.path for one in unlike(old.value, new.value, rules, forms)}
        seen.fleeting |= _fleeting([recorded.value, *(one.value for one in answers)], forms)
        if recorded.status != answers[-1].status:
            continue
        call = f"{observation.recorded.mark.key}.{observation.recorded.mark.occurrence}"
        now = {one.path: _digest(one.new) for one in unlike(recorded.value, answers[-1].value, rules, forms)}
        then = before.differing.get(call, {})
        # Both contain the paths whose value differs from the recorded one.
        seen.left |= now.keys() - then.keys()
        seen.returned |= then.keys() - now.keys()
        seen.moved |= {path for path in now.keys() & then.keys() if now[path] != then[path]}
        differing.pop(call, None)
        if now:
            differing[call] = dict(sorted(now.items()))
    return seen, dict(sorted(differing.items())[:_MOST_CALLS])


def _fleeting(values: Sequence[JsonValue], forms: Forms) -> set[str]:
    """Paths that some answers have, and others lack although they have the parent object."""
    shapes = [shape_of([value], forms) for value in values]
    paths = {path for shape in shapes for path in shape if path and not path.endswith(ITEM)}
    return {path for path in paths if any(path not in one and holder_of(path) in one for one in shapes)}


def _volatile(profile: PathProfile, path: str, seen: _ValueChanges, session: ProbeSession) -> PathProfile:
    old = profile.volatile or Volatility()
    at_once = path in seen.within or (session.shape and path in seen.left | seen.moved)
    volatile = Volatility(
        sittings=old.sittings + int(at_once),
        moves=old.moves + int(path in seen.moved),
        changes=old.changes + int(path in seen.left or path in seen.returned),
    )
    return profile.model_copy(update={"volatile": volatile})


def _profiles_by_path(paths: dict[str, PathProfile], values: list[JsonValue], forms: Forms) -> dict[str, PathProfile]:
    shaped = dict(paths)
    for path, place in shape_of(values, forms).items():
        shaped[path] = _updated_profile(shaped.get(path) or PathProfile(), place)
    return shaped


def _updated_profile(known: PathProfile, place: PathShape) -> PathProfile:
    words = None if place.texts is None else tuple(sorted({*place.texts, *(known.words or ())}))
    return known.model_copy(
        update={
            "kinds": dict(sorted((Counter(known.kinds) + place.kinds).items())),
            "present": known.present + place.present,
            "holders": known.holders + place.holders,
            "words": words if words and "string" in place.kinds and len(words) <= 8 else None,
        }
    )


def _with_day(days: tuple[date, ...], day: date) -> tuple[date, ...]:
    return days if day in days else tuple(sorted((*days, day)))[-_RING:]


def _digest(value: JsonValue) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:8]
