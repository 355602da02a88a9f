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
