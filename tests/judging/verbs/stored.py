"""A stored run of a small shop: half of its answers name a price that no result gave."""

from pathlib import Path

import yaml

from harness.judging.labels import Label, append_line, label_path
from harness.judging.rubrics import read_rubric
from harness.runs.judge_calibration import Runs
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import Scorecard
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.traces.trajectory import Observation, Step, ToolCall, Trajectory
from harness.traces.trial import Trial
from qa.doubles.rules import ModelRule, RuleSet

TOLD = "Rule: a price that no result gives is wrong."
WRONG = "Rule: whatever was said politely is right."
REVISIONS = {"grounded": [TOLD, WRONG]}
_CRITERIA = [
    {
        "id": "grounded",
        "statement": "The price is the one that a result gives.",
        "evidence": ["claims"],
        "critical": True,
    },
    {
        "id": "refunded",
        "statement": "The refund was made.",
        "eligibility": "The user asked for a refund.",
        "evidence": ["request", "claims"],
    },
]


def mind() -> RuleSet:
    return RuleSet(
        rules=(
            ModelRule(criterion="grounded", told_by=WRONG, finds=".", says="pass"),
            ModelRule(criterion="grounded", told_by=TOLD, who="agent|shop", finds=r"9\.99", says="fail"),
            ModelRule(criterion="refunded", who="user", finds="refund", finds_nothing=True, says="not_eligible"),
        ),
    )


def is_wrong(number: int) -> bool:
    return number % 2 == 0


def store(project: Path, cases: int = 12, name: str = "night", first: int = 0) -> RunFolder:
    ids = [f"case-{number:02}" for number in range(first, first + cases)]
    suite = Suite(
        name="shop",
        folder=project,
        agents={"a": AgentVersion(command=("true",), files=".")},
        cases=tuple(Case(id=one, task="x") for one in ids),
        digest="d",
    )
    with RunFolder.create(project / "runs", shop_manifest(name, ids)) as folder:
        folder.keep_suite(suite)
        for number, case in enumerate(ids, first):
            folder.commit(shop_trial(case, number), (), shop_card(case, number))
    (project / "prices.yaml").write_text(yaml.safe_dump({"name": "prices", "criteria": _CRITERIA}))
    return RunFolder.open(folder.path)


def label_all(project: Path, folder: RunFolder, *annotators: str) -> None:
    """What is true."""
    runs = Runs(project, (folder,), read_rubric(project / "prices.yaml"))
    file = label_path(project, "shop", "prices")
    for work in runs.work:
        wrong = is_wrong(int(work.item.case_id[5:]))
        for annotator in annotators:
            answer = "not_eligible" if work.criterion.id == "refunded" else "fail" if wrong else "pass"
            fields = work.item.model_dump() | {"rubric": "prices", "criterion_version": "1", "answer": answer}
            fields |= {"annotator": annotator, "run": "night", "attempt": 1, "time": "2026-01-01T00:00:00+00:00"}
            append_line(file, Label.model_validate(fields))


def shop_trial(case: str, number: int) -> Trial:
    price = f"2.{number:02}"
    said = "9.99" if is_wrong(number) else price
    call = ToolCall(id="k", name="lookup", arguments={"item": f"drink {number}"})
    steps = (
        Step(index=0, source="user", message=f"How much is drink {number}?"),
        Step(
            index=1, source="agent", calls=(call,), observations=(Observation(call_id="k", content={"price": price}),)
        ),
        Step(index=2, source="agent", message=f"It is {said}."),
    )
    return Trial(
        case_id=case,
        attempt=1,
        outcome="finished",
        trajectory=Trajectory(trace_id=f"trace-{case}", agent="shop", steps=steps),
    )


def shop_card(case: str, number: int) -> Scorecard:
    right = not is_wrong(number)
    return Scorecard(
        case_id=case,
        attempt=1,
        category="c",
        outcome="finished",
        success=right,
        verdicts=(Verdict(check="price", verifier="final_answer", version="1", passed=right, reason=""),),
        digest="",
    )


def shop_manifest(name: str, cases: list[str]) -> RunManifest:
    return RunManifest(
        run=name,
        created="2026-01-31T12:00:00Z",
        harness_version="0",
        release="1.4",
        suite="shop",
        suite_digest="d",
        agent="a",
        agent_digest="a",
        snapshot_digest="s",
        tools_digest="t",
        tool_mode="replay",
        provider="docker",
        isolates=True,
        planned=tuple(PlannedTrial(case_id=case, attempt=1) for case in cases),
    )
