"""Readers of what people write: suites, cases, environments, rubrics, labels, prompts, images, checks."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness.gateway.toolbox import Toolbox
from harness.judging.certification import read_records
from harness.judging.labels import label_lines
from harness.judging.prompts import PromptRegistry
from harness.judging.rubrics import read_rubric
from harness.judging.settings import JudgeSettings
from harness.sandbox.environment import load_environment
from harness.sandbox.images.recipe import read_recipe
from harness.scoring.registry import metrics_of, verifiers_of
from harness.suite.documents import read_document
from harness.suite.fixtures import load_pack
from harness.suite.loading import load_suite, tool_groups
from harness.traces.formats.found import read_tools
from harness.values import digest_of
from qa.doubles.rules import RuleSet
from qa.fuzz.reader import Reader

ROOT = Path(__file__).parents[2]


def readers() -> list[Reader]:
    rubrics = [ROOT / "suites/drive_thru/rubrics/counter.yaml", *(ROOT / "harness/judging/templates/rubrics").glob("*")]
    packs = files("suites/drive_thru_talk/fixtures/*.yaml")
    return [
        Reader(name="suite.yaml", syntax="yaml", seeds=files("suites/*/suite.yaml"), read=_suite, cost=20),
        Reader(name="case files", syntax="yaml", seeds=files("suites/drive_thru*/cases.yaml"), read=_cases, cost=20),
        Reader(name="checks of a suite", syntax="yaml", seeds=lambda: [_CHECKS], read=_checks, cost=4),
        Reader(name="tool files", syntax="yaml", seeds=files("suites/*/tools.yaml"), read=_tools, cost=10),
        Reader(name="tool listings", syntax="json", seeds=files("suites/*/tools/*.json"), read=_listing, cost=4),
        Reader(name="OpenAPI documents", syntax="json", seeds=lambda: [_OPENAPI], read=_openapi, cost=4),
        Reader(name="fixture packs", syntax="yaml", seeds=packs, read=_pack, cost=4),
        Reader(name="environment.yaml", syntax="yaml", seeds=files("images/*/environment.yaml"), read=_environment),
        Reader(name="Dockerfiles", syntax="text", seeds=files("images/*/Dockerfile"), read=_recipe),
        Reader(name="rubrics", syntax="yaml", seeds=lambda: [path.read_bytes() for path in rubrics], read=_rubric),
        Reader(name="labels", syntax="lines", seeds=files("suites/*/labels/counter.jsonl"), read=_labels),
        Reader(name="records of calibrations", syntax="lines", seeds=lambda: [_RECORD], read=_records),
        Reader(
            name="labels of prompts", syntax="yaml", seeds=lambda: [b'production: "3"\ncandidate: "4"\n'], read=_prompt
        ),
        Reader(name="judge.yaml", syntax="yaml", seeds=lambda: [_JUDGE], read=partial(_document, JudgeSettings)),
        Reader(
            name="rule models",
            syntax="yaml",
            seeds=files("suites/*/judge/rule_model.yaml"),
            read=partial(_document, RuleSet),
        ),
        Reader(name="tool definitions of imports", syntax="json", seeds=lambda: [_DEFINITIONS], read=_definitions),
    ]


def files(pattern: str) -> Callable[[], list[bytes]]:
    """The contents of the repository's files that fit a pattern; there is at least one."""

    def read() -> list[bytes]:
        found = [path.read_bytes() for path in sorted(ROOT.glob(pattern))]
        assert found, pattern
        return found

    return read


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _suite(content: bytes, folder: Path) -> None:
    """In a folder that has what any of the repository's suites names."""
    place = folder / "suites" / "fuzzed"
    if not place.is_dir():
        shutil.copytree(ROOT / "suites" / "drive_thru", folder / "suites" / "drive_thru")
        for name in (
            "basics",
            "frameworks",
            "library_desk",
            "web_shop",
            "drive_thru_talk",
            "drive_thru",
            "determinism",
        ):
            shutil.copytree(ROOT / "suites" / name, place, dirs_exist_ok=True)
        write(place / "cases.yaml", b"- {id: only, task: Say hello}\n")
    write(place / "suite.yaml", content)
    suite = load_suite(folder, "fuzzed")
    assert len(suite.digest) == 64
    Toolbox(suite)
    verifiers_of(suite)
    metrics_of(suite)
    tool_groups(folder, "fuzzed")


def _cases(content: bytes, folder: Path) -> None:
    place = folder / "suites" / "fuzzed"
    if not place.is_dir():
        shutil.copytree(ROOT / "suites" / "drive_thru", folder / "suites" / "drive_thru")
        shutil.copytree(ROOT / "suites" / "drive_thru_talk", place)
    write(place / "cases.yaml", content)
    suite = load_suite(folder, "fuzzed")
    assert len(suite.digest) == 64
    verifiers_of(suite)


def _checks(content: bytes, folder: Path) -> None:
    place = folder / "suites" / "fuzzed"
    (place / "agents").mkdir(parents=True, exist_ok=True)
    write(place / "cases.yaml", b"- {id: only, task: Say hello}\n")
    write(place / "suite.yaml", content)
    suite = load_suite(folder, "fuzzed")
    verifiers_of(suite)
    metrics_of(suite)


def _tools(content: bytes, folder: Path) -> None:
    place = folder / "suites" / "fuzzed"
    if not place.is_dir():
        shutil.copytree(ROOT / "suites" / "drive_thru", place)
        write(place / "cases.yaml", b"- {id: only, task: Say hello}\n")
    write(place / "tools.yaml", content)
    load_suite(folder, "fuzzed")


def _listing(content: bytes, folder: Path) -> None:
    _with_tools(folder, b"[{mcp: {command: ['true']}, server: listed}]", "tools/listed.json", content)


def _openapi(content: bytes, folder: Path) -> None:
    _with_tools(folder, b"[{openapi: api.json, server: api}]", "api.json", content)


def _with_tools(folder: Path, tools: bytes, name: str, content: bytes) -> None:
    place = folder / "suites" / "fuzzed"
    (place / "agents").mkdir(parents=True, exist_ok=True)
    write(place / "cases.yaml", b"- {id: only, task: Say hello}\n")
    suite = b"agents: {v1: {files: agents, command: [run]}}\nservers: {api: {base_url: 'http://127.0.0.1:1'}}\n"
    write(place / "suite.yaml", suite + b"tools: " + tools)
    write(place / name, content)
    suite = load_suite(folder, "fuzzed")
    assert len(suite.digest) == 64
    Toolbox(suite).listing(frozenset(tool.name for tool in suite.tools))


def _pack(content: bytes, folder: Path) -> None:
    place = folder / "suites" / "fuzzed"
    if not place.is_dir():
        shutil.copytree(ROOT / "suites" / "drive_thru", folder / "suites" / "drive_thru")
        shutil.copytree(ROOT / "suites" / "drive_thru_talk", place)
    tools = _PACK_TOOLS.setdefault("tools", load_suite(folder, "fuzzed").tools)
    digest_of(load_pack(write(folder / "pack.yaml", content), tools))


_PACK_TOOLS: dict[str, tuple] = {}


def _environment(content: bytes, folder: Path) -> None:
    write(folder / "images" / "fuzzed" / "environment.yaml", content)
    load_environment(folder, "fuzzed")


def _recipe(content: bytes, folder: Path) -> None:
    write(folder / "images" / "fuzzed" / "Dockerfile", content)
    assert len(read_recipe(folder / "images", "fuzzed").digest("tag")) == 64


def _rubric(content: bytes, folder: Path) -> None:
    assert len(read_rubric(write(folder / "rubric.yaml", content)).digest) == 64


def _labels(content: bytes, folder: Path) -> None:
    for number, line in label_lines(write(folder / "labels.jsonl", content)):
        assert number > 0
        assert line


def _records(content: bytes, folder: Path) -> None:
    read_records(write(folder / "records.jsonl", content))


def _prompt(content: bytes, folder: Path) -> None:
    write(folder / "prompts" / "mine" / "labels.yaml", content)
    write(folder / "prompts" / "mine" / "3.md", b"Judge.")
    PromptRegistry(folder).get("mine")


def _document(shape: type[object], content: bytes, folder: Path) -> None:
    read_document(write(folder / "document.yaml", content), shape)


def _definitions(content: bytes, folder: Path) -> None:
    read_tools(write(folder / "tools.json", content))


_CHECKS = rb"""
agents: {v1: {files: agents, command: [run]}}
servers: {api: {base_url: "http://127.0.0.1:1"}}
tools:
  - {name: look, server: api, effect: read, http: {path: /look}}
  - {name: add, server: api, http: {method: POST, path: /add, body: arguments}}
probes:
  - {name: order, tool: look}
checks:
  - {name: a, verifier: final_answer, with: {contains: "x", regex: "^a+b$"}}
  - {name: b, verifier: rules, with: {rules: ["look before add", "never add{\"a\": 1} after look",
      "add at most 2 times"]}}
  - {name: c, verifier: json_schema, with: {schema: {type: object, properties: {a: {pattern: "^x*$"}}}}}
  - {name: d, verifier: required_tools, with: {tools: [look]}}
  - {name: e, verifier: forbidden_tools, with: {tools: [add]}}
  - {name: f, verifier: trajectory, with: {calls: [{id: a, tool: look}]}}
  - {name: g, verifier: max_tokens, with: {limit: 5}}
  - {name: h, verifier: state, with: {probe: order, equals: {a: 1}}}
  - {name: i, verifier: files, with: {added: ["*.txt"], content: {"/work/a.txt": {contains: "x"}}}}
drift: {"look": [{at: "/items/*/price", compare: approx, tolerance: 1}, {at: "/a", compare: regex, regex: "a.b"}]}
"""

_OPENAPI = rb"""{"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {
 "/items/{id}": {"parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
  "get": {"operationId": "item", "summary": "One", "parameters": [{"$ref": "#/components/parameters/q"}]},
  "post": {"requestBody": {"required": true,
  "content": {"application/json": {"schema": {"$ref": "#/components/schemas/n"}}}}}}},
 "components": {"parameters": {"q": {"name": "q", "in": "query", "schema": {"type": "integer"}}},
  "schemas": {"n": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"},
  "b": {"$ref": "#/components/schemas/n"}}}}}}"""

_RATE = b'{"labels":20,"right":19,"not_eligible":0,"effective":19.5}'
_RECORD = (
    b'{"time":"2026-01-01T00:00:00Z","purpose":"certification","rubric":"r","rubric_version":"1","judge":{"prompt":"judge",'
    b'"prompt_version":"1","prompt_digest":"0","model":"m","samples":1},"annotators":["ann"],"criteria":{"a":'
    b'{"question":"0","passes":' + _RATE + b',"fails":' + _RATE + b'}},"used":["0123456789abcdef"]}\n'
) * 2

_JUDGE = (
    b"model: gpt-5\nprovider: openai\nprices: {gpt-5: {input_usd_per_mtok: 1, output_usd_per_mtok: 2}}\ntimeout_s: 3\n"
)

_DEFINITIONS = (
    b'[{"type": "function", "function": {"name": "a", "description": "b", "parameters": {"type": "object"}}},'
    b'{"name": "c", "input_schema": {"type": "object"}, "annotations": {"readOnlyHint": true}}]'
)
