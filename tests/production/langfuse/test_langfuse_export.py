"""Suites as datasets and runs as experiments of Langfuse, read back by its own SDK."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from aiohttp import web
from langfuse import Langfuse
from langfuse._client.attributes import LangfuseOtelSpanAttributes as Names
from langfuse._client.constants import LANGFUSE_SDK_EXPERIMENT_ENVIRONMENT
from langfuse.api.opentelemetry.types.otel_span import OtelSpan
from langfuse.api.scores.types.create_score_request import CreateScoreRequest

from tests.cli.starting import run_command
from tests.production.langfuse.langfuse_reading import attributes
from tests.production.langfuse.langfuse_server import PROJECT, SECRET_KEY, LangfuseServer

CASES = ("hello-ada", "hello-world")


def harness(
    project: Path, server: LangfuseServer, *words: str, status: int = 0, **env: str
) -> subprocess.CompletedProcess[str]:
    done = run_command(*words, folder=project, env={**server.environment(), **env})
    assert status == done.returncode, done.stdout + done.stderr
    return done


@pytest.fixture
def sdk(langfuse: LangfuseServer) -> Iterator[Langfuse]:
    client = Langfuse(base_url=langfuse.url, public_key=langfuse.public_key, secret_key=SECRET_KEY)
    yield client
    client.shutdown()


def test_a_suite_is_a_dataset_that_the_sdk_reads(project: Path, langfuse: LangfuseServer, sdk: Langfuse) -> None:
    done = harness(project, langfuse, "export", "langfuse-dataset", "hello")
    assert "dataset hello: 2 added, 0 changed, 0 unchanged\n" == done.stdout
    dataset = sdk.get_dataset("hello")
    items = {item.id: item for item in dataset.items}
    assert {f"hello:{case}" for case in CASES} == set(items)
    ada = items["hello:hello-ada"]
    assert "Ada" in ada.input["task"]
    assert {"suite": "hello", "case": "hello-ada"}.items() <= ada.metadata.items()


def test_a_second_export_changes_nothing_and_a_changed_case_only_itself(
    project: Path, langfuse: LangfuseServer, tmp_path: Path
) -> None:
    copy = tmp_path / "evals"
    shutil.copytree(project, copy)
    harness(copy, langfuse, "export", "langfuse-dataset", "hello")
    writes = langfuse.writes()
    again = harness(copy, langfuse, "export", "langfuse-dataset", "hello")
    assert "dataset hello: 0 added, 0 changed, 2 unchanged\n" == again.stdout
    assert writes == langfuse.writes()
    cases = copy / "suites/hello/cases.yaml"
    cases.write_text(cases.read_text().replace("Ada", "Ada Lovelace"))
    changed = harness(copy, langfuse, "export", "langfuse-dataset", "hello")
    assert "dataset hello: 0 added, 1 changed, 1 unchanged\n" == changed.stdout
    assert writes + 1 == langfuse.writes()
    assert "Ada Lovelace" in langfuse.items["hello:hello-ada"]["input"]["task"]


def test_a_run_is_an_experiment_with_a_trace_for_each_trial(
    project: Path, langfuse: LangfuseServer, sdk: Langfuse
) -> None:
    done = harness(project, langfuse, "export", "langfuse", "first")
    assert re.search(r"\bfirst\b.*\bhello\b.*\b4 trials\b", done.stdout)
    for span in langfuse.spans.values():
        OtelSpan.model_validate(span)
    roots = [one for one in langfuse.spans.values() if "parentSpanId" not in one]
    assert 4 == len(roots) == len({root["traceId"] for root in roots})
    dataset = langfuse.datasets["hello"]["id"]
    expected = sdk._create_experiment_id(project_id=PROJECT, dataset_id=dataset, run_name="first")
    for span in langfuse.spans.values():
        facts = attributes(span)
        assert (expected, "first") == (facts[Names.EXPERIMENT_ID], facts[Names.EXPERIMENT_NAME])
        assert dataset == facts[Names.EXPERIMENT_DATASET_ID]
        root = langfuse.spans[facts[Names.EXPERIMENT_ITEM_ROOT_OBSERVATION_ID]]
        assert (span["traceId"], True) == (root["traceId"], root in roots)
        assert LANGFUSE_SDK_EXPERIMENT_ENVIRONMENT == facts[Names.ENVIRONMENT]
    items = sorted(attributes(root)[Names.EXPERIMENT_ITEM_ID] for root in roots)
    assert sorted(f"hello:{case}" for case in CASES * 2) == items
    facts = attributes(roots[0])
    assert {"task"} <= json.loads(facts[Names.OBSERVATION_INPUT]).keys()
    assert facts[Names.OBSERVATION_OUTPUT]
    assert "r7" == facts[Names.RELEASE] == json.loads(facts[Names.EXPERIMENT_METADATA])["release"]


def test_the_attributes_are_those_of_an_experiment_of_the_sdk(
    project: Path, langfuse: LangfuseServer, sdk: Langfuse
) -> None:
    harness(project, langfuse, "export", "langfuse", "first")
    ours = dict(langfuse.spans)
    sdk.get_dataset("hello").run_experiment(name="theirs", task=lambda *, item, **_: "Hello.")
    theirs = [span for span_id, span in langfuse.spans.items() if span_id not in ours]
    wanted = {name for span in theirs for name in attributes(span) if name.startswith("langfuse.experiment.")}
    assert len(wanted) > 5
    root = next(one for one in ours.values() if "parentSpanId" not in one)
    assert wanted <= attributes(root).keys()


def test_scores_say_what_the_scorecards_say(project: Path, langfuse: LangfuseServer) -> None:
    harness(project, langfuse, "export", "langfuse", "first")
    for score in langfuse.scores.values():
        CreateScoreRequest.model_validate(score)
        assert score["timestamp"].endswith("Z")
    cards = [json.loads(path.read_text()) for path in project.glob("runs/first/trials/*/*/scorecard.json")]
    on_traces = [score for score in langfuse.scores.values() if "traceId" in score]
    success = [score for score in on_traces if score["name"] == "success"]
    assert sum(card["success"] for card in cards) == sum(score["value"] for score in success)
    assert 4 == len(success)
    known = sum(score["value"] is not None for card in cards for score in card["scores"])
    assert known == sum(score["dataType"] == "NUMERIC" for score in on_traces)
    assert {f"check.{cards[0]['verdicts'][0]['check']}"} <= {one["name"] for one in on_traces}
    of_run = {one["name"]: one for one in langfuse.scores.values() if "datasetRunId" in one}
    assert 1.0 == of_run["success_rate"]["value"]


def test_a_run_that_is_exported_again_replaces_itself(project: Path, langfuse: LangfuseServer) -> None:
    harness(project, langfuse, "export", "langfuse", "first")
    before = (dict(langfuse.items), dict(langfuse.spans), dict(langfuse.scores))
    done = harness(project, langfuse, "export", "langfuse", "first")
    assert before == (langfuse.items, langfuse.spans, langfuse.scores)
    assert "0 items added, 0 changed" in done.stdout


@pytest.mark.slow
def test_a_dataset_of_the_sdk_becomes_cases(
    project: Path, langfuse: LangfuseServer, sdk: Langfuse, tmp_path: Path
) -> None:
    sdk.create_dataset(name="support/questions")
    for number in range(60):
        sdk.create_dataset_item(
            dataset_name="support/questions",
            id=f"q-{number}",
            input={"question": f"What is {number} + 1?", "order": {"id": number}},
            expected_output=str(number + 1),
            metadata={"topic": "sums"},
        )
    langfuse.items["q-7"]["status"] = "ARCHIVED"
    copy = tmp_path / "evals"
    shutil.copytree(project, copy)
    template = 'id: "{{id}}"\ncategory: "{{metadata.topic}}"\ntask: "{{input.question}}"\n'
    template += 'user_profile: "{{input.order}}"\nexpected_output: "{{expected_output}}"\n'
    (copy / "question.yaml").write_text(template)
    words = ("case", "from-data", "hello", "langfuse:support/questions", "--template", "question.yaml")
    done = harness(copy, langfuse, *words)
    assert "59 cases" in done.stdout
    assert "suites/hello/support-questions.yaml" in done.stdout
    import yaml

    cases = yaml.safe_load((copy / "suites/hello/support-questions.yaml").read_text())
    expected = {
        "id": "q-0",
        "category": "sums",
        "task": "What is 0 + 1?",
        "user_profile": {"id": 0},
        "expected_output": "1",
    }
    assert expected == cases[0]
    assert "q-7" not in {case["id"] for case in cases}
    (copy / "question.yaml").write_text('{id: "{{id}}", task: "{{input.answer}}"}')
    refused = harness(copy, langfuse, *words, "--replace", status=2)
    assert re.search(r"langfuse:support/questions:1: .*'input\.answer'", refused.stderr)


def test_an_imported_run_is_an_experiment_too(langfuse: LangfuseServer, tmp_path: Path) -> None:
    asked = [{"role": "user", "content": "Capital of France?"}, {"role": "assistant", "content": "Paris.\0 \ud800"}]
    (tmp_path / "paris.json").write_text(json.dumps({"id": "paris", "messages": asked}))
    words = ("import", "openai-chat", "paris.json", "--run-name", "imported", "--suite", "geography")
    harness(tmp_path, langfuse, *words)
    done = harness(tmp_path, langfuse, "export", "langfuse", "imported")
    assert re.search(r"\bimported\b.*\bgeography\b.*\b1 trials\b", done.stdout)
    (root,) = [one for one in langfuse.spans.values() if "parentSpanId" not in one]
    assert {root["traceId"]} == {span["traceId"] for span in langfuse.spans.values()}
    assert "Paris.\N{REPLACEMENT CHARACTER} ?" == attributes(root)[Names.OBSERVATION_OUTPUT]
    created = datetime.fromisoformat(json.loads((tmp_path / "runs/imported/manifest.json").read_text())["created"])
    assert int(created.timestamp()) == int(root["startTimeUnixNano"]) // 10**9


def test_secrets_of_the_suite_are_not_sent(project: Path, langfuse: LangfuseServer, tmp_path: Path) -> None:
    copy = tmp_path / "evals"
    shutil.copytree(project, copy)
    secret = "shop-password-4711"
    suite = copy / "suites/hello/suite.yaml"
    suite.write_text(suite.read_text() + "\nsecrets: [SHOP_PASSWORD]\n")
    cases = copy / "suites/hello/cases.yaml"
    cases.write_text(cases.read_text().replace("Ada", f"Ada, whose password is {secret}"))
    harness(copy, langfuse, "export", "langfuse", "first", SHOP_PASSWORD=secret)
    assert secret not in json.dumps([langfuse.items, langfuse.spans, langfuse.scores])
    assert "<secret:SHOP_PASSWORD>" in langfuse.items["hello:hello-ada"]["input"]["task"]


def test_a_busy_server_is_asked_again(project: Path, langfuse: LangfuseServer) -> None:
    langfuse.failures = [
        web.json_response({"message": "slow down"}, status=429, headers={"Retry-After": "0"}),
        web.json_response({"message": "no luck"}, status=503),
    ]
    done = harness(project, langfuse, "export", "langfuse-dataset", "hello")
    assert "dataset hello: 2 added" in done.stdout


def test_rejected_scores_are_told(project: Path, langfuse: LangfuseServer) -> None:
    langfuse.refused_score = "success"
    done = harness(project, langfuse, "export", "langfuse", "first", status=3)
    assert "rejected 4 of" in done.stderr
    assert "success: value is out of range" in done.stderr


@pytest.mark.slow
def test_what_keeps_an_export_back_is_named_with_its_remedy(project: Path, langfuse: LangfuseServer) -> None:
    words = ("export", "langfuse-dataset", "hello")
    assert "LANGFUSE_SECRET_KEY" in harness(project, langfuse, *words, status=2, LANGFUSE_PUBLIC_KEY="",
                                                        LANGFUSE_SECRET_KEY="").stderr  # fmt: skip
    wrong = harness(project, langfuse, *words, status=3, LANGFUSE_SECRET_KEY="sk-of-others-777").stderr
    assert "status 401" in wrong
    assert [] == [one for one in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY") if one not in wrong]
    assert "sk-of-others-777" not in wrong
    away = harness(project, langfuse, *words, status=3, LANGFUSE_HOST="http://127.0.0.1:9").stderr
    assert "http://127.0.0.1:9 " in away
    assert "check LANGFUSE_HOST" in away
    rows = ("langfuse:none", "--template", "suites/hello/cases.yaml")
    missing = harness(project, langfuse, "case", "from-data", "hello", *rows, status=2).stderr
    assert "dataset 'none'" in missing
    langfuse.failures = [web.json_response({"message": "database is down"}, status=500) for _ in range(4)]
    broken = harness(project, langfuse, *words, status=3).stderr
    assert "status 500" in broken


def test_keys_stay_with_their_host(project: Path, langfuse: LangfuseServer) -> None:
    import tests.production.langfuse.langfuse_server as serving

    with serving.langfuse_server() as other:
        langfuse.failures = [web.Response(status=307, headers={"Location": f"{other.url}/api/public/v2/datasets"})]
        done = harness(project, langfuse, "export", "langfuse-dataset", "hello", status=3)
        assert "status 307" in done.stderr
        assert not other.asked


def test_files_still_need_a_folder(project: Path, langfuse: LangfuseServer) -> None:
    assert "--output" in harness(project, langfuse, "export", "first", status=2).stderr
    assert "expected RUN" in harness(project, langfuse, "export", "first", "second", status=2).stderr
