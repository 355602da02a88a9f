"""What an optimisation takes at least is known, and too little refused, before anything is asked for."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import UsageError
from harness.improve.rollouts import SearchBudget
from harness.improve.sizing import OptimisationSettings, RolloutDemand
from qa.doubles.ruled_rollouts import RuledRollouts
from tests.improve.prompts.conftest import tea
from tests.improve.prompts.planted import Rules, optimisation


def test_the_default_minibatch_leaves_as_many_revisions_as_are_wanted():
    def estimated(rollouts: int, wanted: int = 8) -> tuple[int, int, bool]:
        settings, demand = OptimisationSettings(rollouts=rollouts), RolloutDemand(revisions=wanted)
        told = optimisation(RuledRollouts(rules=[]), Rules(rules=[]), settings=settings, demand=demand).estimate()
        return told.minibatch, told.revisions, told.warning is None

    assert [(8, 11, True), (6, 8, True), (3, 7, False)] == [estimated(200), estimated(120), estimated(60)]
    assert (3, 30, True) == estimated(200, wanted=30)


def test_too_few_revisions_are_said_with_the_rollouts_that_would_do():
    def warning(rollouts: int) -> str | None:
        settings = OptimisationSettings(rollouts=rollouts, minibatch=8)
        return optimisation(RuledRollouts(rules=[]), Rules(rules=[]), settings=settings).estimate().warning

    told = warning(60)
    assert told is not None
    assert re.search("60 rollouts .*2 revisions", told)
    assert "--rollouts 146, or --minibatch 3" in told
    assert warning(146) is None


def test_a_budget_below_what_counts_need_is_refused_without_any_run():
    """124 rollouts and 2 requests to the reflector are the fewest."""
    rollouts, reflector = RuledRollouts(rules=[]), Rules(rules=[])
    settings = OptimisationSettings(minibatch=8)
    with pytest.raises(UsageError, match="--budget-calls 126 at least"):
        optimisation(rollouts, reflector, limits=SearchBudget(calls=125), settings=settings).run()
    assert (0, []) == (rollouts.ran.total(), reflector.asked)


def with_model(project: Path) -> None:
    with (project / "suites/tea/suite.yaml").open("a") as told:
        told.write(
            "model: {base_url: 'http://127.0.0.1:9/v1', models: [small], "
            "prices: {small: {input_usd_per_mtok: 1000, output_usd_per_mtok: 1000}}}\n"
        )


def test_the_command_refuses_a_small_budget_without_a_run_of_the_suite(tmp_path: Path):
    """2 x 3 training, 4 x 7 validation and 2 x 7 held-out cases; rules cost nothing."""
    project = tea(tmp_path)
    with_model(project)
    words = ["optimise", "tea", "--mode", "joint", "--rollouts", "60", "--sandbox", "local", "--budget-calls", "20"]
    rules = ["--rubric", "service", "--reflector-rules", str(project / "suites/tea/edits.yaml")]
    done = CliRunner().invoke(harness, ["--project", str(project), *words, *rules])
    assert "--budget-calls 48 at least" in str(done.exception)
    assert not (project / "runs").exists()


def test_a_suite_without_a_model_needs_no_calls(tmp_path: Path):
    project = tea(tmp_path)
    words = ["optimise", "tea", "--mode", "joint", "--rollouts", "60", "--sandbox", "local", "--budget-calls", "1"]
    rules = ["--rubric", "service", "--reflector-rules", str(project / "suites/tea/edits.yaml"), "--estimate"]
    done = CliRunner().invoke(harness, ["--project", str(project), *words, *rules])
    assert 0 == done.exit_code, done.output
