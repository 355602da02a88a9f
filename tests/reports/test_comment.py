"""The comment on a pull request: cost, tokens, latency and steps beside success, with intervals and gates."""

from collections.abc import Callable

from harness.reports.change import latency_change
from harness.reports.compare import compare
from harness.reports.margin import no_worse_than
from harness.reports.render.markdown import comment_markdown
from harness.runs.store.manifest import RunManifest
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
    assert "## drive\\_thru: v1" == lines[0]
    assert "| success | 100 % | 88 % | -12 pt |" in lines[4]
    assert "| cost, US$ |".replace("$", "\\$") in lines[5]
    assert lines[5].endswith("| worse |")
    assert "+30.0%" in lines[5]
    assert "| 8 of 8 |" in lines[4]
    assert "| tokens | not measured |" in lines[6]
    assert "| 0 of 8 |" in lines[6]
    assert "| latency, s | 2.5 | 2.75 | +10.0%" in lines[7]
    assert lines[7].endswith("| parity |")
    assert "| steps | 4 | 4 | +0.0% | +0.0% to +0.0% |" in lines[8]
    assert "" == lines[lines.index("- case-0/1 now fails: k: as seen") - 1]
    assert text.index("<details>") < text.index("## By metric") < text.index("</details>")


def test_trials_that_could_not_be_measured_show_in_the_first_table(card: Card, manifest: Manifest) -> None:
    old = [card(f"case-{i}") for i in range(4)]
    new = [
        card("case-0"),
        *(card(f"case-{i}", None, outcome="harness_failed", reason="no engine") for i in range(1, 4)),
    ]

    text = comment_markdown(compare(manifest(old), old, manifest(new, "new"), new), [])

    assert text.splitlines()[4].startswith("| success | 100 % | 100 % |")
    assert "| 1 of 4 |" in text.splitlines()[4]
