"""Answers of a hostile or broken Langfuse server, and run folders of others that are sent to one."""

import asyncio
import hashlib
import json
import shutil
from pathlib import Path

import pytest
from aiohttp import web

from harness.errors import UsageError
from harness.gateway.upstream.langfuse import AnswerLimits, LangfuseClient, LangfuseError
from harness.production.langfuse_dataset import dataset_rows
from harness.values import JsonObject
from tests.cli.starting import run_command
from tests.judging.judge.serving import served
from tests.production.langfuse.langfuse_server import SECRET_KEY, LangfuseServer


def rows(listing: str, limits: AnswerLimits | None = None) -> list[JsonObject]:
    """What is read of a dataset whose items are answered so."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=listing if "dataset-items" in request.path else "{}", content_type="application/json")

    with served(answer, path="") as url:
        return dataset_rows(LangfuseClient(url, "pk-lf-1", SECRET_KEY, limits=limits), "d")


@pytest.mark.parametrize(
    "listing",
    [
        '{"data": [], "meta": {"totalPages": 1e999}}',
        '{"data": [{"id": "a", "input": NaN}], "meta": {"totalPages": 1}}',
        '{"data": [{"id": "a", "input": -1e999}], "meta": {"totalPages": 1}}',
    ],
)
def test_a_number_that_is_not_finite_is_no_answer(listing: str) -> None:
    with pytest.raises(LangfuseError, match="/api/public/"):
        rows(listing)


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    (row,) = rows('{"data": [{"id": "a", "input": {"te\\ud800xt": "\\udfff"}}], "meta": {"totalPages": 1}}')
    json.dumps(row, ensure_ascii=False).encode()


def test_listings_that_never_end_are_given_up() -> None:
    with pytest.raises(LangfuseError, match=str(1 << 20)):
        rows(
            json.dumps({"data": [{"id": "a", "input": "x" * (1 << 19)}], "meta": {"totalPages": 9999}}),
            AnswerLimits(listed_bytes=1 << 20),
        )


def test_an_answer_that_comes_in_drops_is_given_up() -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(200):
            await response.write(b" ")
            await asyncio.sleep(0.02)
        return response

    with served(drip, path="") as url, pytest.raises(LangfuseError, match=r"\b0\.2 s\b"):
        LangfuseClient(url, "pk-lf-1", SECRET_KEY, limits=AnswerLimits(answer_s=0.2)).get("/api/public/projects")


@pytest.mark.parametrize("host", ["http://[::1", "http://", "ftp://h", "https://user:password1@host"])
def test_an_address_that_cannot_be_used_is_refused_without_its_password(host: str) -> None:
    with pytest.raises(UsageError, match="LANGFUSE_HOST") as refused:
        LangfuseClient(host, "a", "b")
    assert "password1" not in str(refused.value)


def test_a_secret_within_a_number_leaves_valid_json() -> None:
    client = LangfuseClient("http://127.0.0.1:1", "a", "b", secrets={"PIN": "1234567890"})
    sent = client.encoded({"a": 1234567890, "b": 51234567890.5, "c": "is 1234567890", "d": 7})
    assert b"1234567890" not in sent
    assert 7 == json.loads(sent)["d"]


@pytest.mark.parametrize("answer", [{"rejected": "many"}, {"rejected": 1, "errors": 5}])
def test_scores_with_a_wrong_answer_are_an_error_in_words(
    project: Path, langfuse: LangfuseServer, answer: dict[str, object]
) -> None:
    words = ("export", "langfuse", "first")
    assert 0 == run_command(*words, folder=project, env=langfuse.environment()).returncode
    langfuse.failures = [*(web.json_response({}) for _ in range(4)), web.json_response(answer)]
    done = run_command(*words, folder=project, env=langfuse.environment())
    assert 0 != done.returncode
    assert "Traceback" not in done.stderr
    assert "rejected" in done.stderr


def test_times_and_numbers_of_a_foreign_run_are_sent_as_far_as_they_go(
    project: Path, langfuse: LangfuseServer, tmp_path: Path
) -> None:
    copy = tmp_path / "evals"
    shutil.copytree(project, copy)
    trial = copy / "runs/first/trials/hello-ada/1"
    spans = [json.loads(line) for line in (trial / "spans.jsonl").read_text().splitlines()]
    for span in spans:
        span["end_ns"] = 10**18 * 300
        span["attributes"]["far"] = float("inf")
    content = "".join(json.dumps(span) + "\n" for span in spans)
    (trial / "spans.jsonl").write_text(content)
    seal = json.loads((trial / "seal.json").read_text())
    (trial / "seal.json").write_text(json.dumps(seal | {"spans.jsonl": hashlib.sha256(content.encode()).hexdigest()}))
    done = run_command("export", "langfuse", "first", folder=copy, env=langfuse.environment())
    assert 0 == done.returncode, done.stderr


def test_a_dataset_whose_name_has_no_latin_letter_becomes_a_file_that_is_seen(
    project: Path, langfuse: LangfuseServer, tmp_path: Path
) -> None:
    copy = tmp_path / "evals"
    shutil.copytree(project, copy)
    (copy / "case.yaml").write_text('id: "{{id}}"\ntask: "{{input}}"\n')
    langfuse.datasets["日本"] = {"id": "d", "name": "日本", "projectId": "p"}
    langfuse.items["a"] = {"id": "a", "datasetName": "日本", "input": "hi", "expectedOutput": None, "status": "ACTIVE"}
    words = ("case", "from-data", "hello", "langfuse:日本", "--template", "case.yaml")
    done = run_command(*words, folder=copy, env=langfuse.environment())
    assert 0 == done.returncode, done.stderr
    assert (copy / "suites/hello/dataset.yaml").is_file()


def test_a_dataset_with_the_name_of_the_suites_file_does_not_replace_it(
    project: Path, langfuse: LangfuseServer
) -> None:
    before = (project / "suites/hello/suite.yaml").read_bytes()
    langfuse.datasets["suite"] = {"id": "d", "name": "suite", "projectId": "p"}
    langfuse.items["a"] = {"id": "a", "datasetName": "suite", "input": "hi", "expectedOutput": "b", "status": "ACTIVE"}
    (project / "case.yaml").write_text('id: "{{id}}"\ntask: "{{input}}"\n')
    words = ("case", "from-data", "hello", "langfuse:suite", "--template", "case.yaml", "--replace")
    done = run_command(*words, folder=project, env=langfuse.environment())
    assert 2 == done.returncode
    assert "suite.yaml" in done.stderr
    assert before == (project / "suites/hello/suite.yaml").read_bytes()


def listed(*pages: str, limits: AnswerLimits | None = None) -> list[JsonObject]:
    """What is read of a listing with cursors whose pages are answered so, the last one again and again."""
    left = list(pages)

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=left.pop(0) if len(left) > 1 else left[0], content_type="application/json")

    with served(answer, path="") as url:
        return list(LangfuseClient(url, "pk-lf-1", SECRET_KEY, limits=limits).listed("/api/public/experiments"))


def test_pages_that_name_each_other_are_given_up() -> None:
    with pytest.raises(LangfuseError, match="circle"):
        listed('{"data": [], "meta": {"cursor": "a"}}')


def test_cursors_that_never_end_are_given_up() -> None:
    pages = (json.dumps({"data": [{"id": "x" * (1 << 19)}], "meta": {"cursor": str(number)}}) for number in range(9))
    with pytest.raises(LangfuseError, match=str(1 << 20)):
        listed(*pages, limits=AnswerLimits(listed_bytes=1 << 20))


@pytest.mark.parametrize(
    "page", ["[]", "{}", '{"data": 5, "meta": {}}', '{"data": [], "meta": 5}', '{"data": [5], "meta": {}}']
)
def test_a_page_of_another_shape_is_an_error_in_words(page: str) -> None:
    with pytest.raises(LangfuseError, match="/api/public/experiments"):
        listed(page)


ITEM = {"id": "s", "traceId": "t", "experimentItemId": "q", "startTime": "x", "input": None, "output": {"deep": [None]}}
SEEN = {"id": "s", "traceId": "t", "type": "AGENT", "name": "a"}


@pytest.mark.parametrize(
    ("item", "observations", "status"),
    [
        ({}, [SEEN], 0),
        ({"traceId": None}, [], 0),
        ({"scores": [{"name": 5, "value": {"a": 1}}, {}]}, [], 0),
        ({"experimentItemMetadata": "no object", "expectedOutput": "[" * 5000}, [SEEN], 0),
        ({}, [{**SEEN, "parentObservationId": "s"}, {**SEEN, "id": "u", "parentObservationId": "s"}], 0),
        ({}, [{**SEEN, "metadata": {"attributes.harness.case.id": "q", "attributes.harness.steps": "7"}}], 0),
        ({"experimentItemId": 5}, [], 2),
        ({"scores": "many"}, [], 2),
        ({}, [{"id": "s"}], 2),
        ({}, [{**SEEN, "id": ["s"]}], 2),
    ],
)
def test_experiments_of_wrong_shapes_are_read_or_refused_in_words(
    project: Path, tmp_path: Path, item: JsonObject, observations: list[JsonObject], status: int
) -> None:
    """What is answered for a run of a dataset; whatever it is, the command ends with words."""

    async def answer(request: web.Request) -> web.Response:
        told = {
            "/api/public/v2/datasets/d": {"id": "d"},
            "/api/public/experiments": {"data": [{"id": "e", "name": "r"}], "meta": {}},
            "/api/public/experiment-items": {"data": [{**ITEM, **item}], "meta": {}},
            "/api/public/v2/observations": {"data": observations, "meta": {}},
        }
        return web.json_response(told[request.path])

    copy = tmp_path / "evals"
    shutil.copytree(project, copy)
    with served(answer, path="") as url:
        env = {"LANGFUSE_HOST": url, "LANGFUSE_PUBLIC_KEY": "pk-lf-1", "LANGFUSE_SECRET_KEY": SECRET_KEY}
        done = run_command(
            "import", "langfuse", "--dataset", "d", "--run", "r", "--run-name", "back", folder=copy, env=env
        )
    assert "Traceback" not in done.stderr
    assert status == done.returncode, done.stdout + done.stderr
    assert (0 == status) == (copy / "runs/back/manifest.json").exists()


def test_a_credential_in_a_trace_is_not_stored(project: Path, langfuse: LangfuseServer, tmp_path: Path) -> None:
    copy = tmp_path / "evals"
    shutil.copytree(project, copy)
    token = "ghp_" + "a1B2c3D4e5" * 4
    assert 0 == run_command("export", "langfuse", "first", folder=copy, env=langfuse.environment()).returncode
    for span in langfuse.spans.values():
        span["attributes"].append({"key": "langfuse.observation.output", "value": {"stringValue": token}})
    for score in langfuse.scores.values():
        score["comment"] = token
    words = ("import", "langfuse", "--dataset", "hello", "--run", "first", "--run-name", "back")
    done = run_command(*words, folder=copy, env=langfuse.environment())
    assert 0 == done.returncode, done.stderr
    stored = [path for path in (copy / "runs/back").rglob("*") if path.is_file()]
    assert len(stored) > 4
    assert not [path for path in stored if token.encode() in path.read_bytes()]
