"""Paths, names and numbers that lead out of a project: refused by the field, no traceback, and nothing is touched."""

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from qa.soak.attacks.project import Project, project, refused_plainly, row_of
from qa.soak.attacks.watching import watched
from qa.soak.rows import Row

SECONDS = 60
PRIVATE = "private-c0ntent-0815"
_CASES = "- {id: c, task: x}\n"
_AGENT = """\
import os, urllib.request
urllib.request.urlopen(os.environ["HARNESS_GATEWAY_URL"] + "/reply", b'{"message": "ok"}').read()
"""
SUITE_FIELDS = {
    "name": 'name: "{path}"\n',
    "environment": 'environment: "{path}"\n',
    "snapshot": 'environment: e\nsnapshot: "{path}"\n',
    "cases": 'cases: "{path}"\n',
    "cases, one of two": 'cases: [cases.yaml, "{path}"]\n',
    "tools": 'tools: "{path}"\n',
    "openapi": 'servers: {{s: {{base_url: "http://127.0.0.1:9"}}}}\ntools: [{{openapi: "{path}", server: s}}]\n',
    "python": 'tools: [{{python: "{path}", server: s}}]\n',
    "files": 'agents: {{v1: {{command: [python3, x], files: "{path}"}}}}\n',
    "prompts": 'agents: {{v1: {{command: [python3, x], files: agent, prompts: ["{path}"]}}}}\n',
    "metrics": 'metrics: ["{path}:Check"]\n',
    "verifier": 'checks: [{{name: k, verifier: "{path}:Check"}}]\n',
    "function": 'checks: [{{name: k, verifier: final_answer, with: {{function: "{path}:accepts"}}}}]\n',
    "file": 'probes: [{{name: p, sql: {{path: "{path}", query: select 1}}}}]\n',
}
"""Field of suite.yaml -> the lines."""
CASE_FIELDS = {
    "id": '- {{id: "{path}", task: x}}\n',
    "fixtures": '- {{id: c, task: x, fixtures: ["{path}"]}}\n',
    "rubrics": '- {{id: c, task: x, rubrics: ["{path}"]}}\n',
    "snapshot": '- {{id: c, task: x, snapshot: "{path}"}}\n',
}
ENVIRONMENT_FIELDS = {
    "image": 'image: "{path}"\nstates: {{one: {{}}}}\n',
    "services.image": 'image: base\nservices: {{s: {{image: "{path}", port: 1, wait: {{http: /}}}}}}\n'
    "states: {{one: {{}}}}\n",
    "files": 'image: base\nstates: {{one: {{files: "{path}"}}}}\n',
    "browser.files": 'image: base\nstates: {{one: {{browser: {{files: "{path}"}}}}}}\n',
    "states.one.services.s": "image: base\nservices: {{s: {{image: base, port: 1, wait: {{http: /}}, restore: /r, "
    'dump: {{command: [x]}}}}}}\nstates: {{one: {{services: {{s: "{path}"}}}}}}\n',
    "states": 'image: base\nstates: {{one: {{}}, "{path}": {{}}}}\n',
    "services": 'image: base\nservices: {{"{path}": {{image: base, port: 1, wait: {{http: /}}}}}}\n'
    "states: {{one: {{}}}}\n",
}
AWAY = ("{outside}/private", "../../../outside/private", "a/../../../../outside/private", "../../../outside")
_ODD = ("/etc/passwd", "..", "a\\0b", "/dev/zero", "a\\nb", "x" * 5_000)
"""In YAML's double quotes."""
SHARED = {"report", "tools", "openapi", "files", "python", "metrics", "verifier", "function"}
"""A suite's author may share files of other folders: what they name is read, as what is typed is. It is never
written."""
IN_THE_SANDBOX = {"file"}
"""Asked in what the agent left: nothing is there that the harness reads by such a name."""


def rows(random: random.Random, scale: float) -> Iterator[Row]:
    yield _row("suite.yaml", SUITE_FIELDS, "suites/s/suite.yaml", scale, random)
    yield _row("cases.yaml", CASE_FIELDS, "suites/s/cases.yaml", scale, random)
    yield _row("environment.yaml", ENVIRONMENT_FIELDS, "images/e/environment.yaml", scale, random)
    yield _typed(scale)


def _row(what: str, fields: dict[str, str], file: str, scale: float, random: random.Random) -> Row:
    with project() as here:
        outside = _outside(here)
        values = [path.format(outside=outside) for path in AWAY] + list(_ODD)
        every = [(field, value) for field in fields for value in values]
        tried = every if scale >= 1 else random.sample(every, max(12, round(len(every) * scale)))
        wrong = []
        with watched(outside) as watch:
            for field, value in tried:
                _fresh(here)
                text = fields[field].format(path=value)
                path = here.folder / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(_prefixed(field, text) if file.endswith("suite.yaml") else text, encoding="utf-8")
                for words in _verbs(file):
                    problem = _wrong(here, words, field, watch.touched)
                    if problem is not None:
                        wrong.append((f"{field}: {value[:60]!r}, {words[0]}", problem))
        return row_of(
            f"paths in {what} that lead away", len(tried) * len(_verbs(file)), wrong, _controls(here, outside)
        )


def _prefixed(field: str, text: str) -> str:
    return (
        text
        if text.startswith("agents:")
        else f'agents: {{v1: {{command: [python3, "{{agent}}/main.py"], files: agent}}}}\n{text}'
    )


def _verbs(file: str) -> Sequence[tuple[str, ...]]:
    if "environment" in file:
        return (("snapshot", "build", "e", "one"),)
    return (("run", "s", "--sandbox", "local", "--run-name", "r"),)


def _outside(here: Project) -> Path:
    outside = here.folder.parent / "outside"
    outside.mkdir(parents=True)
    for name in ("private", "private.yaml", "private.py", "main.py", "Dockerfile"):
        (outside / name).write_text(f"# {PRIVATE}\n", encoding="utf-8")
    return outside


def _fresh(here: Project) -> None:
    shutil.rmtree(here.folder / "runs", ignore_errors=True)
    here.write("", _CASES, _AGENT)
    (here.folder / "images" / "e").mkdir(parents=True, exist_ok=True)
    (here.folder / "images" / "e" / "environment.yaml").write_text("image: base\nstates: {one: {}}\n", encoding="utf-8")


def _wrong(here: Project, words: tuple[str, ...], field: str, touched: Callable[[], list[str]]) -> str | None:
    before = _around(here)
    touched()  # by looking
    try:
        done = here(*words, timeout_s=SECONDS)
    except AssertionError as error:
        return f"hangs: {str(error)[:100]}"
    if (found := touched()) and field not in SHARED:
        return f"touched outside: {', '.join(found)[:150]}"
    if PRIVATE in done.stdout + done.stderr:
        return "it prints what lies outside"
    if (after := _around(here)) != before:
        return f"written outside: {sorted(after - before)[:3]}"
    if done.returncode in {0, 1} and field in {*SHARED, *IN_THE_SANDBOX} and "Traceback" not in done.stderr:
        return None
    return refused_plainly(done, *NAMED.get(field, (field.partition(",")[0].rpartition(".")[2],)))


def _around(here: Project) -> frozenset[str]:
    """Every file beside the project."""
    kept = here.folder.parent
    return frozenset(str(path) for path in kept.rglob("*") if here.folder not in path.parents)


def _controls(here: Project, outside: Path) -> Iterator[str]:
    _fresh(here)
    done = here("run", "s", "--sandbox", "local", "--run-name", "good")
    if done.returncode:
        yield f"the project as it was: {done.stderr[-200:]}"
    with watched(outside) as watch:
        (here.suite / ".." / ".." / ".." / "outside" / "private").read_bytes()
        if not watch.touched():
            yield "what is read outside is not seen"


_RUN = ("run", "s", "--sandbox", "local")
TYPED = {
    "run-name": [
        (*_RUN, "--run-name", name) for name in ("../../x", "/tmp/x", "..", ".x", "a/b", "x" * 300, "a\x1bb", "")
    ],
    "resume": [(*_RUN[:1], "--resume", name) for name in ("../../x", "/etc", "..", "a\x1bb")],
    "merge": [("merge", "good", "good", "--run-name", name) for name in ("../../x", "..", "a/b")],
    "--attempt": [
        ("explain", "good", "c", "--attempt", n) for n in ("9" * 400, "-1", "0", "1" + "0" * 30, "../1", "1e9")
    ],
    "attempt": [("explain", "good", "c", "--attempt", n) for n in ("9" * 400, "1" + "0" * 30)],
    "trials": [(*_RUN, "--trials", n) for n in ("9" * 400, "0", "1001", "nan")],
    "case": [(*_RUN, "--case", name) for name in ("../../x", "/etc/passwd", "c\x1b[2J")],
    "suite": [("run", name, "--sandbox", "local") for name in ("../../x", "/etc", "..", "a\x1bb")],
    "report": [("report", name) for name in ("../../outside", "/etc", "/dev/zero", "x" * 5_000)],
    "shard": [(*_RUN, "--shard", n) for n in ("0/2", "3/2", "9" * 400 + "/1", "1/" + "9" * 400, "../1")],
}
"""What is typed, by what it is."""
NAMED = {
    "run-name": ("run name",),
    "merge": ("run name",),
    "openapi": ("tools.0",),
    "states": ("states", "environment.yaml"),
    "services": ("services", "environment.yaml"),
    "metrics": ("metric '",),
    "resume": ("run folder", "not followed"),
    "report": ("run folder", "not followed"),
    "run": ("run folder",),
}
"""What a refusal says, where that is not the field itself."""


def _typed(scale: float) -> Row:
    with project() as here:
        outside = _outside(here)
        _fresh(here)
        missing = [] if here(*_RUN, "--run-name", "good").returncode == 0 else ["a run"]
        missing += [] if here("explain", "good", "c", "--attempt", "1").returncode == 0 else ["an attempt"]
        wrong, tries = [], 0
        with watched(outside) as watch:
            for named, lines in TYPED.items():
                for words in lines if scale >= 0.1 else lines[:2]:
                    tries += 1
                    problem = _wrong(here, words, named.removeprefix("--"), watch.touched)
                    if problem is not None:
                        wrong.append((f"{' '.join(words)[:100]!r}", problem))
        return row_of("paths, names and numbers that are typed", tries, wrong, missing)
