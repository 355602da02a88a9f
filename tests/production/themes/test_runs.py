"""Themes of runs whose folders others wrote."""

import json
from pathlib import Path

from harness.drift.issue import TrackerOptions
from harness.drift.trackers import FolderTracker
from harness.production.failures import SessionFailure, failures_of_card
from harness.production.grouping import grouped
from harness.production.issues import file_themes
from harness.production.themes import themes_of_run, themes_of_store
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.evidence import Verdict
from harness.scoring.rules.learned import RuleResult
from harness.scoring.scorecard import Scorecard
from harness.traces.trajectory import Step, ToolCall, Trajectory
from harness.traces.trial import Trial
from tests.production.themes.conftest import Shop


def book(project: Path) -> Path:
    return project / "themes" / "runs" / "s.json"


def failed_run(runs: Path, name: str, created: str, reason: str, *, suite: str = "s", passed: int = 0) -> RunFolder:
    """One trial that failed for the reason, and so many that passed."""
    said = {
        "run": name, "created": created, "harness_version": "0.1.0", "suite": suite, "suite_digest": "d" * 64,
        "agent": "v1", "agent_digest": "a" * 64, "snapshot_digest": "e" * 64, "tools_digest": "f" * 64,
        "tool_mode": "replay", "provider": "docker", "isolates": True,
        "planned": [PlannedTrial(case_id="one", attempt=number) for number in range(1, passed + 2)],
    }  # fmt: skip
    trajectory = Trajectory(trace_id="t", agent="s", steps=())
    card = Scorecard(
        case_id="one", attempt=1, category="c", outcome="finished", success=False,
        verdicts=(Verdict(check="k", verifier="v", version="1", passed=False, reason=reason),), scores=(),
        digest=trajectory.digest,
    )  # fmt: skip
    with RunFolder.create(runs, RunManifest.model_validate(said)) as folder:
        for number in range(1, passed + 2):
            own = card if number == 1 else card.model_copy(update={"attempt": number, "success": True, "verdicts": ()})
            folder.commit(Trial(case_id="one", attempt=number, outcome="finished", trajectory=trajectory), (), own)
    return RunFolder.open(folder.path)


def test_a_run_from_the_future_makes_no_known_theme_old(tmp_path: Path) -> None:
    own = failed_run(tmp_path / "runs", "own", "2026-11-01T00:00:00Z", "The shop is closed")
    themes_of_run(tmp_path, own, remember=True)
    (known,) = json.loads(book(tmp_path).read_text())["themes"]
    hostile = failed_run(tmp_path / "runs", "hostile", "9000-01-01T00:00:00Z", "A latte was not ordered")
    (later,) = themes_of_run(tmp_path, hostile, remember=True).themes
    assert later.last_day < "9000"
    assert known["text"]["id"] in {one["text"]["id"] for one in json.loads(book(tmp_path).read_text())["themes"]}


def test_a_run_says_nothing_about_themes_of_production(shop: Shop) -> None:
    """Both fail alike; 40 later trials that pass close the issue of no session."""
    tracker = FolderTracker(TrackerOptions(project=shop.folder))
    shop.score(reason="The shop is closed", times=5)
    production = themes_of_store(shop.folder, shop.store, remember=True)
    assert ["file"] == [one.verb for one in file_themes(shop.folder, production, tracker)]
    run = failed_run(
        shop.folder / "runs", "r", "2026-11-01T00:00:00Z", "A latte was not ordered", suite="shop", passed=40
    )
    found = themes_of_run(shop.folder, run, remember=True)
    assert () == found.away
    assert [] == file_themes(shop.folder, found, tracker)
    assert 1 == sum(issue.is_open for issue in tracker.find())
    alike = failed_run(shop.folder / "runs", "s", "2026-11-02T00:00:00Z", "The shop is closed", suite="shop")
    ids = {theme.id for theme in themes_of_run(shop.folder, alike).themes}
    assert not ids & {theme.id for theme in production.themes}


def test_listing_writes_nothing(shop: Shop) -> None:
    shop.score(reason="The shop is closed", times=3)
    run = failed_run(shop.folder / "runs", "r", "2026-11-01T00:00:00Z", "The shop is closed")
    before = sorted(shop.folder.rglob("*"))
    assert themes_of_store(shop.folder, shop.store).themes
    assert themes_of_run(shop.folder, run).themes
    assert before == sorted(shop.folder.rglob("*"))


def test_agents_that_fail_one_check_in_two_ways_are_two_themes() -> None:
    """One answers without a look-up, the other refuses after the right call; a third breaks what passing runs do."""
    told = "expected 'order 7 was shipped' in the answer"
    verdict = Verdict(check="order", verifier="v", version="1", passed=False, reason=told)
    failed = Scorecard(case_id="c", attempt=1, category="general", outcome="finished",
                       success=False, digest="d", verdicts=(verdict,))  # fmt: skip
    rule = RuleResult(rule="get_order before refund", scope="suite", state="broken", cases=9, trials=9, step=1,
                      reason="refund came first")  # fmt: skip

    def trajectory(tool: str, answer: str) -> Trajectory:
        calls = (ToolCall(id="1", name=tool, arguments={"id": 7}),) if tool else ()
        looked = [Step(index=1, source="agent", calls=calls)] if tool else []
        return Trajectory(trace_id="t", agent="a", steps=(*looked, Step(index=2, source="agent", message=answer)))

    failures = [
        one
        for number in range(4)
        for card, seen in (
            (failed, trajectory("", f"Order {number} will arrive soon.")),
            (failed, trajectory("get_order", f"I am not allowed to speak about order {number}.")),
            (failed.model_copy(update={"rules": (rule,)}), trajectory("refund", "Refunded.")),
        )
        for one in failures_of_card(card, seen, SessionFailure(session=f"s{number}", case="", criterion=""))
    ]
    found = {(group.text.key.cause.mode, group.text.key.cause.tool): len(group.failures)
             for group in grouped("shop", failures)}  # fmt: skip
    assert {
        ("answer/without_a_call", ""): 4,
        ("answer/after_a_call", "get_order"): 4,
        ("broken_rule/get_order before refund", ""): 4,
    } == {**found}
