"""Themes of production: what is one theme, how it is ranked, and that its id stays."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.drift.issue import TrackerOptions
from harness.drift.trackers import FolderTracker
from harness.judging.labels import append_line, label_path
from harness.production.failures import Examined, Population, SessionFailure
from harness.production.grouping import grouped
from harness.production.issues import file_themes
from harness.production.ranking import Ranking, Theme, ThemesReport
from harness.production.themes import themes_of_store
from harness.scoring.scorecard import Diagnosis
from tests.judging.labelling import label
from tests.production.themes.conftest import Shop, judged
from tests.production.walking import harness, harness_json

LATTE = "missing: 1 x large latte"
CLOSED = "the order was never closed by the agent"


def report(shop: Shop, since: str = "2020-01-01") -> ThemesReport:
    del since
    return themes_of_store(shop.folder, shop.store, remember=True)


def by_sessions(found: ThemesReport) -> dict[int, Theme]:
    return {theme.sessions: theme for theme in found.themes}


def loop(evidence: str) -> Diagnosis:
    return Diagnosis(
        failure="loop_trap", kind="repeated_call", origin_step=None, evidence=evidence, confidence=0.9, version="1"
    )


def test_one_criterion_is_told_apart_by_what_was_said(shop: Shop) -> None:
    shop.score(times=4)
    for number in range(3):
        shop.score(reason=f"missing: {number} x large latte")
    shop.score(reason=CLOSED, times=2)
    found = report(shop)
    assert (9, 5) == (found.sessions, found.failed)
    assert [3, 2] == [theme.sessions for theme in found.themes]
    assert "order: missing: 0 x large latte" == found.themes[0].title
    assert {"check:order"} == {theme.criterion for theme in found.themes}


def test_impact_is_estimated_for_all_sessions_and_weighted_by_severity(shop: Shop) -> None:
    """Failed sessions were all scored, clean ones one in ten: 100 sessions, of which 10 failed."""
    shop.score(reason=LATTE, times=10)
    shop.score(times=9, rate=0.1)
    shop.score(diagnoses=(loop("look was called 4 times"),), times=1)
    found = by_sessions(report(shop))
    failed, noticed = found[10], found[1]
    assert (10, 0.1, 1.0) == (failed.estimated_sessions, round(failed.share, 2), failed.severity)
    assert failed.share_interval is not None
    assert failed.share_interval.low < 0.1 < failed.share_interval.high
    assert failed.impact_interval is not None
    assert failed.impact_interval.low < failed.impact < failed.impact_interval.high
    assert ("loop_trap/repeated_call", 0.3) == (noticed.cause.mode, noticed.severity)


def test_ids_stay_while_sessions_come_and_go_and_in_any_order(tmp_path: Path) -> None:
    """The second day lacks the first sessions and has new ones; each of two themes keeps its id."""
    days = []
    for number, reasons in enumerate(itertools.permutations((LATTE, CLOSED, "nothing was ordered at all"))):
        one = Shop(tmp_path / str(number))
        for place, reason in enumerate(reasons):
            one.score(reason=reason, times=2 + place)
        days.append({theme.id for theme in report(one).themes})
    assert [days[0]] * 6 == days

    one.score(day="2026-01-02", reason="missing: 2 x small latte", times=5)
    later = themes_of_store(one.folder, one.store, since_ns=1_767_300_000_000_000_000)
    assert [5] == [theme.sessions for theme in later.themes]
    assert later.themes[0].id in days[0]
    assert "2026-01-01" == later.themes[0].first_day


def test_the_harness_own_faults_are_themes_of_their_own(shop: Shop) -> None:
    shop.score(times=3)
    shop.score(judgement=judged("polite", "no JSON", failed=True))
    shop.score(judgement=judged("polite", "the reply is rude"))
    shop.score(skipped=True, notes=("unreadable: its spans tell of no agent",))
    for outcome in ("inconclusive", "simulator_failed", "harness_failed"):
        shop.score(card={"outcome": outcome, "success": None, "reason": f"it was {outcome}", "verdicts": ()})
    shop.score(skipped=True)  # left out by sampling: no failure, and not looked at
    found = report(shop)
    assert {None, "judge_failed", "tracing_gap", "replay_miss", "invalid_user", "harness_failed"} == {
        theme.fault for theme in found.themes
    }
    assert {0.5} == {theme.severity for theme in found.themes if theme.fault}
    assert 9 == found.sessions


def test_a_failing_judgement_that_people_contradict_is_a_fault_of_the_judge(shop: Shop) -> None:
    rubric = shop.folder / "suites" / "shop" / "rubrics" / "r.yaml"
    rubric.parent.mkdir(parents=True)
    rubric.write_text("{name: r, criteria: [{id: polite, statement: It is.}, {id: short, statement: It is.}]}")
    passed = {"rubric": "r", "criterion": "polite", "criterion_version": "1", "trajectory": "d", "answer": "pass"}
    append_line(label_path(shop.folder, "shop", "r"), label("production").model_copy(update=passed))
    shop.score(judgement=judged("polite", "the reply is rude"), times=2)
    shop.score(judgement=judged("short", "the reply is long"))
    assert {2: "judge_false_positive", 1: None} == {theme.sessions: theme.fault for theme in report(shop).themes}


def test_a_trend_needs_more_than_chance(shop: Shop) -> None:
    for day in ("2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"):
        shop.score(day=day, times=30)
        shop.score(day=day, reason=CLOSED, times=3, release=f"r{day[-1]}")
    for day in ("2026-01-03", "2026-01-04"):
        shop.score(day=day, reason=LATTE, times=8)
    found = {theme.title: theme for theme in report(shop).themes}
    assert {"new", "steady"} == {theme.trend for theme in found.values()}
    assert next(theme for theme in found.values() if theme.trend == "steady").first_release == "r1"


def test_a_hostile_session_gets_nothing_through(shop: Shop) -> None:
    """Neither a control character, a mention, a comment nor a fence reaches a title, a file name or an issue."""
    told = "\x1b[2J@everyone <!-- harness-drift:v1 key=000000000000 {} --> ```\n# Owned\u202e | [x](http://evil)"
    shop.score(reason=told, times=3, release="@all\x1b]0;x")
    found = report(shop)
    tracker = FolderTracker(TrackerOptions(project=shop.folder))
    assert ["file"] == [one.verb for one in file_themes(shop.folder, found, tracker)]
    (path,) = (shop.folder / "issues").glob("*.md")
    text = path.read_text(encoding="utf-8")
    assert "\x1b" not in text + json.dumps(found.model_dump(mode="json")).replace("\\u001b", "\x1b")
    assert "\u202e" not in text
    assert 1 == text.count("<!-- harness-drift:v1")
    assert "@everyone" not in text
    assert "\n# Owned" not in text
    assert path.name.isascii()
    assert ["leave"] == [one.verb for one in file_themes(shop.folder, report(shop), tracker)]


@pytest.mark.slow
def test_a_flood_of_texts_makes_a_bounded_number_of_themes(shop: Shop) -> None:
    for number in range(200):
        word = "".join(chr(97 + (number // 26**place) % 26) for place in range(3))
        shop.score(reason=f"{word * 2} {word * 3} {word * 4}")
    found = report(shop)
    assert 40 >= len(found.themes)
    assert 200 == sum(theme.sessions for theme in found.themes)


def test_a_theme_is_one_issue_that_is_closed_when_its_absence_is_no_chance(shop: Shop) -> None:
    tracker = FolderTracker(TrackerOptions(project=shop.folder))
    shop.score(times=10)
    shop.score(reason=LATTE, times=5)
    shop.score(reason=CLOSED, times=5)
    assert ["file", "file"] == [one.verb for one in file_themes(shop.folder, report(shop), tracker)]
    assert {"0001", "0002"} == {theme.issue[:4] for theme in report(shop).themes}

    shop.score(day="2026-01-02", reason=CLOSED, times=2)
    after = 1_767_300_000_000_000_000  # since the second day
    soon = themes_of_store(shop.folder, shop.store, since_ns=after, remember=True)
    assert [(2, False)] == [(one.examined, one.over) for one in soon.away]
    assert {"update"} == {one.verb for one in file_themes(shop.folder, soon, tracker)}

    shop.score(day="2026-01-03", times=40)
    later = themes_of_store(shop.folder, shop.store, since_ns=after, remember=True)
    assert [(42, True)] == [(one.examined, one.over) for one in later.away]
    assert {"update", "close"} == {one.verb for one in file_themes(shop.folder, later, tracker)}
    assert 1 == sum(issue.is_open for issue in tracker.find())

    shop.score(day="2026-01-04", reason=LATTE, times=3)
    again = themes_of_store(shop.folder, shop.store, since_ns=after, remember=True)
    assert "reopen" in {one.verb for one in file_themes(shop.folder, again, tracker)}


def test_sessions_that_no_judge_scored_close_no_theme_of_a_judge(shop: Shop) -> None:
    tracker = FolderTracker(TrackerOptions(project=shop.folder))
    shop.score(times=5, judgement=judged("tone", "The answer is rude to the customer", failed=True))
    assert ["file"] == [one.verb for one in file_themes(shop.folder, report(shop), tracker)]
    after = 1_767_300_000_000_000_000  # since the second day
    shop.score(day="2026-01-02", times=40)
    unjudged = themes_of_store(shop.folder, shop.store, since_ns=after, remember=True)
    assert [(0, False)] == [(one.examined, one.over) for one in unjudged.away]
    shop.score(day="2026-01-03", times=40, judgement=judged("tone", ""))
    assert [(40, True)] == [
        (one.examined, one.over) for one in themes_of_store(shop.folder, shop.store, since_ns=after, remember=True).away
    ]


def test_the_verbs(shop: Shop) -> None:
    shop.score(day="2026-01-01", reason=LATTE, times=3)
    since = ("--since", "2026-01-01")
    told = harness_json("themes", *since, project=shop.folder)
    (theme,) = told["themes"]
    assert (1, "store", "2026-01-01", 3) == (told["schema_version"], told["source"], told["since"], theme["sessions"])
    assert theme["id"] in harness("themes", *since, project=shop.folder)
    shown = harness_json("themes", "--theme", theme["id"][:5], *since, project=shop.folder)
    assert theme == shown
    assert "representative" in harness("themes", "--theme", theme["id"], *since, project=shop.folder)
    filed = harness_json("themes", "file", "--tracker", "folder", *since, project=shop.folder)
    assert [(theme["id"], "file")] == [(one["id"], one["verb"]) for one in filed]
    assert "  (online:theme)\n" in harness("issue", "list", "--tracker", "folder", project=shop.folder)
    assert "harness themes lists" in harness("themes", "--theme", "zzz", *since, project=shop.folder, status=2)
    assert "scores: shop" in harness("themes", "--suite", "shp", project=shop.folder, status=2)
    left_out = harness("themes", "file", "--tracker", "folder", "--min-sessions", "4", *since, project=shop.folder)
    assert "--min-sessions 1" in left_out
    assert "--suite " in harness("themes", "a-run", "--suite", "shop", project=shop.folder, status=2)


def test_a_crash_and_a_limit_that_fail_the_same_check_are_two_themes(shop: Shop) -> None:
    for outcome, times in (("agent_failed", 3), ("limit_reached", 2)):
        shop.score(reason="there is no answer", times=times, card={"outcome": outcome, "reason": outcome})
    found = by_sessions(report(shop))
    assert ["outcome/agent_failed", "outcome/limit_reached"] == [found[3].cause.mode, found[2].cause.mode]


def test_of_findings_with_one_beginning_what_was_done_leads(shop: Shop) -> None:
    left_out, claimed = (
        Diagnosis(failure=failure, kind=kind, origin_step=None, evidence=kind, confidence=0.9, version="1")
        for failure, kind in (("premature_commitment", "stopped_early"), ("tool_hallucination", "invalid_parameter"))
    )
    shop.score(reason=CLOSED, times=3, diagnoses=(left_out, claimed))
    shop.score(reason=CLOSED, times=2, diagnoses=(left_out,))
    found = by_sessions(report(shop))
    assert "tool_hallucination/invalid_parameter" == found[3].cause.mode
    assert "premature_commitment/stopped_early" == found[2].cause.mode


def test_the_work_for_a_theme_does_not_grow_with_the_sessions_that_it_does_not_touch(shop: Shop) -> None:
    reads = 0

    class Counted(list[Examined]):
        def __iter__(self) -> Iterator[Examined]:
            nonlocal reads
            reads += 1
            return super().__iter__()

    failures = [
        SessionFailure(session=f"s{number}", case="", criterion=f"check:c{number}", text="x", received_ns=number)
        for number in range(30)
    ]
    examined = Counted(Examined(f"s{number}", "rules", f"s{number}", 1.0, number) for number in range(100))
    ranking = Ranking(Population("store", "shop", examined, failures))
    before = reads
    themes = [ranking.theme(group) for group in grouped("shop", failures)]
    assert (30, before) == (len(themes), reads)
    assert {0.01} == {round(theme.share, 4) for theme in themes}
