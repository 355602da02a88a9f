"""Words and figures that every rendering shares: their forms, their bounds, and what stands where nothing is known."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.reports import units
from harness.reports.change import MetricChange
from harness.reports.change import change as change_of
from harness.reports.durations import PrintedEnd
from harness.reports.render import wording
from harness.reports.render.sections import chance, verdict_of
from harness.reports.replay import MissedTool
from harness.reports.summarising import summarise
from harness.reports.summary import Counts, Rate, Summary
from harness.runs.store.manifest import RunManifest, RunUsers
from harness.scoring.scorecard import Scorecard

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]


@pytest.fixture
def summary(card: Card, manifest: Manifest) -> Callable[..., Summary]:
    """Of one trial that succeeded, with these fields in place of its own."""

    def build(run: dict[str, Any] | None = None, **fields: Any) -> Summary:
        cards = [card("a")]
        return summarise(manifest(cards, **(run or {})), cards).model_copy(update=fields)

    return build


@pytest.mark.parametrize(
    ("metric", "value", "shown", "changed"),
    [
        ("task_success", None, "-", "-"),
        ("task_success", 0.0, "0 %", "0"),
        ("task_success", 0.004, "< 1 %", "0"),
        ("task_success", 0.25, "25 %", "+25 pt"),
        ("redundancy", 0.9999, "> 99 %", "+100 pt"),
        ("cost_usd", 0.00001234, "0.0000123 USD", "+0.0000123 USD"),
        ("cost_usd", -12.3456, "-12.35 USD", "-12.35 USD"),
        ("tokens", 12345.6, "12,346", "+12,346"),
        ("own", 0.25, "0.25", "+0.25"),
    ],
)
def test_a_figure_has_one_unit(metric: str, value: float | None, shown: str, changed: str) -> None:
    assert (shown, changed) == (units.figure(metric, value), units.signed_figure(metric, value))


def test_a_probability_is_never_shown_as_nothing() -> None:
    """300 of 300 cases are worse: p is 1e-90, and rounds to 0 in a comparison."""
    lost = change_of("task_success", [(f"c{number}", 1.0, 0.0) for number in range(300)])
    assert 0.0 == lost.p
    assert ("worse (p < 1e-12)", "< 1e-12") == (lost.verdict, chance(lost))


def test_what_a_gate_compares_is_told_apart() -> None:
    assert ("89.7 %", "90 %") == units.told_apart("task_success", 0.8967, 0.9)
    assert ("50 %", "90 %") == units.told_apart("task_success", 0.5, 0.9)


def test_a_reason_is_folded_after_ten_lines() -> None:
    shown = wording.reason_words(["\n".join(f"line {number}" for number in range(40))])
    assert "line 9 … 30 more lines" in shown
    assert "line 10 " not in shown


@pytest.mark.parametrize(
    ("successes", "n", "unknown", "share", "said"),
    [
        (1, 2, 0, "1/2", "1/2 passed = 50 %"),
        (1, 2, 1, "1/2 (1 unknown)", "1/2 passed = 50 %; unknown for 1 of 3"),
        (0, 0, 0, "-", "unknown: no trial was measured"),
        (0, 0, 2, "- (2 unknown)", "unknown: no trial was measured"),
    ],
)
def test_a_rate_names_the_trials_that_it_leaves_out(
    successes: int, n: int, unknown: int, share: str, said: str
) -> None:
    rate = Rate(successes=successes, n=n, rate=successes / n if n else None, interval=None, unknown=unknown)
    assert (share, said) == (wording.share(rate), wording.success_words(rate))


@pytest.mark.parametrize(
    ("counts", "stopped", "said"),
    [
        ({}, None, None),
        ({"not_run": 1}, None, "1 of 9 trials not measured: 1 not run"),
        ({"not_run": 1}, "budget", "1 of 9 trials not measured: 1 not run: budget"),
        (
            {"inconclusive": 1, "simulator_failed": 2, "harness_failed": 3},
            None,
            "6 of 9 trials not measured: 1 inconclusive, 2 invalidated by the simulated user, 3 failed by the harness",
        ),
    ],
)
def test_trials_that_were_not_measured_are_counted_by_the_reason(
    summary: Callable[..., Summary], counts: dict[str, int], stopped: str | None, said: str | None
) -> None:
    own = Counts(planned=9, finished=9 - sum(counts.values()), **counts)
    assert said == wording.unmeasured_words(summary(counts=own, stopped=stopped))


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (10240, "10 KB"),
        (1 << 30, "1.0 GB"),
    ],
)
def test_sizes_have_one_decimal_below_ten_of_a_unit(size: int, words: str) -> None:
    assert words == wording.size_words(size)


def test_a_stream_of_which_a_part_was_discarded_says_how_much_and_which_part_is_shown() -> None:
    whole = PrintedEnd(stream="stderr", lines=("last\x1b",), kept_bytes=10, printed_bytes=10)
    cut = whole.model_copy(update={"printed_bytes": 2048})
    head = cut.model_copy(update={"complete": False})
    assert ["the agent's stderr ended with:", "    last\\x1b"] == wording.printed_words([whole])
    assert "the agent's stderr (2.0 KB printed, 10 B kept; it ended with)" == wording.printed_head(cut)
    assert wording.printed_head(head).endswith("; the last lines of what was kept)")
    assert ["    la…"] == wording.printed_words([whole], 3)[1:]


@pytest.mark.parametrize(("most", "shown"), [(None, "a b c"), (5, "a b c"), (4, "a b…"), (1, "…")])
def test_a_text_is_one_line_and_cut_where_it_is_longer_than_asked(most: int | None, shown: str) -> None:
    assert shown == wording.printable("a\n b\t c ", most)


@pytest.mark.parametrize(
    ("tiers", "fidelity", "said"),
    [
        ({}, None, None),
        ({"exact": 0}, 1.0, None),
        ({"exact": 3, "miss": 0}, None, "tool answers: 3 exact"),
        ({"exact": 3, "exact_reused": 1}, 1.0, "3 exact, 1 exact reused; replay fidelity 100 %"),
        ({"exact": 3}, 0.9999, "3 exact; replay fidelity > 99 %"),
    ],
)
def test_a_fidelity_that_is_not_whole_is_never_shown_as_whole(
    summary: Callable[..., Summary], tiers: dict[str, int], fidelity: float | None, said: str | None
) -> None:
    shown = wording.tier_words(summary(tiers=tiers, fidelity=fidelity))
    assert (said is None) == (shown is None)
    assert said is None or said in (shown or "")


@pytest.mark.parametrize(
    ("provenances", "said"),
    [
        ({}, None),
        ({"service": 3}, None),
        ({"double": 2}, "answers by provenance: 2 from doubles"),
        ({"hand": 1, "service": 3, "double": 0}, "answers by provenance: 3 from services, 1 written by hand"),
    ],
)
def test_answers_that_are_all_of_services_need_no_words(
    summary: Callable[..., Summary], provenances: dict[str, int], said: str | None
) -> None:
    assert said == wording.provenance_words(summary(provenances=provenances))


def test_what_the_replay_and_the_user_left_is_remarked(summary: Callable[..., Summary]) -> None:
    assert [] == wording.overlay_words(summary())
    shown = summary(unfired_faults=("f",), unsaid_turns=("t",), self_reported_calls=1)
    assert [
        "fault that no call triggered: f",
        "message that the scripted user did not send: t",
        "1 call is self-reported by agents: not observed by the gateway, and they cannot make a check pass",
    ] == wording.overlay_words(shown)
    assert wording.overlay_words(summary(self_reported_calls=2))[0].startswith("2 calls are ")
    [imported] = wording.overlay_words(summary({"tool_mode": "imported"}, self_reported_calls=2))
    assert imported.startswith("imported trajectories")


def test_the_facts_of_a_run_name_what_it_was_made_with(manifest: Manifest) -> None:
    fields = {"variables": {"b": "2", "a": "1"}, "prompts": {"x.md": "p@2", "y.md": "p@2", "z.md": "o@1"}}
    found = dict(wording.facts(manifest(release="r1", model_mode="live", snapshot=None, **fields)))
    assert "tools replay, model live" == found["answers"]
    assert ("b=2, a=1", "o@1, p@2", "r1") == (found["variables"], found["prompts"], found["release"])
    assert "empty eeeeeeeeeeee" == found["snapshot"]
    assert "docker" == found["sandbox"]
    assert {"variables", "prompts", "release"}.isdisjoint(dict(wording.facts(manifest())))


@pytest.mark.parametrize(
    ("users", "kinds", "run", "command"),
    [
        (None, (None,), {}, "harness record drive_thru --agent v1"),
        (None, ("unrecorded",), {}, "harness run drive_thru --agent v1 --live model,record"),
        (None, ("unrecorded", None), {}, "harness record drive_thru --agent v1"),
        (
            RunUsers(kind="played", log_run="day"),
            (None,),
            {},
            "harness record drive_thru --agent v1 --user logged:day",
        ),
        (None, (None,), {"variables": {"m": "a"}}, "harness record drive_thru --agent v1 --with m=a"),
        (None, (None,), {"prompts": {"x": "p@2", "y": "p@2"}}, "harness record drive_thru --agent v1 --prompt p@2"),
    ],
)
def test_the_command_that_records_what_is_missing_repeats_the_run(
    summary: Callable[..., Summary], users: RunUsers | None, kinds: tuple[Any, ...], run: dict[str, Any], command: str
) -> None:
    misses = tuple(MissedTool(tool="t", calls=1, trials=1, example="x", nearest=None, user=kind) for kind in kinds)
    assert ("record the missing answers", command) == wording.remedy_words(
        summary({"users": users, **run}, misses=misses)
    )


def test_a_replayed_model_beside_live_tools_is_asked_itself(summary: Callable[..., Summary]) -> None:
    """Recording gives the agent what the cassette has: live answers that differ miss again."""
    miss = MissedTool(tool="chat gpt", calls=1, trials=1, example="x", nearest=None)
    found = summary({"tool_mode": "live", "model_mode": "replay", "variables": {"m": "a"}}, misses=(miss,))
    assert wording.remedy_words(found)[1] == "harness run drive_thru --agent v1 --with m=a --live all"


def test_each_kind_of_miss_says_what_met_no_recording(summary: Callable[..., Summary]) -> None:
    tool = MissedTool(tool="find", calls=2, trials=1, example="{}", nearest=None)
    assert ("no recording answers 2 call(s) of find, first {}", "the cassette has no recording of this tool") == (
        wording.miss_words(tool)
    )
    assert "no recording of this model" in str(wording.miss_words(tool.model_copy(update={"model": True}))[1])
    assert "find({})" == wording.miss_words(tool.model_copy(update={"nearest": "find({})"}))[1]
    new = wording.miss_words(tool.model_copy(update={"user": "unrecorded", "nearest": "x"}))
    assert ("the agent's message is not recorded", None) == (new[0].rpartition(": ")[2], new[1])
    left = tool.model_copy(update={"user": "diverged", "nearest": "x"})
    assert "x" == wording.miss_words(left)[1]
    assert "let a model continue after a log" == wording.remedy_words(summary(misses=(left,)))[0]
    assert "record the missing answers" == wording.remedy_words(summary(misses=(left, tool)))[0]


def change(**fields: Any) -> MetricChange:
    values = {"metric": "own", "pairs": 10, "before": 0.5, "after": 0.75, "cases": 10, "p": 0.04, "cases_better": 6}
    return MetricChange.model_validate(values | fields)


@pytest.mark.parametrize(
    ("fields", "found", "says", "words"),
    [
        ({}, "better", "better", "better (p = 0.04)"),
        ({"p": 0.05}, "better", "better", "better (p = 0.05)"),
        ({"p": 0.051}, "cannot_tell", "?", "could be chance (p = 0.051)"),
        ({"cases_better": 3, "cases_worse": 6}, "worse", "worse", "worse (p = 0.04)"),
        ({"p_corrected": 0.2}, "cannot_tell", "?", "could be chance (p = 0.04, 0.2 for all metrics together)"),
        ({"p_corrected": 0.045}, "better", "better", "better (p = 0.04, 0.045 for all metrics together)"),
        ({"p": None, "cases_better": 0}, "same", "=", "no case changed"),
        ({"p": None, "pairs": 0, "cases_better": 0}, "cannot_tell", "?", "no case changed"),
        (
            {"p": 0.2, "cases_needed": 11},
            "cannot_tell",
            "? 11",
            "could be chance (p = 0.2); about 11 cases would be enough",
        ),
        ({"p": 0.2, "cases_needed": 10}, "cannot_tell", "?", "could be chance (p = 0.2)"),
    ],
)
def test_a_change_says_what_its_test_found(fields: dict[str, Any], found: str, says: str, words: str) -> None:
    one = change(**fields)
    assert (found, says, words) == (one.found, verdict_of(one), one.verdict)


def test_too_few_changed_cases_are_named_as_such() -> None:
    few = change(p=0.5, cases_better=1, cases_worse=1)
    assert few.verdict.startswith("only 2 case(s) changed")
    assert change(p=0.5, cases_better=3, cases_worse=3).verdict.startswith("could be chance")
    assert ("0.5", "0.9", "-") == (chance(few), chance(change(p_corrected=0.9)), chance(change(p=None)))


def test_a_share_of_the_value_before_is_known_where_there_was_one() -> None:
    assert (0.25, 0.5) == (change().difference, change().relative_difference)
    assert (None, None) == (change(before=None).difference, change(after=None).relative_difference)
    assert None is change(before=0.0).relative_difference
    assert [False, True, True] == [one.is_amount for one in (change(), change(width=2.0), change(metric="cost_usd"))]
