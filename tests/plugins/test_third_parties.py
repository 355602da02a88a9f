"""Each seam takes an implementation that a package of a third party brings, by the command line."""

import json
import re
from pathlib import Path

import pytest

from harness.api import RunFolder
from tests.plugins.conftest import ThirdParty

IMPORTER = """\
from harness.api import Found, FoundRun, Importer, Source, Step

def read(source: Source):
    for number, line in enumerate(source.path.read_text().splitlines()):
        task, answer = line.split(" => ")
        record = f"line {number + 1}"
        steps = (
            Step(index=0, source="user", message=task),
            Step(index=1, source="agent", message=answer),
        )
        yield Found(
            case=source.case(record, {"id": f"chat-{number}", "task": task}),
            record=record,
            run=FoundRun(steps=steps, reward=1.0),
        )

CHATS = Importer(patterns=("*.chat",), read=read)
"""

DETECTOR = """\
from typing import ClassVar
from harness.api import Detector, Diagnosis, Evidence

class Terse:
    name: ClassVar[str] = "terse"
    version: ClassVar[str] = "7"

    def find(self, evidence: Evidence) -> list[Diagnosis]:
        final = evidence.trial.trajectory.final_output
        if not isinstance(final, str) or len(final) > 500:
            return []
        return [Diagnosis(failure="other", kind="terse:short_answer", origin_step=None,
                          evidence=f"{len(final)} characters", confidence=0.5, version="7")]

class Broken(Terse):
    name: ClassVar[str] = "broken"
    def find(self, evidence):
        raise ZeroDivisionError("by design")

detector: Detector = Terse()
"""

EXECUTOR = """\
from contextlib import contextmanager
from harness.api import open_local

@contextmanager
def open_loud(job, say):
    say(f"third executor runs {len(job.plan.own)} trial(s)")
    with open_local(job, say) as inner:
        yield inner
"""

TOOL_SOURCE = """\
from harness.api import Frozen, InvalidDocument, JsonObject, OpenToolSource, SourceContext, ToolResult

class Shelf(Frozen):
    \'\'\'Books of a file, one title a line.\'\'\'
    file: str

    def open(self, context: SourceContext) -> OpenToolSource:
        titles = (context.folder / self.file).read_text().splitlines()
        if "" in titles:
            raise InvalidDocument(
                context.folder / self.file, "expected a title, found nothing", line=titles.index("") + 1,
                remedy="remove the empty line",
            )
        return OpenShelf(titles)

class OpenShelf:
    def __init__(self, titles: list[str]) -> None:
        self.titles = titles

    async def tools(self) -> list[JsonObject]:
        title = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
        reads = {"readOnlyHint": True}
        return [
            {"name": "find_book", "description": "Finds a book.", "inputSchema": title, "annotations": reads},
            {"name": "add_book", "description": "Adds a book.", "inputSchema": title},
            {"name": "burn", "inputSchema": {"type": "object"}},
        ]

    async def call(self, tool: str, arguments: JsonObject) -> ToolResult:
        if tool == "burn":
            raise ZeroDivisionError("by design")
        if tool == "add_book":
            self.titles.append(arguments["title"])
            return ToolResult(value={"books": len(self.titles)})
        if arguments["title"] not in self.titles:
            return ToolResult(value={"message": "no such book"}, is_error=True)
        return ToolResult(value={"shelf": self.titles.index(arguments["title"])})

    async def close(self) -> None:
        self.titles.clear()
"""

READER = """\
import json, os, urllib.error, urllib.request

def post(path, body):
    request = urllib.request.Request(os.environ["HARNESS_GATEWAY_URL"] + path, json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)

found = [post("/tools/" + name, {"title": title}) for name, title in CALLS]
post("/reply", {"message": json.dumps(found)})
"""


@pytest.mark.slow
def test_an_importer_of_a_package_reads_its_format(third_party: ThirdParty) -> None:
    third_party.install("importer", "chats", "CHATS", IMPORTER)
    (third_party.folder / "talk.chat").write_text("Say hello => Hello!\nSay bye => Bye!\n")
    done = third_party("import", "chats", "talk.chat", "--run-name", "r", "--json")
    assert 0 == done.returncode, done.stderr
    summary = json.loads(done.stdout)
    assert 2 == summary["counts"]["finished"]
    refused = third_party("import", "chatz", "talk.chat")
    assert 2 == refused.returncode
    assert "'chats'" in refused.stderr
    for format in ("adk", "anthropic", "atif", "inspect", "openai-chat", "otel", "tau2"):
        assert format in refused.stderr


@pytest.mark.slow
def test_a_file_that_an_importer_of_a_package_fails_on_is_refused_by_name(third_party: ThirdParty) -> None:
    third_party.install("importer", "chats", "CHATS", IMPORTER)
    (third_party.folder / "talk.chat").write_text("no arrow\n")
    refused = third_party("import", "chats", "talk.chat", "--run-name", "r")
    assert 2 == refused.returncode
    assert "talk.chat" in refused.stderr
    assert "ValueError" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (third_party.project / "runs" / "r").exists()


def ran_with(third_party: ThirdParty, line: str) -> Path:
    """Adds the line to the suite `hello` and runs it as `r`; returns its suite.yaml."""
    suite = third_party.project / "suites" / "hello" / "suite.yaml"
    suite.write_text(f"{suite.read_text()}\n{line}\n")
    done = third_party("run", "hello", "--sandbox", "local", "--run-name", "r")
    assert 0 == done.returncode, done.stderr
    return suite


@pytest.mark.slow
def test_a_detector_of_a_package_finds_in_a_run_and_counts_as_part_of_the_scorer(third_party: ThirdParty) -> None:
    third_party.install("metric", "terse", "Terse", DETECTOR)
    suite = ran_with(third_party, "metrics: [terse, 'third_metric:Broken']")
    run = third_party.project / "runs" / "r"
    manifest = json.loads((run / "manifest.json").read_bytes())
    assert "7" == manifest["scorer_versions"]["detector:terse"]
    cards = [card.model_dump() for card in RunFolder.open(run).scorecards()]
    found = {one["kind"]: one for card in cards for one in card["diagnoses"]}
    assert {"terse:short_answer", "broken:detector_failed"} <= set(found)
    assert "by design" in found["broken:detector_failed"]["evidence"]
    suite.write_text(suite.read_text().replace("[terse,", "[tense,"))
    refused = third_party("run", "hello", "--sandbox", "local")
    assert 2 == refused.returncode
    assert re.search("field 'metrics': .*'tense'", refused.stderr)


METRIC = """\
from typing import ClassVar

class Odd:
    name: ClassVar[str] = "odd"
    version: ClassVar[str] = "1"

    def measure(self, evidence):
        return {}["nothing"], ""
"""


@pytest.mark.slow
def test_a_metric_of_a_package_that_cannot_be_loaded_or_fails_is_named_with_its_place(third_party: ThirdParty) -> None:
    """The import had ended `run` with a traceback, and a failure had named no file."""
    third_party.install("metric", "odd", "Odd", METRIC)
    ran_with(third_party, "metrics: [odd]")
    scores = [one for card in RunFolder.open(third_party.project / "runs/r").scorecards() for one in card.scores]
    (why,) = {one.explanation for one in scores if one.metric == "odd"}
    assert why.endswith("third_metric.py:8: KeyError: 'nothing'")

    module = third_party.site / "third_metric.py"
    module.write_text("from harness.api import Missing\n" + METRIC)
    refused = third_party("run", "hello", "--sandbox", "local")
    assert 2 == refused.returncode
    assert re.search("suite 'hello', field 'metrics': .*'odd'.*'third_metric:Odd'", refused.stderr)
    assert "ImportError: cannot import name 'Missing'" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.slow
def test_an_executor_of_a_package_runs_the_trials(third_party: ThirdParty) -> None:
    third_party.install("executor", "loud", "open_loud", EXECUTOR)
    done = third_party("run", "hello", "--sandbox", "local", "--executor", "loud", "--json")
    assert 0 == done.returncode, done.stderr
    assert "third executor runs 2 trial(s)" in done.stderr
    assert 2 == json.loads(done.stdout)["counts"]["finished"]
    assert 2 == third_party("run", "hello", "--executor", "quiet").returncode


def _with_shelf(third_party: ThirdParty, calls: list[tuple[str, str]]) -> None:
    third_party.install("tool_source", "shelf", "Shelf", TOOL_SOURCE)
    suite = third_party.project / "suites" / "books"
    (suite / "agents" / "v1").mkdir(parents=True)
    (suite / "agents" / "v1" / "main.py").write_text(f"CALLS = {calls!r}\n{READER}")
    (suite / "books.txt").write_text("Emma\nUlysses\n")
    (suite / "cases.yaml").write_text("- {id: read, task: Read.}\n")
    (suite / "suite.yaml").write_text(
        'agents: {v1: {files: agents/v1, command: [python3, "{agent}/main.py"]}}\n'
        "tools:\n"
        "  - {tool_source: shelf, server: library, with: {file: books.txt}, disposable: true}\n"
    )


def _answers(third_party: ThirdParty, run: str) -> list[list[object]]:
    trial = RunFolder.open(third_party.project / "runs" / run).trial("read", 1)
    found: list[list[object]] = json.loads(str(trial.trajectory.final_output))
    return found


CALLS = [("find_book", "Ulysses"), ("find_book", "Odyssey"), ("add_book", "Odyssey"), ("find_book", "Odyssey")]


@pytest.mark.slow
def test_a_tool_source_of_a_package_is_listed_recorded_and_replayed_without_its_source(third_party: ThirdParty) -> None:
    _with_shelf(third_party, CALLS)
    untaken = third_party("tool", "list", "books")
    assert 2 == untaken.returncode
    assert "harness tool refresh books" in untaken.stderr
    assert 0 == third_party("tool", "refresh", "books").returncode
    shown = json.loads(third_party("tool", "list", "books", "--json").stdout)
    assert {"find_book": "read", "add_book": None, "burn": None} == {one["name"]: one.get("effect") for one in shown}
    recorded = third_party("run", "books", "--sandbox", "local", "--live", "tools,record")
    assert 0 == recorded.returncode, recorded.stderr
    (third_party.project / "suites" / "books" / "books.txt").unlink()  # a replay opens no source
    done = third_party("run", "books", "--sandbox", "local", "--run-name", "r")
    assert 0 == done.returncode, done.stderr
    found = _answers(third_party, "r")
    assert [200, {"shelf": 1}] == found[0]
    assert 200 != found[1][0]
    assert [[200, {"books": 3}], [200, {"shelf": 2}]] == found[2:]


@pytest.mark.slow
def test_what_a_tool_source_raises_ends_the_trial_as_the_harnesss_failure(third_party: ThirdParty) -> None:
    _with_shelf(third_party, [("burn", "Emma")])
    assert 0 == third_party("tool", "refresh", "books").returncode
    done = third_party("run", "books", "--sandbox", "local", "--live", "tools", "--run-name", "r", "--json")
    assert 1 == json.loads(done.stdout)["counts"]["harness_failed"], done.stderr
    trial = RunFolder.open(third_party.project / "runs" / "r").trial("read", 1)
    assert "ZeroDivisionError: by design" in str(trial.reason)


@pytest.mark.slow
def test_a_tool_source_refuses_its_own_files_with_line_and_remedy(third_party: ThirdParty) -> None:
    _with_shelf(third_party, CALLS)
    books = third_party.project / "suites" / "books" / "books.txt"
    assert 0 == third_party("tool", "refresh", "books").returncode
    books.write_text("Emma\n\nUlysses\n")
    refused = third_party("tool", "refresh", "books")
    assert 2 == refused.returncode, refused.stderr
    assert "books.txt:2: expected a title, found nothing" in refused.stderr
    assert "remove the empty line" in refused.stderr
    third_party("run", "books", "--sandbox", "local", "--live", "tools", "--run-name", "r")
    trial = RunFolder.open(third_party.project / "runs" / "r").trial("read", 1)
    assert "harness_failed" == trial.outcome
    assert "books.txt:2" in str(trial.reason)


@pytest.mark.slow
def test_a_wrong_tool_source_is_refused_where_it_is_named(third_party: ThirdParty) -> None:
    _with_shelf(third_party, CALLS)
    suite = third_party.project / "suites" / "books" / "suite.yaml"
    right = suite.read_text()
    for wrong, field in (
        (right.replace("tool_source: shelf", "tool_source: shelves"), "'tools.0.tool_source'"),
        (right.replace("tool_source: shelf", "tool_source: third_tool_source:OpenShelf"), "'tools.0.tool_source'"),
        (right.replace("file: books.txt", "path: books.txt"), "'tools.0.with"),
    ):
        suite.write_text(wrong)
        refused = third_party("tool", "refresh", "books")
        assert 2 == refused.returncode, wrong
        assert field in refused.stderr
        assert "suite.yaml:3" in refused.stderr
    suite.write_text(right)
    assert 0 == third_party("tool", "refresh", "books").returncode
    refused = third_party("run", "books", "--sandbox", "local", "--live", "sealed")
    assert 2 == refused.returncode
    assert "own_state" in refused.stderr
    suite.write_text(right.replace("books.txt", "other.txt"))
    assert 2 == third_party("tool", "list", "books").returncode  # its listing was made with other parameters


USER = """\
from harness.traces.trial import UserReport

class Polite:
    sees_calls = False

    def __init__(self, seat, spec):
        self._left = ["One of them, please."]

    async def reply(self, heard):
        return self._left.pop() if self._left else None

    def unsaid(self):
        return tuple(self._left)

    def report(self, heard, cut):
        return UserReport(kind="polite", ended=cut or "script_over", turns=len(heard.said))
"""
TALKER = """\
import json, os, urllib.request
url = os.environ["HARNESS_GATEWAY_URL"]
heard = []
while True:
    try:
        with urllib.request.urlopen(f"{url}/turn") as answer:
            text = answer.read()
    except OSError:
        break
    if not text:
        break
    heard.append(json.loads(text)["message"])
    body = json.dumps({"message": f"Heard: {heard[-1]}"}).encode()
    urllib.request.urlopen(urllib.request.Request(f"{url}/reply", body, {"Content-Type": "application/json"})).read()
"""


@pytest.mark.slow
def test_a_user_of_a_package_plays_a_conversation(third_party: ThirdParty) -> None:
    third_party.install("user", "polite", "Polite", USER)
    suite = third_party.project / "suites" / "talks"
    (suite / "agent").mkdir(parents=True)
    (suite / "agent" / "main.py").write_text(TALKER)
    (suite / "suite.yaml").write_text(
        'agents: {v1: {command: [python3, "{agent}/main.py"], files: agent}}\n'
        'checks: [{name: heard, verifier: final_answer, with: {regex: "One of them"}}]\n'
    )
    (suite / "cases.yaml").write_text("- {id: mug, task: Any mugs?, conversation: {plan: Ask for one.}}\n")

    ran = third_party("run", "talks", "--sandbox", "local", "--user", "polite", "--run-name", "talk")

    assert 0 == ran.returncode, ran.stderr
    (stored,) = RunFolder.open(third_party.project / "runs" / "talk").trials()
    assert stored.trial.user is not None
    assert ("polite", 2, "finished") == (stored.trial.user.kind, stored.trial.user.turns, stored.trial.outcome)
    assert "did you mean" not in (refused := third_party("run", "talks", "--sandbox", "local", "--user", "rude").stderr)
    assert "polite" in refused
