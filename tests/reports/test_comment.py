"""The comment on a pull request: cost, tokens, latency and steps beside success, with intervals and gates."""

import re
from collections.abc import Callable

from harness.reports.change import latency_change
from harness.reports.compare import compare
from harness.reports.margin import no_worse_than
from harness.reports.render.markdown import addresses_of, comment_markdown, plain
from harness.runs.store.manifest import RunManifest
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import Score, Scorecard

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]


def test_every_figure_stands_in_one_table_with_its_gate(card: Card, manifest: Manifest) -> None:
    def cards(cost: float, lost: int) -> list[Scorecard]:
        def scores(number: int) -> tuple[Score, ...]:
            values = {"cost_usd": cost * (number + 1), "steps": 4.0, "tokens": None}
            return tuple(
                Score(metric=name, version="1", value=value, lower_is_better=True) for name, value in values.items()
            )

        return [card(f"case-{i}", i >= lost, scores=scores(i)) for i in range(8)]

    old, new = cards(0.01, 0), cards(0.013, 1)
    comparison = compare(manifest(old), old, manifest(new, "new"), new)
    seconds = {f"case-{i}/1": 2.0 + i % 2 for i in range(8)}
    latency = latency_change(seconds, {key: 1.1 * value for key, value in seconds.items()})
    comparison = comparison.model_copy(update={"latency": latency})

    text = comment_markdown(comparison, no_worse_than(comparison, ["cost_usd=10%", "latency_s=20%"]))

    lines = text.splitlines()
    assert ["## drive\\_thru: v1", ""] == lines[:2]
    assert "**Worse: passed 100 % → 88 % over 8 trials, p = 1; 1 regression**" == lines[2]
    assert "- case-0/1 fails: k: as seen" == lines[lines.index("### Regressions: 1") + 2]
    passed, cost, latency, steps = lines[lines.index("Fixes: 0.") + 4 :][:4]
    assert re.match(r"\| passed \| 100 % \| 88 % \| -12 pt \| -\d+ pt to \+\d+ pt \|", passed)
    assert "| 8 of 8 |" in passed
    assert cost.startswith("| cost | 0.045 USD | 0.0585 USD | +30 % |")
    assert cost.endswith("| worse |")
    assert latency.startswith("| latency | 2.5 s | 2.75 s | +10 %")
    assert latency.endswith("| parity |")
    assert "| steps | 4 | 4 | 0 % | 0 % to 0 % |" in steps
    assert "tokens" not in text.partition("<details>")[0]
    assert text.index("<details>") < text.index("## Mean by metric") < text.index("</details>")


def test_no_number_of_fixes_hides_a_regression_and_each_has_its_reason_of_now(card: Card, manifest: Manifest) -> None:
    def ended(case: int, success: bool, reason: str, outcome: str = "finished") -> Scorecard:
        verdict = Verdict(check="k", verifier="v", version="1", passed=success, reason=reason)
        return card(f"case-{case}", success, verdicts=(verdict,), outcome=outcome, reason="it raised")

    old = [ended(i, i >= 60, "old") for i in range(70)]
    new = [ended(i, True, "new") for i in range(65)] + [ended(i, False, "new", "agent_failed") for i in range(65, 70)]

    found = compare(manifest(old), old, manifest(new, "new"), new)
    text = comment_markdown(found, [])

    shown = text.partition("<details>")[0]
    assert len(found.attribution.unrecorded) > 1
    assert all(f"- {plain(one)}" in shown for one in found.attribution.unrecorded), "no recorded part differs"
    assert [f"case-{i}/1 fails: agent\\_failed: it raised; k: new" for i in range(65, 70)] == [
        line.removeprefix("- ") for line in shown.splitlines() if line.startswith("- case-")
    ]
    assert shown.index("case-69") < shown.index("Fixes: 60.")
    assert "old" not in shown


def test_the_links_are_those_of_the_service_that_runs_the_job() -> None:
    github = {"GITHUB_SERVER_URL": "https://git.example", "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "7"}
    gitlab = {"CI_JOB_URL": "https://lab.example/j/1", "CI_PIPELINE_URL": "https://lab.example/p/2"}
    run = "https://git.example/a/b/actions/runs/7"
    assert [f"{run}#artifacts", run] == [url for _, url in addresses_of(github)]
    assert ["https://lab.example/j/1/artifacts/browse", "https://lab.example/p/2"] == [
        url for _, url in addresses_of(gitlab)
    ]
    assert "https://pages.example/r" == addresses_of({**github, "HARNESS_PAGES_URL": "https://pages.example/r"})[0][1]
    assert () == addresses_of({**github, "GITHUB_REPOSITORY": "a)[x](javascript:1"})
    assert () == addresses_of({})
