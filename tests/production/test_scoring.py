"""Online scores are offline scores: the same bytes for the same trial, each session once, whatever interrupts."""

import random
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.judging.prompts import PromptRegistry
from harness.judging.settings import JudgeSettings
from harness.production.judging import JudgingRequest, judge_sessions
from harness.production.scoring import ScoringRequest, score_sessions
from harness.production.sending import (
    evaluations_of,
    left_out_of,
    otlp_logs_sender,
    post_otlp,
    refused_in,
    trial_requests,
)
from harness.production.settings import OnlineSettings
from harness.runs.judging import JudgeRequest, judge_run
from harness.runs.rescore import rescore
from harness.runs.store.beside_trials import stored_reference_states
from harness.runs.store.folder import END_STATE, RunFolder, first_scorecard
from harness.runs.store.judgements import read_judgements
from harness.suite.cases import CheckSpec
from harness.suite.loading import load_suite
from harness.traces import names
from qa.doubles.rule_model import RuleModel
from tests.judging.judge.material import MIND, RUBRIC
from tests.production.receiving import TRUSTED, Served, request, serving, span
from tests.production.walking import PROJECT, harness, harness_json

NOW = OnlineSettings(pause_s=0)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run of the suite `basics`, in a project of its own."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(PROJECT / "suites" / "basics", project / "suites" / "basics")
    shutil.copytree(PROJECT / "cassettes" / "basics", project / "cassettes" / "basics")
    harness("run", "basics", "--sandbox", "local", "--run-name", "r1", project=project)
    return RunFolder.open(project / "runs" / "r1")


def send(served: Served, run: RunFolder, token: str | None = TRUSTED) -> None:
    references = stored_reference_states(run.path)
    for stored in run.trials():
        for path, body in trial_requests("r1", stored, release="2.4", references=references):
            assert {} == post_otlp(served.url, path, body, token)


def assert_parity(run: RunFolder, project: Path, folder: Path) -> None:
    suite = load_suite(project, run.manifest.suite)
    with serving(folder) as served:
        send(served, run)
        done = score_sessions(served.store(), ScoringRequest(suite=suite, settings=NOW))
        assert (len(list(run.trials())), 0, 0) == (done.scored, done.unreadable, done.waiting)
        online = {(one.card.case_id, one.card.attempt): one.card for one in served.store().scores() if one.card}
    for stored in run.trials():
        offline = first_scorecard(stored.folder)
        assert offline.model_dump_json() == online[offline.case_id, offline.attempt].model_dump_json()


def test_a_trial_sent_by_otlp_gets_the_same_scorecard_byte_for_byte(run: RunFolder, tmp_path: Path) -> None:
    assert_parity(run, run.path.parents[1], tmp_path)


def test_a_trial_that_is_larger_than_one_record_is_put_together_again(
    run: RunFolder, served: Served, tmp_path: Path
) -> None:
    """Evidence and end state of more than a megabyte each: without them its verdicts would be others."""
    first = next(iter(run.trials()))
    states: dict[str, Any] = {"page": "x" * 1_500_000}
    folder = Path(shutil.copytree(first.folder, tmp_path / "trial"))
    (folder / END_STATE).write_bytes(random.Random(1).randbytes(2_000_000))
    large = replace(first, trial=first.trial.model_copy(update={"states": states}), folder=folder)
    for path, body in trial_requests("r1", large):
        assert {} == post_otlp(served.url, path, body, TRUSTED)
    session = served.store().session(served.store().sessions()[0].key)
    assert session.own_record is not None
    found = session.trial()
    assert found is not None
    assert large.trial.model_dump_json(exclude={"trajectory"}) == found.model_dump_json(exclude={"trajectory"})
    copied = session.own_record.write_archive(tmp_path)
    assert copied is not None
    assert (folder / END_STATE).read_bytes() == copied.read_bytes()
    assert None is left_out_of(large)


def test_what_is_too_large_to_be_sent_is_said(run: RunFolder, tmp_path: Path) -> None:
    with (tmp_path / END_STATE).open("wb") as stream:
        stream.truncate(33 << 20)
    large = replace(next(iter(run.trials())), folder=tmp_path)
    assert "cannot be decided" in (left_out_of(large) or "")
    assert "1 records had texts cut" == refused_in({"partialSuccess": {"errorMessage": "1 records had texts cut"}})
    assert None is refused_in({})


def test_a_judge_gives_the_same_judgement_offline_and_online(run: RunFolder, served: Served) -> None:
    """The same rubric, the same judge, the same bytes; only the run's name and what was asked before differ."""
    project = run.path.parents[1]
    send(served, run)
    suite = load_suite(project, "basics")
    score_sessions(served.store(), ScoringRequest(suite=suite, settings=NOW))
    with RuleModel(MIND) as model:
        judge = JudgeSettings(model="rule-model", base_url=model.url, first_wait_s=0.01, tries=2)
        prompt = PromptRegistry(project).get("judge")
        request = JudgingRequest(suite=suite, settings=NOW, rubric=RUBRIC, prompt=prompt, judge=judge)
        judge_sessions(served.store(), request)
        judge_run(project, run, JudgeRequest(rubric=RUBRIC, prompt=prompt, settings=judge, mode="live"))
    online = {
        (one.case_id, one.attempt, one.criterion): one
        for score in served.store().scores(kind="judge")
        for one in score.judgements
    }
    offline = list(read_judgements(run.path, RUBRIC.name))
    assert len(list(run.trials())) * len(RUBRIC.criteria) == len(offline) == len(online)
    for one in offline:
        same = {"run": "", "cached": False}
        found = online[one.case_id, one.attempt, one.criterion]
        assert one.model_copy(update=same).model_dump_json() == found.model_copy(update=same).model_dump_json()
    assert {"pass"} <= {one.answer for one in offline}
    check = CheckSpec.model_validate(
        {"name": "judged", "verifier": "criterion", "with": {"rubric": RUBRIC.name, "criterion": "polite"}}
    )
    with closing(RunFolder.resume(run.path)) as folder:
        rescore(folder, suite.model_copy(update={"checks": (*suite.checks, check)}))
        cards = folder.scorecards()
    polite = {(one.case_id, one.attempt): one.rationale for one in offline if one.criterion == "polite"}
    found = {(card.case_id, card.attempt): one for card in cards for one in card.verdicts if one.check == "judged"}
    assert polite.keys() == found.keys()
    assert {None} == {one.passed for one in found.values()}  # no people's labels certify this judge
    assert all(polite[key] in one.reason for key, one in found.items())
    assert {"rule-model"} == {one.evidence["judge"] for one in found.values()}


SUITES = {
    "grocery": ("--sandbox", "local", "--jobs", "2"),
    "library_domain": ("--live", "sealed"),
    "web_shop": ("--jobs", "2"),
}
"""Conversations, reference states of a service, pages; what differs between the other suites is the tools."""


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_with_evidence_of_each_kind_has_parity(suite: str, tmp_path: Path) -> None:
    name = f"parity-{tmp_path.name}"
    harness("run", suite, "--run-name", name, *SUITES[suite], timeout_s=550)
    try:
        assert_parity(RunFolder.open(PROJECT / "runs" / name), PROJECT, tmp_path)
    finally:
        shutil.rmtree(PROJECT / "runs" / name)


def test_without_a_trusted_token_nothing_that_a_session_says_of_itself_is_believed(
    run: RunFolder, served: Served
) -> None:
    suite = load_suite(run.path.parents[1], "basics")
    send(served, run, token=None)
    score_sessions(served.store(), ScoringRequest(suite=suite, settings=NOW))

    scores = served.store().scores()
    assert len(list(run.trials())) == len(scores)
    for score in scores:
        assert score.card is not None
        assert score.card.case_id.startswith("session-")  # it names a case of the suite, and is scored as none
        trajectory = served.store().session(score.session).trajectory
        assert trajectory is not None
        evidence = {step.evidence for step in trajectory.steps} | {call.evidence for call in trajectory.calls}
        tiers = {seen.replayed for seen in trajectory.observations.values()}
        assert ({None}, {None}) == (evidence, tiers or {None})


def test_a_session_is_scored_once_and_again_only_for_a_late_span(run: RunFolder, served: Served) -> None:
    suite = load_suite(run.path.parents[1], "basics")
    send(served, run)
    asked = ScoringRequest(suite=suite, settings=NOW)
    first = score_sessions(served.store(), asked)
    again = score_sessions(served.store(), asked)
    assert (first.scored, 0) == (again.before, again.scored)

    row = served.store().sessions()[0]
    late = span(7, 1, traceId=row.trace_ids[0], attributes={"gen_ai.conversation.id": row.key.partition(":")[2]})
    served.post("/v1/traces", request(late), headers={"Authorization": f"Bearer {TRUSTED}"})
    assert (first.scored - 1, 1) == (score_sessions(served.store(), asked).before, 1)
    assert first.scored == len(served.store().scores())


def test_a_changed_case_scores_trials_of_a_trusted_harness_again_and_no_other_session(
    run: RunFolder, served: Served
) -> None:
    suite = load_suite(run.path.parents[1], "basics")
    send(served, run)
    for number in range(1, 4):
        facts = {"gen_ai.conversation.id": f"c{number}", "gen_ai.operation.name": "invoke_agent"}
        served.post("/v1/traces", request(span(number, 1, attributes=facts)))

    changed, *others = suite.cases
    check = CheckSpec.model_validate({"name": "said", "verifier": "final_answer", "with": {"contains": "nothing"}})
    smaller = suite.model_copy(update={"cases": tuple(others)})
    stricter = suite.model_copy(
        update={"cases": (changed.model_copy(update={"checks": (*changed.checks, check)}), *others)}
    )
    everywhere = stricter.model_copy(update={"checks": (*suite.checks, check.model_copy(update={"name": "all"}))})
    trials = len(list(run.trials()))
    done = [
        score_sessions(served.store(), ScoringRequest(suite=one, settings=NOW)).scored
        for one in (smaller, suite, stricter, stricter, everywhere)
    ]
    assert [trials + 3, trials, trials, 0, trials + 3] == done
    (score,) = [one for one in served.store().scores() if one.card and one.card.case_id == changed.id]
    assert "said" in {verdict.check for verdict in score.card.verdicts} if score.card else False


@pytest.mark.slow
def test_sessions_that_are_scored_again_let_new_ones_pass(run: RunFolder, served: Served) -> None:
    suite = load_suite(run.path.parents[1], "basics")

    def more(number: int) -> None:
        facts = {"gen_ai.conversation.id": f"c{number}", "gen_ai.operation.name": "invoke_agent"}
        served.post("/v1/traces", request(span(number, 1, attributes=facts)))

    for number in (1, 2, 3):
        more(number)
    score_sessions(served.store(), ScoringRequest(suite=suite, settings=NOW))
    more(4)
    check = CheckSpec.model_validate({"name": "said", "verifier": "final_answer", "with": {"contains": "nothing"}})
    other = suite.model_copy(update={"checks": (check,)})
    done = [score_sessions(served.store(), ScoringRequest(suite=other, settings=NOW, limit=1)) for _ in range(2)]
    assert [3, 2] == [one.waiting for one in done]
    newest = [one.session for one in served.store().score_store.read()][-2:]
    assert ["default:c4", "default:c3"] == newest


def test_a_session_that_goes_on_is_not_scored_yet(served: Served) -> None:
    served.post("/v1/traces", request(span(1, 1, attributes={"gen_ai.conversation.id": "c"})))
    done = score_sessions(
        served.store(), ScoringRequest(suite=load_suite(PROJECT, "basics"), settings=OnlineSettings(pause_s=60))
    )
    assert (0, 0) == (done.complete, done.scored)


def test_a_session_without_a_pause_is_scored_all_the_same(run: RunFolder, served: Served) -> None:
    suite = load_suite(run.path.parents[1], "basics")
    served.post("/v1/traces", request(span(1, 1, attributes={"gen_ai.operation.name": "invoke_agent"})))
    patient = ScoringRequest(suite=suite, settings=OnlineSettings(pause_s=3600, longest_s=0.001))
    assert [1, 0] == [score_sessions(served.store(), patient).scored for _ in range(2)]


@pytest.mark.slow
def test_a_name_with_a_line_end_begins_no_line_of_what_is_printed(run: RunFolder, tmp_path: Path) -> None:
    """Names of sessions, releases and tools are the sender's: none of them forges a line of a list or a report."""
    project, forged = run.path.parents[1], "c\nsuccess: 0.0%"
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": forged, "gen_ai.tool.call.id": "1"}
    facts = {"gen_ai.conversation.id": forged, "service.version": forged, **tool}
    (project / "online.yaml").write_text(f"pause_s: 0\nstore: {tmp_path / 'online'}\n")
    with serving(tmp_path / "online") as served:
        served.post("/v1/traces", request(span(1, 1, attributes=facts, status={"code": 2})))
        harness("online", "score", "basics", project=project)
        (row,) = served.store().sessions()
        shown = [harness("online", *words, project=project) for words in (("sessions",), ("sessions", row.key))]
        shown.append(harness("online", "report", "basics", project=project))
    assert forged == row.release
    assert "  failed\n" in shown[0]
    assert "[category=" not in shown[2]  # a group that holds all sessions says nothing more
    for text in shown:
        assert "c\\nsuccess: 0.0%" in text
        assert not [line for line in text.splitlines() if line.startswith("success: 0.0%")]


def test_scores_are_sent_as_evaluation_events_and_kept_while_nobody_takes_them(
    run: RunFolder, served: Served, tmp_path: Path
) -> None:
    suite = load_suite(run.path.parents[1], "basics")
    send(served, run)
    with serving(tmp_path / "other") as other:
        store, sender = served.store(), otlp_logs_sender(other.url)
        score_sessions(store, ScoringRequest(suite=suite, settings=NOW, send_to="otlp"))
        assert len(store.scores()) == store.score_store.waiting("otlp")
        with pytest.raises(UsageError):
            store.score_store.deliver("otlp", lambda _: otlp_logs_sender("nowhere")(()))
        assert sum(map(len, map(evaluations_of, store.scores()))) == store.score_store.deliver("otlp", sender)
        assert (0, 0) == (store.score_store.waiting("otlp"), store.score_store.deliver("otlp", sender))
        assert other.receiver.counts["logs"] >= len(list(run.trials()))
        (one, *_) = other.store()._engine.records([(other.store().sessions()[0].source, trace) for trace in
                                                   other.store().sessions()[0].trace_ids])  # fmt: skip
        assert names.EVALUATION_NAME in one.body


def test_verbs_of_the_command_line(run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = run.path.parents[1]
    (project / "online.yaml").write_text("pause_s: 0\n")
    monkeypatch.setenv("LAB", TRUSTED)
    with serving(project / "online") as served:
        harness("online", "send", "r1", "--url", served.url, "--token", "LAB", project=project)
        monkeypatch.setenv("WRONG", "w" * 20)
        refused = harness("online", "send", "r1", "--url", served.url, "--token", "WRONG", status=3, project=project)
        assert "HTTP 401\n  -> --token VARIABLE" in refused
        told = harness_json("online", "score", "basics", project=project)
        rows: list[dict[str, Any]] = harness_json("online", "sessions", project=project)
        assert told["rules"]["scored"] == len(rows) == len(list(run.trials()))
        views = "".join(harness("online", "sessions", row["key"], project=project) for row in rows)
        assert rows[0]["key"].removeprefix("harness:r1.") in views
        assert '({"' in views
        assert "\n      -> " in views
        report = harness_json("online", "report", "basics", project=project)
        assert len(rows) == report["scored"]
        harness("online", "report", "basics", "--day", "yesterday", status=2, project=project)
        harness("online", "send", "r1", "--url", "localhost", status=2, project=project)
        assert "--last selects" in harness(
            "online", "sessions", rows[0]["key"], "--last", "1", status=2, project=project
        )
        assert "no success: 0.0%" in harness("online", "report", "basics", project=project)
        assert 0 == harness_json("online", "watch", "basics", project=project)["charts"]
        assert "reference_days" in harness("online", "watch", "basics", project=project)
        assert "has scored" in harness("online", "watch", "basic", status=2, project=project)
        assert "deleted 1" in harness("online", "delete", rows[0]["key"], project=project)
        assert len(rows) - 1 == len(harness_json("online", "sessions", project=project))
    shutil.rmtree(project / "online")
