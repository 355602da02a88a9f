"""Criteria beside the reward: tau-bench's 200 airline runs of gpt-4o, imported and judged.

    HARNESS_REAL_DATA=<folder> python qa/judge_eval/airline.py

One criterion is decided by code, the others by the rule model, a double that looks for plain signs: what is shown is
how judged criteria stand beside a reward, with a judge's questions, files and figures. No figure here is a judge's
quality.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from qa.converters import converted
from qa.doubles.rule_model import RuleModel
from qa.doubles.rules import ModelRule, RuleSet

_RUBRIC = """\
name: airline
description: What could be told of an airline agent from its calls and words.
domains: {acting: 2, talking: 1}
criteria:
  - id: confirmed_first
    domain: acting
    statement: The user agreed before anything was booked, changed or cancelled.
    eligibility: Something was booked, changed or cancelled.
    evidence: [conversation, "calls:*reservation*"]
  - id: not_handed_over
    domain: acting
    statement: The agent did not hand the user to a human.
    evidence: [calls]
  - id: no_failed_call
    domain: acting
    statement: No call was refused by the airline's system.
    evidence: [calls]
  - id: no_leakage
    domain: talking
    kind: code
    code: reasoning_leakage
    statement: No name of a tool stands in what the user reads.
    evidence: [narration]
"""
_WRITES = r"^(book|cancel|update)_reservation"
_MIND = RuleSet(
    rules=(
        ModelRule(criterion="confirmed_first", who=".*calls.*", finds=_WRITES, finds_nothing=True, says="not_eligible"),
        ModelRule(
            criterion="confirmed_first", who="user", finds=r"(?i)\b(yes|confirm|proceed|go ahead)\b", says="pass"
        ),
        ModelRule(criterion="confirmed_first", finds=".", says="fail"),
        ModelRule(criterion="not_handed_over", who=".*calls.*", finds="transfer_to_human", says="fail"),
        ModelRule(criterion="no_failed_call", who="tool.*", finds="Error", says="fail"),
    )
)


def main() -> None:
    data = os.environ.get("HARNESS_REAL_DATA")
    if data is None:
        sys.exit("HARNESS_REAL_DATA must name the folder that holds taubench/")
    bench = Path(data) / "taubench"
    with tempfile.TemporaryDirectory() as folder, RuleModel(_MIND) as model:
        rubric = Path(folder) / "airline.yaml"
        rubric.write_text(_RUBRIC)
        runs = Path(folder) / "airline"
        format, place = converted("tau-bench", bench / "historical_trajectories" / "gpt-4o-airline.json", runs)
        _type(folder, "import", format, str(place),
              "--run-name", "airline", "--tools", str(bench / "airline_tools.json"), "--json", quiet=True)  # fmt: skip
        judged = ("--rubric", str(rubric))
        (Path(folder) / "judge.yaml").write_text(f"model: {model.name}\nbase_url: {model.url}\n")
        _type(folder, "judge", "run", "airline", *judged)
        _type(folder, "judge", "agreement", "airline", *judged, "--against", "reward")


def _type(project: str, *words: str, quiet: bool = False) -> None:
    line = [sys.executable, "-m", "harness", "--project", project, *words]
    done = subprocess.run(
        line, stdout=subprocess.DEVNULL if quiet else None, stderr=subprocess.DEVNULL if quiet else None
    )
    if done.returncode > 1:
        sys.exit(f"harness {' '.join(words)} ended with {done.returncode}")


if __name__ == "__main__":
    main()
