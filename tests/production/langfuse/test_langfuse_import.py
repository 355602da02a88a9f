"""Experiments of Langfuse as runs: those that were exported, and those that its own SDK made."""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langfuse import Evaluation, Langfuse

from harness.runs.store.folder import RunFolder
from harness.suite.loading import load_suite
from harness.suite.suites import Suite
from tests.cli.starting import run_command
from tests.production.langfuse.langfuse_reading import experiment_items, experiments, observations
from tests.production.langfuse.langfuse_server import SECRET_KEY, LangfuseServer, langfuse_server
from tests.production.langfuse.test_langfuse_export import harness


@pytest.fixture
def sdk(langfuse: LangfuseServer) -> Iterator[Langfuse]:
    client = Langfuse(base_url=langfuse.url, public_key=langfuse.public_key, secret_key=SECRET_KEY)
    yield client
    client.shutdown()


@pytest.fixture
def copy(project: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "evals"
    shutil.copytree(project, folder)
    return folder


def trials(folder: Path, run: str) -> dict[tuple[str, int], Any]:
    stored = RunFolder.open(folder / "runs" / run).trials()
    return {(one.trial.case_id, one.trial.attempt): one for one in stored}


def told(value: Any) -> Any:
    """What a trajectory tells, without who observed it, and without durations."""
    match value:
        case dict():
            return {name: told(one) for name, one in value.items() if name not in ("evidence", "duration_ms")}
        case list():
            return [told(one) for one in value]
        case _:
            return value


def suite_of(folder: RunFolder) -> Suite:
    assert folder.suite is not None
    return folder.suite


def durations(trajectory: Any) -> list[float]:
    return [seen.duration_ms for step in trajectory.steps for seen in step.observations]


def evaluations(stored: Any) -> dict[str, Any]:
    events = [event for span in stored.spans for event in span.events if event["name"] == "gen_ai.evaluation.result"]
    facts = [event["attributes"] for event in events]
    return {one["gen_ai.evaluation.name"]: one.get("gen_ai.evaluation.score.value") for one in facts}


def test_a_run_that_was_exported_comes_back_as_it_was(copy: Path, langfuse: LangfuseServer) -> None:
    harness(copy, langfuse, "export", "langfuse", "first")
    langfuse.most_listed = 3
    words = ("import", "langfuse", "--dataset", "hello", "--run", "first", "--run-name", "back")
    harness(copy, langfuse, *words)
    before, after = trials(copy, "first"), trials(copy, "back")
    assert 4 == len(before)
    assert before.keys() == after.keys()
    for key, stored in before.items():
        was, found = stored.trial, after[key].trial
        assert told(was.trajectory.model_dump(mode="json")) == told(found.trajectory.model_dump(mode="json"))
        assert durations(was.trajectory) == pytest.approx(durations(found.trajectory), abs=0.002)
        assert (was.outcome, was.trajectory.trace_id, was.trajectory.final_output, was.trajectory.agent) == (
            found.outcome, found.trajectory.trace_id, found.trajectory.final_output, found.trajectory.agent
        )  # fmt: skip
    cards = {(card.case_id, card.attempt): card for card in RunFolder.open(copy / "runs/first").scorecards()}
    back = {(card.case_id, card.attempt): card for card in RunFolder.open(copy / "runs/back").scorecards()}
    assert {key: card.success for key, card in cards.items()} == {key: card.success for key, card in back.items()}


def test_scores_are_recorded_values_and_no_checks(copy: Path, langfuse: LangfuseServer) -> None:
    harness(copy, langfuse, "export", "langfuse", "first")
    harness(copy, langfuse, "import", "langfuse", "--dataset", "hello", "--run", "first", "--run-name", "back")
    for stored in trials(copy, "back").values():
        trace = stored.trial.trajectory.trace_id
        sent = {one["name"]: one["value"] for one in langfuse.scores.values() if one.get("traceId") == trace}
        assert [name for name in sent if name.startswith("check.")]
        assert sent == evaluations(stored)
    for card in RunFolder.open(copy / "runs/back").scorecards():
        assert {"reward"} == {verdict.check for verdict in card.verdicts if verdict.verifier == "reward"}
        assert not {"greets_ada", "check.greets_ada"} & {verdict.check for verdict in card.verdicts}


def test_the_case_is_that_of_the_item(copy: Path, langfuse: LangfuseServer) -> None:
    harness(copy, langfuse, "export", "langfuse", "first")
    harness(copy, langfuse, "import", "langfuse", "--dataset", "hello", "--run", "first", "--run-name", "back")
    cases = {case.id: case for case in suite_of(RunFolder.open(copy / "runs/back")).cases}
    was = {case.id: case for case in load_suite(copy, "hello").cases}
    assert was.keys() == cases.keys()
    for name, case in was.items():
        assert (case.task, case.category, case.tags, case.expected_output) == (
            cases[name].task, cases[name].category, cases[name].tags, cases[name].expected_output
        )  # fmt: skip


def solve(sdk: Langfuse, item: Any) -> str:
    """An agent with two model calls and a tool call, as the SDK traces it."""
    asked = item.input["question"]
    with sdk.start_as_current_observation(name="solver", as_type="agent", input=asked):
        messages = [{"role": "user", "content": asked}]
        call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"to": 1}'}}
        with sdk.start_as_current_observation(name="plan", as_type="generation", model="m-1", input=messages) as one:
            one.update(output={"role": "assistant", "content": None, "tool_calls": [call]},
                       usage_details={"input": 7, "output": 2})  # fmt: skip
        with sdk.start_as_current_observation(name="add", as_type="tool", input={"to": 1}) as used:
            used.update(output="x" * 500)
        with sdk.start_as_current_observation(name="say", as_type="generation", model="m-1", input=messages) as one:
            one.update(output={"role": "assistant", "content": item.expected_output})
    return str(item.expected_output)


def test_an_experiment_of_the_sdk_is_a_run(copy: Path, langfuse: LangfuseServer, sdk: Langfuse) -> None:
    sdk.create_dataset(name="support/questions")
    for number in range(3):
        sdk.create_dataset_item(
            dataset_name="support/questions",
            id=f"q-{number}",
            input={"question": f"What is {number} + 1?"},
            expected_output=str(number + 1),
            metadata={"topic": "sums"},
        )

    def task(*, item: Any, **_: Any) -> str:
        return solve(sdk, item)

    def exact(*, output: Any, expected_output: Any, **_: Any) -> Evaluation:
        return Evaluation(name="exact", value=float(output == expected_output), comment="compared")

    sdk.get_dataset("support/questions").run_experiment(
        name="theirs", run_name="theirs-1", task=task, evaluators=[exact]
    )
    sdk.flush()
    words = ("import", "langfuse", "--dataset", "support/questions", "--run", "theirs-1", "--run-name", "theirs")
    harness(copy, langfuse, *words)
    found = trials(copy, "theirs")
    assert {("q-0", 1), ("q-1", 1), ("q-2", 1)} == found.keys()
    stored = found["q-1", 1]
    steps = stored.trial.trajectory.steps
    assert ["add"] == [call.name for step in steps for call in step.calls]
    assert [{"to": 1}] == [call.arguments for step in steps for call in step.calls]
    assert ["x" * 500] == [seen.content for step in steps for seen in step.observations]
    assert ("2", "solver") == (stored.trial.trajectory.final_output, stored.trial.trajectory.agent)
    assert "m-1" in {step.model for step in steps}
    assert {"exact": 1.0} == evaluations(stored)
    folder = RunFolder.open(copy / "runs/theirs")
    case = next(case for case in suite_of(folder).cases if case.id == "q-1")
    assert ("What is 1 + 1?", "2", ("topic=sums",)) == (case.task, case.expected_output, case.tags)
    assert {True} == {card.success for card in folder.scorecards()}


def test_an_experiment_without_agent_or_model_is_question_and_answer(
    copy: Path, langfuse: LangfuseServer, sdk: Langfuse
) -> None:
    sdk.create_dataset(name="plain")
    sdk.create_dataset_item(dataset_name="plain", id="a", input="Say hi", expected_output={"said": "hi"})

    def fail(*, item: Any, **_: Any) -> str:
        return "hi"

    sdk.get_dataset("plain").run_experiment(name="n", run_name="r", task=fail)
    sdk.flush()
    harness(copy, langfuse, "import", "langfuse", "--dataset", "plain", "--run", "r", "--run-name", "plain")
    (stored,) = trials(copy, "plain").values()
    assert [("user", "Say hi"), ("agent", "hi")] == [(one.source, one.message) for one in stored.trial.trajectory.steps]
    (case,) = suite_of(RunFolder.open(copy / "runs/plain")).cases
    assert {"said": "hi"} == case.expected_output


def test_the_runs_of_a_dataset_are_named(copy: Path, langfuse: LangfuseServer) -> None:
    for run in ("first", "second"):
        shutil.copytree(copy / "runs/first", copy / "runs/second", dirs_exist_ok=True)
        manifest = copy / f"runs/{run}/manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"run": run}))
    harness(copy, langfuse, "export", "langfuse", "first")
    unknown = harness(copy, langfuse, "import", "langfuse", "--dataset", "hello", "--run", "third", status=2).stderr
    omitted = harness(copy, langfuse, "import", "langfuse", "--dataset", "hello", status=2).stderr
    for said in (unknown, omitted):
        assert "first" in said
        assert "--run" in said
    assert "'none'" in harness(copy, langfuse, "import", "langfuse", "--dataset", "none", status=2).stderr
    harness(copy, langfuse, "export", "langfuse-dataset", "hello", "--dataset", "bare")
    assert "'bare' has no run" in harness(copy, langfuse, "import", "langfuse", "--dataset", "bare", status=2).stderr


@pytest.mark.parametrize(
    "words",
    [
        ("langfuse",),
        ("otel", "--dataset", "hello"),
        ("langfuse", "file.json", "--run", "first"),
        ("langfuse", "file.json", "--dataset", "hello"),
    ],
)
def test_words_that_do_not_fit_are_refused(copy: Path, langfuse: LangfuseServer, words: tuple[str, ...]) -> None:
    (copy / "file.json").write_text("[]")
    harness(copy, langfuse, "import", *words, status=2)
    assert not langfuse.asked


@pytest.mark.slow
def test_a_file_of_an_experiment_is_read_too(copy: Path, langfuse: LangfuseServer) -> None:
    harness(copy, langfuse, "export", "langfuse", "first")
    (experiment,) = experiments(langfuse.spans)
    items = experiment_items(langfuse.spans, langfuse.scores, experiment["id"], "core,io,itemMetadata,scores")
    lines = [
        {"item": one, "observations": observations(langfuse.spans, langfuse.scopes, {"traceId": one["traceId"]})}
        for one in items
    ]
    (copy / "saved.json").write_text(json.dumps(lines))
    done = run_command("import", "langfuse", "saved.json", "--run-name", "saved", folder=copy)
    assert 0 == done.returncode, done.stderr
    assert trials(copy, "first").keys() == trials(copy, "saved").keys()


@pytest.mark.slow
def test_the_sdk_reads_what_the_server_answers(project: Path, langfuse: LangfuseServer, sdk: Langfuse) -> None:
    harness(project, langfuse, "export", "langfuse", "first")
    langfuse.most_listed = 3
    dataset, since = langfuse.datasets["hello"]["id"], datetime(2000, 1, 1, tzinfo=UTC)
    (experiment,) = sdk.api.experiments.list(from_start_time=since, dataset_id=dataset).data
    fields = "core,dataset,io,itemMetadata,scores"
    first = sdk.api.experiments.list_items(from_start_time=since, experiment_id=experiment.id, fields=fields)
    assert (4, 3) == (experiment.item_count, len(first.data))
    assert first.meta.cursor
    assert "success" in {score.name for score in first.data[0].scores or ()}
    trace = first.data[0].trace_id
    listed = sdk.api.observations.get_many(trace_id=trace, fields="core,basic,io,metadata").data
    assert {trace} == {one.trace_id for one in listed}


def test_keys_stay_with_their_host(copy: Path, langfuse: LangfuseServer) -> None:
    harness(copy, langfuse, "export", "langfuse", "first")
    with langfuse_server() as other:
        langfuse.redirected["experiments"] = f"{other.url}/api/public/experiments"
        words = ("import", "langfuse", "--dataset", "hello", "--run", "first")
        assert "status 307" in harness(copy, langfuse, *words, status=3).stderr
        assert not other.asked
