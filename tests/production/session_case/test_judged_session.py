"""A session that only a judge failed becomes a case whose check is the criterion, with what declares its category."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from harness.judging.prompts import PromptRegistry
from harness.judging.settings import JudgeSettings
from harness.production.judging import JudgingRequest, judge_sessions
from harness.production.settings import OnlineSettings
from harness.production.store import SessionStore
from harness.suite.loading import load_suite
from qa.doubles.rule_model import RuleModel
from tests.judging.judge.material import MIND, RUBRIC
from tests.production.receiving import request, serving, span
from tests.production.walking import PROJECT, harness, harness_json

DESK = PROJECT / "qa" / "demo_online" / "project"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    project = Path(shutil.copytree(DESK, tmp_path / "project"))
    (project / "online.yaml").write_text("pause_s: 0\ncategory: [shop.topic]\n")
    said = (("user", "Where is my order?"), ("assistant", "Go away. Order A3 is delayed, 4 days."))
    parts = [[{"role": role, "parts": [{"type": "text", "content": text}]}] for role, text in said]
    facts = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "rude", "shop.topic": "orders",
             "gen_ai.input.messages": json.dumps(parts[0]), "gen_ai.output.messages": json.dumps(parts[1])}  # fmt: skip
    with serving(project / "online") as served:
        served.post("/v1/traces", request(span(1, 1, attributes=facts)))
    harness("online", "score", "helpdesk", project=project)
    with RuleModel(MIND) as model:
        judge = JudgeSettings(model="rule-model", base_url=model.url, first_wait_s=0.01, tries=2)
        asked = JudgingRequest(
            suite=load_suite(project, "helpdesk"),
            settings=OnlineSettings(pause_s=0),
            rubric=RUBRIC,
            prompt=PromptRegistry(project).get("judge"),
            judge=judge,
        )
        assert 1 == judge_sessions(SessionStore.open(project / "online"), asked).judged
    return project


def test_the_failed_criterion_is_the_check_of_the_case(desk: Path) -> None:
    told = harness_json("case", "from-trace", "--session", "rude", project=desk)
    assert "fails" == told["failing"]
    assert any("harness judge run RUN --rubric prices, then harness score RUN" in note for note in told["notes"])
    assert not [note for note in told["notes"] if "succeeded" in note]
    *_, case = yaml.safe_load((desk / "suites" / "helpdesk" / "regressions.yaml").read_text(encoding="utf-8"))
    checks = {one["name"]: one for one in case["checks"]}
    assert ("criterion", {"rubric": "prices", "criterion": "polite"}) == (
        checks["polite"]["verifier"],
        checks["polite"]["with"],
    )
    assert "A judge found not met: polite of prices" in case["description"]
    assert "orders" == case["category"]
