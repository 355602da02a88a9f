"""Metrics, checks and detectors whose own code raises are named where the figures are shown."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

from rich.console import Console

from harness.reports.render.markdown import summary_markdown
from harness.reports.render.terminal import SummaryView
from harness.reports.summarising import summarise
from harness.runs.store.manifest import RunManifest
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import build_scorer
from harness.suite.cases import CheckSpec
from harness.suite.suites import Suite

RAISES = """
from typing import ClassVar

class Broken:
    name: ClassVar[str] = "broken"
    version: ClassVar[str] = "1"
    def measure(self, evidence):
        return evidence.no_such_thing, ""
    def verify(self, evidence):
        return evidence.no_such_thing, "", {}
    def find(self, evidence):
        return evidence.no_such_thing
"""


def test_code_of_the_suite_that_raised_is_named_in_every_rendering(
    suite: Callable[..., Suite], evidence: Callable[..., Evidence], tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(RAISES)
    named = "own.py:Broken"
    checks = (CheckSpec(name="mine", verifier=named),)
    scorer = build_scorer(suite(checks=checks, metrics=(named,)))
    cards = [scorer.score(evidence(answer="yes")), scorer.score(evidence(answer="no"))]

    manifest = RunManifest.model_validate(
        {
            "run": "r",
            "created": "2026-01-31T12:00:00Z",
            "harness_version": "0.1.0",
            "suite": "s",
            "suite_digest": "d",
            "agent": "v1",
            "agent_digest": "a",
            "snapshot": None,
            "snapshot_digest": "e",
            "tools_digest": "f",
            "tool_mode": "replay",
            "provider": "local",
            "isolates": False,
            "scorer_versions": {},
            "planned": [{"case_id": "c", "attempt": 1}],
        }
    )

    summary = summarise(manifest, cards)

    assert [(one.kind, one.name, one.trials) for one in summary.failed_code] == [
        ("check", "mine", 2),
        ("detector", "broken", 2),
        ("metric", "broken", 2),
    ]
    assert {one.raised.split(":")[0] for one in summary.failed_code} == {"own.py"}
    screen = StringIO()
    Console(file=screen, width=200).print(SummaryView(summary))
    for rendered in (screen.getvalue(), summary_markdown(summary)):
        assert "metric broken" in rendered
        assert "own.py:8: AttributeError" in rendered
