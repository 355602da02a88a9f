"""The sentence that sums up a comparison of two runs; its tables stand beside it, in Markdown and in the terminal."""

from harness.report.comparison.compare import Comparison
from harness.report.render.wording import percent


def change_words(comparison: Comparison) -> str:
    change = comparison.success
    if change.before is None or change.after is None:
        return "success cannot be compared: no trial was measured in both runs"
    hidden = f"; {len(comparison.hidden)} succeeded before and cannot be determined now" if comparison.hidden else ""
    return (
        f"success {percent(change.before)} → {percent(change.after)} over {change.pairs} pairs: "
        f"{change.better} better, {change.worse} worse, {change.same} same; {change.verdict}{hidden}"
    )
