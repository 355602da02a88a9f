"""A component whose texts the agent's program does not open is refused after a few trials."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import harness
from harness.errors import UsageError
from harness.improve.candidates import Candidate
from harness.improve.held_out import split_cases
from harness.improve.rollouts import Rollout
from harness.improve.sizing import OptimisationSettings
from qa.doubles.ruled_rollouts import RuledRollouts
from tests.improve.prompts.conftest import tea
from tests.improve.prompts.planted import CASES, Rules, optimisation

READS = '(Path(__file__).parent / "prompts" / "waiter.md").read_text()'


def optimised(project: Path, *words: str) -> Result:
    asked = ["optimise", "tea", "--mode", "joint", "--rollouts", "60", "--jobs", "2", "--run-name", "one", *words]
    rules = ["--rubric", "service", "--reflector-rules", str(project / "suites/tea/edits.yaml")]
    return CliRunner().invoke(harness, ["--project", str(project), *asked, *rules])


@pytest.mark.parametrize("sandbox", ["local", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_component_that_the_program_does_not_open_is_refused(tmp_path: Path, sandbox: str):
    project = tea(tmp_path)
    program = project / "suites/tea/waiter/waiter.py"
    assert READS in program.read_text()
    program.write_text(program.read_text().replace(READS, '"You are a waiter."'))
    for _ in range(2):
        done = optimised(project, "--sandbox", sandbox, "--minibatch", "3")
        assert re.search(r"'waiter'.*\b3\b.*: prompts/waiter\.md", str(done.exception)), done.output
    assert (project / "runs/one/journal.jsonl").read_text().count('"rollout"') == 3, "the second session spends nothing"


class Reading(RuledRollouts):
    """Says which texts were opened."""

    opened: Callable[[Candidate, str], tuple[str, ...] | None]

    def _rollout(self, candidate: Candidate, case: str, sample: int) -> Rollout:
        told = super()._rollout(candidate, case, sample)
        return told.model_copy(update={"texts_read": self.opened(candidate, case)})


def reading(opened: tuple[str, ...] | None) -> Reading:
    made = Reading(rules=[])
    made.opened = lambda candidate, case: opened
    return made


def test_a_text_that_few_cases_need_is_found_by_further_trials():
    needed = split_cases(CASES).train[5]
    made = Reading(rules=[])
    made.opened = lambda candidate, case: ("cart.md",) if case == needed else ()
    optimisation(made, Rules(rules=["Be nice."]), settings=OptimisationSettings(rollouts=150, minibatch=6)).run()
    with pytest.raises(UsageError, match=r"\b5\b"):
        optimisation(made, Rules(rules=["Be nice."]), settings=OptimisationSettings(rollouts=150, minibatch=5)).run()


def test_only_the_component_without_any_read_text_is_named():
    with pytest.raises(UsageError, match=r"'cart'.*\b8\b.*: cart\.md"):
        optimisation(reading(("orchestrator.md",)), Rules(rules=["Be nice."]), joint=True).run()


def test_nothing_is_refused_where_it_cannot_be_observed():
    said: list[str] = []
    optimisation(reading(None), Rules(rules=["Be nice."]), joint=True).run(said.append)
    assert "whether the agent reads its texts cannot be observed in this sandbox" in said


def test_trials_that_were_not_measured_say_nothing():
    class Unmeasured(Reading):
        def _rollout(self, candidate: Candidate, case: str, sample: int) -> Rollout:
            return super()._rollout(candidate, case, sample).model_copy(update={"domains": {"quality": None}})

    made = Unmeasured(rules=[])
    made.opened = lambda candidate, case: ()
    assert optimisation(made, Rules(rules=["Be nice."])).run().accepted is None
