"""Calls that no recording answers, over all runs: each with the recording nearest to it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue

from harness.errors import HarnessError
from harness.reports.pages.markup import (
    Markup,
    bounded,
    choice,
    filters,
    folded_value,
    fragment,
    link,
    path_of,
    row,
    table,
    tag,
    trial_path,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.values import JsonObject, canonical_json

_RUNS: Final = 25
_TRIALS: Final = 40
"""Of one run that are read for their misses."""
_LISTED: Final = 200


@dataclass(kw_only=True)
class _Missed:
    """One call of one case, in however many runs it was made."""

    suite: str
    case_id: str
    miss: JsonObject
    trials: list[tuple[str, int]] = field(default_factory=list)
    """Run and attempt, the newest first."""


def misses(ask: Ask) -> Page:
    """`/misses?suite=`: the newest runs first."""
    manifests = [one.manifest for one in ask.project.index.entries() if one.manifest is not None]
    suites = sorted({one.suite for one in manifests})
    chosen = ask.query.get("suite", "")
    runs = [one.run for one in manifests if chosen in ("", one.suite)]
    own, beside = ask.part(runs, "/misses", _RUNS)
    found: dict[tuple[str, str, str], _Missed] = {}
    unread = [note for name in own for note in _collect(ask, name, found)]
    ranked = sorted(found.values(), key=lambda one: -len(one.trials))[:_LISTED]
    heads = ("call", "case", "#trials", "nearest recording", "latest")
    nothing = tag("p", "Every call of these runs had a recording, or was made live.", class_="empty")
    return Page.of(
        "Calls without a recording",
        filters(choice("suite", "suite", suites, chosen), action="/misses"),
        *(tag("p", note, class_="alert") for note in unread[:20]),
        table(heads, map(_row, ranked), caption="Calls without a recording") if ranked else nothing,
        beside,
        section="Cassettes",
        up=("/cassettes", "Cassettes"),
        beside=tag("p", f"in {len(own)} runs", class_="count"),
    )


def _collect(ask: Ask, name: str, found: dict[tuple[str, str, str], _Missed]) -> Iterator[str]:
    """Adds the misses of one run; a trial with a miss is inconclusive. Yields what could not be read."""
    try:
        keys = [(one.case_id, one.attempt) for one in ask.project.index.lines(name) if one.outcome == "inconclusive"]
        folder = ask.project.run(name)
    except HarnessError as error:
        yield f"{name}: {bounded(error.message, 300)}"
        return
    for case_id, attempt in keys[:_TRIALS]:
        try:
            trial = folder.trial(case_id, attempt)
        except HarnessError as error:
            yield f"{name}: {bounded(error.message, 300)}"
            continue
        for miss in () if trial is None else trial.misses:
            key = (folder.manifest.suite, case_id, _identity(miss))
            kept = found.setdefault(key, _Missed(suite=folder.manifest.suite, case_id=case_id, miss=miss))
            if (name, attempt) not in kept.trials:
                kept.trials.append((name, attempt))
    if len(keys) > _TRIALS:
        yield f"{name}: {len(keys) - _TRIALS} more trials with such calls are not read here"


def _identity(miss: JsonObject) -> str:
    plain = [miss.get("tool"), miss.get("arguments"), miss.get("user")]
    try:
        return canonical_json(plain)
    except ValueError:  # NaN or an infinity of an agent has no canonical JSON
        return json.dumps(plain, sort_keys=True)


def _row(one: _Missed) -> Markup:
    run, attempt = one.trials[0]
    nearest = one.miss.get("nearest")
    best = nearest[0] if isinstance(nearest, list) and nearest else None
    recordings = path_of("cassettes", one.suite, one.case_id)
    return row(
        folded_value(bounded(str(one.miss.get("tool")), 120), one.miss.get("arguments"), 4000),
        link(recordings, one.case_id),
        str(len(one.trials)),
        _nearest(best, "model" if one.miss.get("model") is True else "tool"),
        link(trial_path(run, one.case_id, attempt), f"{run} / {attempt}"),
    )


def _nearest(best: JsonValue, kind: str) -> Markup:
    if not isinstance(best, dict):
        return tag("span", f"the cassette has none of this {kind}", class_="dim")
    difference = best.get("difference")
    note = None if difference is None else tag("p", bounded(str(difference), 400), class_="open")
    if "tool" not in best:  # how an agent's turn differs from the log's
        return fragment(note)
    return fragment(folded_value(bounded(str(best.get("tool")), 120), best.get("arguments"), 4000), note)


PAGES = PageSet(shows={"/misses": misses})
