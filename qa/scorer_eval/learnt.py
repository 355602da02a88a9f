"""Whether a small learnt model knows better than the rules on sets that it was not trained on.

For each mode a logistic regression over features of a run, for the decisive step a choice among the steps that say
something; each trained on the other sets. Nothing of it is in the product unless it wins here.
"""

from collections.abc import Mapping, Sequence
from math import log1p
from pathlib import Path

from counting import f1
from layout import share, table
from protocol import auc
from regression import Features, Scale, choice, dot, logistic
from sources import MODES, SETS, Labelled, labelled

from harness.scoring.failures.conversation import conversation_candidates
from harness.scoring.failures.goal_drift import other_plans
from harness.scoring.failures.grounding import atoms
from harness.scoring.failures.lookups import is_answer
from harness.scoring.failures.reading import Reading, read
from harness.scoring.failures.signals import INFORMATIVE, new_atoms
from harness.traces.trajectory import Step

_SETS = ("trail-gaia", "trail-swe", "magentic", "captain")
_DOUBT = frozenset(
    [
        "assume",
        "assumed",
        "assuming",
        "assumption",
        "hypothetical",
        "placeholder",
        "simulated",
        "sample",
        "typically",
        "generally",
        "known",
        "likely",
    ]
)
_CLAIM = frozenset(["verified", "confirmed", "correct", "accurate", "therefore", "conclusion"])
_SOURCE = frozenset(
    [
        "article",
        "articles",
        "paper",
        "database",
        "records",
        "internet",
        "online",
        "website",
        "page",
        "source",
        "sources",
        "search",
    ]
)
_TROUBLE = frozenset(["error", "failed", "traceback", "unable", "cannot", "unfortunately"])


def learnt(data: Path) -> None:
    """Both tables."""
    runs = {name: labelled(data, name) for name in SETS if name in _SETS}
    _modes(runs)
    _steps(runs)


def _modes(runs: Mapping[str, Sequence[Labelled]]) -> None:
    rows = []
    features = {one.source + one.id: _of_run(read(one.evidence)) for some in runs.values() for one in some}
    for mode in MODES:
        for name, own in runs.items():
            shown = [one for one in own if mode in one.modes]
            others = [one for other, some in runs.items() if other != name for one in some if mode in one.modes]
            if not any(one.modes[mode] for one in shown) or not any(one.modes[mode] for one in others):
                continue
            scale = Scale([features[one.source + one.id] for one in others])
            known = [scale.vector(features[one.source + one.id]) for one in others]
            weights = logistic(known, [one.modes[mode] for one in others])
            trained = [(dot(weights, [*row, 1.0]), one.modes[mode]) for row, one in zip(known, others, strict=True)]
            limit = max((value for value, _ in trained), key=lambda least: f1([(v >= least, p) for v, p in trained]))
            marks = [
                (dot(weights, [*scale.vector(features[one.source + one.id]), 1.0]), one.modes[mode]) for one in shown
            ]
            told = f"{f1([(value >= limit, positive) for value, positive in marks]):.2f}"
            rules = f"{f1([(mode in one.found, one.modes[mode]) for one in shown]):.2f}"
            always = f"{f1([(True, one.modes[mode]) for one in shown]):.2f}"
            rows.append([mode, name, len(shown), told, f"{auc(marks) or 0:.2f}", rules, always])
    head = ["mode", "set", "runs", "learnt F1", "learnt AUC", "rules F1 (in sample)", "always yes F1"]
    table("A learnt model for each mode, trained without the set", head, rows)


def _steps(runs: Mapping[str, Sequence[Labelled]]) -> None:
    rows = []
    groups = {name: [(one, _of_steps(read(one.evidence))) for one in own] for name, own in runs.items()}
    groups = {name: [(one, steps) for one, steps in own if one.step is not None] for name, own in groups.items()}
    for name, own in groups.items():
        others = [pair for other, some in groups.items() if other != name for pair in some]
        if not own or not others:
            continue
        scale = Scale([row for _, steps in others for row in steps.values()])
        known = [
            ([scale.vector(row) for row in steps.values()], list(steps).index(one.step))
            for one, steps in others
            if one.step in steps
        ]
        weights = choice(known)
        right = 0
        for one, steps in own:
            best = max(steps, key=lambda step: dot(weights, scale.vector(steps[step])), default=None)
            right += best == one.step
        rows.append([name, len(own), share(right, len(own))])
    table("A learnt choice of the decisive step, trained without the set", ["set", "runs", "exact"], rows)


def _of_run(reading: Reading) -> Features:
    talk = _talk(reading)
    words = [atoms(_said(step)) for step in talk]
    others = [act for act in reading.acts if act.seen is not None and not is_answer(act.call)]
    news = sum(count >= INFORMATIVE for count in new_atoms(reading, others).values())
    answered = any(is_answer(act.call) for act in reading.acts)
    task = set(atoms(reading.evidence.case.task))
    third = max(1, len(words) // 3)
    sources = min(20, sum(word in _SOURCE for some in words[:4] for word in some)) / 20
    return {
        "answered without news": float(answered and not news),
        "sources": sources,
        "answered without news, with sources": sources * (answered and not news),
        "failed calls": sum(act.failed for act in reading.acts) / max(1, len(reading.acts)),
        "calls": log1p(len(reading.acts)),
        "messages": log1p(len(talk)),
        "doubt": log1p(sum(word in _DOUBT for some in words[1:] for word in some)),
        "claims": log1p(sum(word in _CLAIM for some in words[1:] for word in some)),
        "task in the first third": len(task & {word for some in words[:third] for word in some}) / max(1, len(task)),
        "task in the last third": len(task & {word for some in words[-third:] for word in some}) / max(1, len(task)),
        "plan for another task": float(bool(other_plans(reading))),
    }


def _of_steps(reading: Reading) -> dict[int, Features]:
    talk = _talk(reading)
    words = {step.index: frozenset(atoms(_said(step)[:6000])) for step in reading.steps}
    first: dict[str, int] = {}
    for index, some in words.items():
        for word in some:
            first.setdefault(word, index)
    later = dict.fromkeys(words, 0)
    for step in talk:
        for word in words[step.index]:
            later[first[word]] += 1
    follows = {step.index: after for step, after in zip(reading.steps, reading.steps[1:], strict=False)}
    before = {after.index: step for step, after in zip(reading.steps, reading.steps[1:], strict=False)}
    ruled = {one.origin_step for one in conversation_candidates(reading)}
    return {
        step.index: {
            "place": log1p(place),
            "from the end": log1p(len(talk) - 1 - place),
            "last": float(place == len(talk) - 1),
            "length": log1p(len(words[step.index])),
            "code": float("```" in _said(step)),
            "next one fails": _trouble(follows.get(step.index), words),
            "after a failure": _trouble(before.get(step.index), words),
            "doubt": float(bool(words[step.index] & _DOUBT)),
            "claims": float(bool(words[step.index] & _CLAIM)),
            "brings": log1p(sum(first[word] == step.index for word in words[step.index])),
            "rests on it": log1p(later[step.index]),
            "named by a rule": float(step.index in ruled),
        }
        for place, step in enumerate(talk)
    }


def _trouble(step: Step | None, words: Mapping[int, frozenset[str]]) -> float:
    return float(step is not None and step.source != "agent" and bool(words[step.index] & _TROUBLE))


def _talk(reading: Reading) -> list[Step]:
    return [step for step in reading.steps if step.source == "agent" and _said(step)]


def _said(step: Step) -> str:
    return " ".join(part for part in (step.message, step.thought) if part)
