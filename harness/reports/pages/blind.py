"""Blind comparisons: a person says which of two trials of a case is better, and is not told whose they are."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from harness.errors import UsageError
from harness.judging.annotation import AnnotatorSession
from harness.judging.judge import JudgedTrial, why_not_eligible
from harness.judging.labels import PairLabel, append_line, pair_label_path, read_lines
from harness.judging.rubrics import Criterion, Rubric
from harness.judging.transcripts import Piece
from harness.reports.pages.markup import (
    Markup,
    bounded,
    choice,
    fragment,
    link,
    path_of,
    row,
    table,
    tag,
)
from harness.reports.pages.questions import shown_evidence
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.units import chance
from harness.runs.judging import model_decided
from harness.runs.measured_trials import judged_outcomes
from harness.runs.store.folder import RunFolder, TrialKey
from harness.scoring.statistics.significance import sign_test
from harness.suite.suites import Suite
from harness.values import digest_of

_PATH: Final = "/blind/{run}/{rubric}"
_ANSWERS: Final = (("A", "a", "A is better"), ("B", "b", "B is better"), ("tie", "t", "Neither"))
_WITHIN_S: Final = 0.5
"""For the search of the next two trials that differ in what the criterion looks at."""


@dataclass(frozen=True, kw_only=True)
class _Blind:
    """What one person compares: two runs by one criterion."""

    person: str
    folders: tuple[RunFolder, RunFolder]
    suite: Suite
    rubric: Rubric
    criterion: Criterion
    file: Path

    @property
    def keys(self) -> list[TrialKey]:
        """The trials that both runs have, in the planned order."""
        first, second = ([(one.case_id, one.attempt) for one in folder.manifest.planned] for folder in self.folders)
        both = {*second}
        return [key for key in first if key in both]

    def answered(self) -> set[TrialKey]:
        runs = {folder.manifest.run for folder in self.folders}
        version = (self.rubric.name, self.criterion.id, self.criterion.version, self.person)
        return {
            (one.case_id, one.attempt)
            for one in _labels(self.file)
            if {*one.runs} == runs and (one.rubric, one.criterion, one.criterion_version, one.annotator) == version
        }

    def pair(self, key: TrialKey) -> Sequence[JudgedTrial] | None:
        """A and B, in an order that the names of person, trial and criterion draw; None for two that ask nothing."""
        case = next((one for one in self.suite.cases if one.id == key[0]), None)
        found = []
        drawn = (self.person, self.criterion.id, *key)
        for folder in sorted(self.folders, key=lambda one: digest_of([*drawn, one.manifest.run])):
            trial = folder.trial(*key)
            if trial is None or trial.outcome not in judged_outcomes(self.rubric):
                return None
            found.append(JudgedTrial.of(folder.manifest.run, trial, case))
        if any(why_not_eligible(self.rubric, one, self.criterion) is not None for one in found):
            return None
        same = found[0].shown(self.criterion).digest == found[1].shown(self.criterion).digest
        return None if same else found


def blind(ask: Ask) -> Page:
    """`/blind/{run}/{rubric}?with=&criterion=&as=&from=`: the next two trials without an answer."""
    own = _of(ask)
    keys, answered = own.keys, own.answered()
    place, deadline = ask.number("from") - 1, time.monotonic() + _WITHIN_S
    found = None
    while place < len(keys) and found is None and time.monotonic() < deadline:
        found = None if keys[place] in answered else own.pair(keys[place])
        place += 1
    on = link(_path(ask, **{"from": place + 1}), "Skip →" if found else "Look further →", rel="next")
    said = tag("p", f"{len(answered)} compared. ", on if place < len(keys) else None, class_="progress", role="status")
    if found is not None:
        content = _question(ask, own, found)
    else:
        done = "There is nothing left to compare." if place >= len(keys) else "No two trials so far differ."
        content = [tag("p", done, class_="empty")]
        told = preferences(own.file, *(one.manifest.run for one in own.folders))
        content += [told] if told is not None and place >= len(keys) else []
    keyed = tuple((key, said) for _, key, said in _ANSWERS)
    up = path_of("annotate", run=ask.place["run"], rubric=ask.place["rubric"])
    page = Page.of("Blind comparison", said, *content, section="Annotate", up=(up, "Annotate"))
    return Page(title=page.title, body=page.body, section=page.section, keys=keyed)


def answer(ask: Ask) -> str:
    """Writes the answer, with the order in which the two were shown."""
    own, better = _of(ask), ask.form.get("better", "")
    if better not in {name for name, _, _ in _ANSWERS}:
        raise UsageError(f"{better[:40]!r} is not an answer", remedy="A, B or tie")
    key = ask.place["case"], ask.attempt()
    found = own.pair(key) if key in own.keys else None
    if found is None:
        raise UsageError(f"{key[0][:100]!r} attempt {key[1]} is not compared", remedy="go to the next one")
    label = PairLabel(
        annotator=own.person,
        runs=(found[0].run, found[1].run),
        trajectories=(found[0].digest, found[1].digest),
        case_id=key[0],
        attempt=key[1],
        rubric=own.rubric.name,
        criterion=own.criterion.id,
        criterion_version=own.criterion.version,
        better=cast(Any, better),
        note=ask.form.get("note", "").replace("\r\n", "\n").strip()[:2000],
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    append_line(own.file, label)
    return _path(ask)


def beginning(ask: Ask, run: str, rubric: Rubric, suite: str) -> Markup | None:
    """The form that begins; None if there is no other run of the suite, or nothing to ask."""
    others = [
        one.name for one in ask.project.index.entries() if one.manifest is not None and one.manifest.suite == suite
    ]
    criteria = [one.id for one in rubric.criteria if one.kind == "llm"]
    if not criteria or not (others := [one for one in others if one != run][:50]):
        return None
    person = tag("input", name="as", required=True, maxlength="60", autocomplete="username")
    return fragment(
        tag("h2", "Compare blind"),
        tag("p", "Two trials of a case as A and B: you say which is better, and are not told whose.", class_="prose"),
        tag(
            "form",
            tag("label", tag("span", "your name"), person),
            choice("with", "other run", others, others[0], otherwise="choose"),
            choice("criterion", "criterion", criteria, criteria[0], otherwise="choose"),
            tag("button", "Begin"),
            method="get",
            action=path_of("blind", run, rubric.name),
            class_="act",
        ),
    )


def preferences(file: Path, before: str, after: str) -> Markup | None:
    """How often people preferred which of two runs, by criterion; None if they compared nothing."""
    last = {
        (one.criterion, one.case_id, one.attempt, one.annotator): one.winner
        for one in _labels(file)
        if {*one.runs} == {before, after}
    }
    by_pair: dict[tuple[str, str, int], set[str | None]] = {}
    for (criterion, case, attempt, _), winner in last.items():
        by_pair.setdefault((criterion, case, attempt), set()).add(winner)
    counts: dict[str, Counter[str]] = {}
    cases: dict[str, Counter[str]] = {}
    """Of each case, how many more of its trials are better after than before: attempts at a case count once."""
    for (criterion, case, _), winners in by_pair.items():
        settled = next(iter(winners)) if len(winners) == 1 else None
        side = settled or ("no preference" if len(winners) == 1 else "people differ")
        counts.setdefault(criterion, Counter())[side] += 1
        cases.setdefault(criterion, Counter())[case] += (side == after) - (side == before)
    if not counts:
        return None
    heads = (before, after, "no preference", "people differ")
    rows = []
    for name, own in sorted(counts.items()):
        signs = Counter((more > 0) - (more < 0) for more in cases[name].values())
        rows.append(row(name, *(str(own[head]) for head in heads), chance(sign_test(signs[1], signs[-1]))))
    title = "Preferred by people who were not told which is which"
    return fragment(tag("h2", title), table(("criterion", *(f"#{one}" for one in heads), "#p"), rows, caption=title))


def _labels(file: Path) -> Iterator[PairLabel]:
    return (label for _, label in read_lines(file, PairLabel) if isinstance(label, PairLabel))


def _of(ask: Ask) -> _Blind:
    """What the address asks for. Raises UsageError."""
    names = ask.place["run"], ask.query.get("with", "")
    folders = ask.project.run(names[0]), ask.project.run(names[1])
    if names[0] == names[1] or folders[0].manifest.suite != folders[1].manifest.suite:
        raise UsageError(
            "two trials are compared blind if they are of two runs of one suite", remedy="choose another run"
        )
    own = ask.project.annotations
    suite = own.suite(folders[0])
    rubric = own.rubric(suite, ask.place["rubric"])
    return _Blind(
        person=AnnotatorSession.of(ask.query.get("as", "")).name,
        folders=folders,
        suite=suite,
        rubric=rubric,
        criterion=model_decided(rubric, ask.query.get("criterion", "")),
        file=pair_label_path(ask.project.path, suite.name, rubric.name),
    )


def _path(ask: Ask, *below: str | int, **asked: int) -> str:
    kept = {name: ask.query[name] for name in ("with", "criterion", "as") if name in ask.query}
    return path_of("blind", ask.place["run"], ask.place["rubric"], *below, **kept, **asked)


def _question(ask: Ask, own: _Blind, found: Sequence[JudgedTrial]) -> list[Markup]:
    trial, case = found[0].trial, found[0].case
    sides = [
        shown_evidence([_unnamed(piece) for piece in one.shown(own.criterion).pieces], title=name)
        for name, one in zip("AB", found, strict=True)
    ]
    buttons = [
        tag("button", tag("kbd", key), f" {said}", name="better", value=name, data_key=key)
        for name, key, said in _ANSWERS
    ]
    form = tag(
        "form",
        tag("p", f"{own.criterion.domain}: {own.criterion.id}"),
        tag("h2", f"Which of the two meets it better? {own.criterion.statement}"),
        tag("div", *buttons, class_="answers-row"),
        tag("label", tag("span", "comment"), tag("textarea", name="note", maxlength="2000", rows="1")),
        method="post",
        action=_path(ask, trial.case_id, trial.attempt),
        class_="question answers",
        data_open=True,
    )
    about = f". {bounded(case.description, 1000)}" if case is not None and case.description else ""
    head = tag("p", f"{trial.case_id} / {trial.attempt}{about}", class_="dim")
    return [head, form, tag("div", *sides, class_="pair")]


def _unnamed(piece: Piece) -> Piece:
    """Without the name of the agent under test, which may say whose trial it is."""
    return piece.model_copy(update={"agent": None}) if piece.outermost else piece


PAGES = PageSet(shows={_PATH: blind}, acts={_PATH + "/{case}/{attempt}": answer})
