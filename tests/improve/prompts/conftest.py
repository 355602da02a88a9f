"""The suite of the how-to page, and the shopper of the grocery suite over its real service and model of rules: both in
plain processes.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from harness.improve.acceptance import ValidationChoice
from harness.improve.candidates import candidate_of, components_of, texts_of
from harness.improve.lineage import CandidateRecord
from harness.improve.opening import OptimiseRequest, prepare_optimisation
from harness.improve.outcome import OptimisationOutcome, OptimiserResult, StoredOptimisation
from harness.improve.rollouts import Spent
from harness.improve.sizing import OptimisationSettings
from harness.runs.plan.plan import RunOptions, RunPlan
from harness.runs.plan.planning import plan_of
from harness.suite.loading import load_suite
from harness.suite.suites import ToolServer
from tests.docs.blocks import ROOT, blocks_of
from tests.suites.grocery.conftest import MARKET, PROJECT, SEED, running


def tea(folder: Path) -> Path:
    """A project with the suite of the how-to page."""
    for block in blocks_of(ROOT / "docs" / "how-to" / "optimise.md"):
        if block.title:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
    cases = [{"id": f"order-{number}", "task": f"Please bring {number} cups of tea."} for number in range(1, 25)]
    (folder / "suites/tea/cases.yaml").write_text(json.dumps(cases))
    return folder


def request_of(project: Path) -> OptimiseRequest:
    """The same request as `joint`."""
    return OptimiseRequest(
        options=RunOptions(suite="tea", agent="v1", sandbox="local", jobs=2),
        mode="joint",
        rubric="service",
        reflector=project / "suites/tea/edits.yaml",
        settings=OptimisationSettings(rollouts=60, minibatch=3),
        run_name="made",
    )


def begun(project: Path) -> StoredOptimisation:
    """The folder of an optimisation that has not run anything."""
    prepared = prepare_optimisation(project, request_of(project))
    prepared.stored.begin(prepared.resolved.asked)
    return prepared.stored


def accepted(project: Path, text: str) -> Path:
    """The folder of an optimisation that accepted this text for every file of the agent."""
    stored, suite = begun(project), load_suite(project, "tea")
    start = candidate_of(texts_of(suite, components_of(suite)))
    better = candidate_of(dict.fromkeys(start.texts, text), start.id)
    for one in (start, better):
        one.write(stored.folder / "candidates" / one.id)
        record = CandidateRecord(candidate=one.id, parent=one.parent)
        (stored.folder / "candidates" / one.id / "record.json").write_text(record.model_dump_json())
    share = OptimiserResult(
        optimiser="gepa", candidates=1, rollouts=1, pick=ValidationChoice(candidate=better.id, why="it is ahead")
    )
    outcome = OptimisationOutcome(
        suite="tea", mode="joint", component=None, optimiser="gepa", start=start.id, accepted=better.id,
        why="confirmed", results=(share,), noise_margin=0.0, noise_samples=2, cases=(1, 1, 1), looks_before=0,
        held_out_digest="d", spent=Spent(), calls=0,
    )  # fmt: skip
    stored.finish(outcome)
    return stored.folder


@contextmanager
def grocery(folder: Path) -> Iterator[RunPlan]:
    """A plan of the suite whose service and model are processes of this machine, without any container."""
    for name in ("suites/grocery", "images/grocery", "snapshots/grocery"):
        shutil.copytree(PROJECT / name, folder / name)
    env = {"GROCERY_SEED": str(SEED), "GROCERY_DATABASE": str(folder / "grocery.sqlite")}
    with (
        running("-m", "grocery_service", "--port", "0", folder=MARKET, env=env) as market,
        running(str(folder / "suites/grocery/model"), "--port", "0", folder=folder) as model,
    ):
        plan = plan_of(folder, RunOptions(suite="grocery", sandbox="local", tools="live", model="live"))
        server = ToolServer(
            base_url=f"http://127.0.0.1:{market.port}",
            session_header="X-Shopping-Session",
            disposable=True,
            double=True,
        )
        assert plan.suite.model is not None
        reached = plan.suite.model.model_copy(update={"base_url": f"http://127.0.0.1:{model.port}/v1"})
        apart = {"environment": None, "snapshot": None, "servers": {"market": server}, "model": reached}
        suite = plan.suite.model_copy(update=apart)
        yield replace(plan, suite=suite)


@pytest.fixture(scope="session")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunPlan]:
    with grocery(tmp_path_factory.mktemp("grocery")) as plan:
        yield plan
