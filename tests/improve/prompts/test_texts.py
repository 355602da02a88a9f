"""What may change besides prompts: descriptions of tools, and files of examples; all else of the agent is frozen."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import InvalidDocument
from harness.improve.candidates import Component, candidate_of, components_of, read_candidate, texts_of
from harness.improve.opening import OptimiseRequest, prepare_optimisation
from harness.improve.search import Search
from harness.improve.sizing import OptimisationSettings
from harness.improve.trial_verdict import TrialJudge, open_judge
from harness.improve.whole_trials import open_whole_trials
from harness.judging.rubrics import load_rubric
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from harness.suite.loading import load_suite
from qa.doubles.ruled_rollouts import RuledRollouts
from tests.improve.prompts.conftest import tea
from tests.improve.prompts.planted import TEXTS, optimisation

WAITER = """
import json
import os
import urllib.request
from pathlib import Path

gateway = os.environ["HARNESS_GATEWAY_URL"]
(tool,) = json.load(urllib.request.urlopen(gateway + "/tools"))["tools"]
examples = json.loads((Path(__file__).parent / "examples.json").read_text())
urllib.request.urlopen(gateway + "/turn").read()
said = tool["description"] + " " + examples[0]
body = json.dumps({"message": said}).encode()
urllib.request.urlopen(urllib.request.Request(gateway + "/reply", body))
"""


TOOLS = """
servers: {kitchen: {base_url: "http://127.0.0.1:1"}}
tools:
  - {name: pour, description: Of its source., effect: read, server: kitchen, http: {method: GET, path: /pour}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tea(tmp_path) / "suites/tea"
    (folder / "waiter/waiter.py").write_text(WAITER)
    (folder / "waiter/examples.json").write_text('["Here you are."]\n')
    (folder / "descriptions").mkdir()
    (folder / "descriptions/pour.md").write_text("Pours a cup.\n")
    declared = (folder / "suite.yaml").read_text()
    declared = declared.replace("[prompts/waiter.md]\ncases", "[prompts/waiter.md, examples.json]\ncases")
    declared = declared.replace("files: [prompts/waiter.md]\n", "files: [examples.json]\n      tools: [pour]\n")
    declared += TOOLS
    (folder / "suite.yaml").write_text(declared)
    return tmp_path


def request(project: Path) -> OptimiseRequest:
    return OptimiseRequest(
        options=RunOptions(suite="tea", agent="v1", sandbox="local", jobs=1),
        mode="joint",
        rubric="service",
        reflector=project / "suites/tea/edits.yaml",
        settings=OptimisationSettings(rollouts=60),
    )


def test_an_agent_reads_a_candidates_descriptions_and_examples(project: Path, tmp_path: Path):
    plan = plan_of(project, RunOptions(suite="tea", sandbox="local"))
    start = candidate_of(texts_of(plan.suite, components_of(plan.suite)))
    assert {"tool:pour": "Pours a cup.\n", "examples.json": '["Here you are."]\n'} == start.texts
    better = candidate_of({"tool:pour": "Pours a warm cup.\n", "examples.json": '["anything else?"]\n'}, start.id)
    better.write(tmp_path / "kept")
    assert better == read_candidate(tmp_path / "kept")
    judge = TrialJudge(judge=open_judge(project, plan.suite, load_rubric("service", plan.suite.folder)))
    with open_whole_trials(plan, judge) as whole:
        ((_, before, _),) = whole.trials(start, ["order-1"])
        ((_, after, card),) = whole.trials(better, ["order-1"])
    assert "Pours a cup. Here you are." == before.trajectory.final_output
    assert "Pours a warm cup. anything else?" == after.trajectory.final_output
    assert card.success


def test_what_is_not_declared_is_frozen_by_digest(project: Path):
    def asked() -> tuple[str, str]:
        found = prepare_optimisation(project, request(project)).resolved.asked
        return found.agent_digest, found.start

    frozen, start = asked()
    (project / "suites/tea/waiter/examples.json").write_text('["Another one."]\n')
    assert frozen == asked()[0]
    assert start != asked()[1]
    (project / "suites/tea/waiter/prompts/waiter.md").write_text("It is not text of a component.\n")
    assert frozen != asked()[0]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("descriptions/pour.md", "other/pour.md", "'pour' has no description in a file"),
        ("descriptions/pour.md", "descriptions/brew.md", "describes none of the suite's tools"),
        ("files: [examples.json]\n      tools: [pour]", "files: []", "names no text"),
    ],
    ids=["no-file", "no-tool", "no-text"],
)
def test_a_wrong_declaration_is_refused(project: Path, old: str, new: str, problem: str):
    path = project / "suites/tea/suite.yaml"
    if (path.parent / old).is_file():
        (path.parent / new).parent.mkdir(exist_ok=True)
        (path.parent / old).rename(path.parent / new)
        old = new = "agents:"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(InvalidDocument, match=problem.replace("[", "\\[")):
        components_of(load_suite(project, "tea"))


def test_a_revision_that_breaks_the_format_of_a_file_of_examples_is_no_candidate():
    class Breaking:
        def search(self, search: Search, *, together: bool) -> None:
            assert search.propose(search.start, search.files) is None

    shots = Component(name="cart", role="Fills the cart.", files=("shots.json",))
    whole = optimisation(RuledRollouts(rules=[]), lambda request: "```\n[broken\n```")
    changed = {"components": (shots,), "agent_components": (shots,), "optimisers": {"breaking": Breaking()}}
    start = candidate_of(TEXTS | {"shots.json": json.dumps(["one"])})
    outcome = replace(whole, start=start, **changed).run()
    assert outcome.refusals[0].startswith("the text is not valid json any more: ")


BOMB = "a0: &a0 {x: 1, y: 2}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 40))


@pytest.mark.parametrize("answer", [BOMB, "- !!bool neither\n", "- !!int ''\n"], ids=["bomb", "no-bool", "no-number"])
def test_a_reflectors_yaml_that_no_reader_can_hold_is_refused(answer: str):
    class Breaking:
        def search(self, search: Search, *, together: bool) -> None:
            assert search.propose(search.start, search.files) is None

    shots = Component(name="cart", role="Fills the cart.", files=("shots.yaml",))
    whole = optimisation(RuledRollouts(rules=[]), lambda request: f"```\n{answer}```")
    changed = {"components": (shots,), "agent_components": (shots,), "optimisers": {"breaking": Breaking()}}
    outcome = replace(whole, start=candidate_of(TEXTS | {"shots.yaml": "- one\n"}), **changed).run()
    assert outcome.refusals[0].startswith("the text is not valid yaml any more: ")
