"""Each seam takes an implementation that a package of a third party brings, by the command line."""

import json

from harness.api import RunFolder
from tests.plugins.conftest import ThirdParty

IMPORTER = """\
from harness.api import Found, FoundRun, Importer, Source, Step

def read(source: Source):
    for number, line in enumerate(source.path.read_text().splitlines()):
        task, _, answer = line.partition(" => ")
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


def test_an_importer_of_a_package_reads_its_format(third_party: ThirdParty) -> None:
    third_party.install("importer", "chats", "CHATS", IMPORTER)
    (third_party.folder / "talk.chat").write_text("Say hello => Hello!\nSay bye => Bye!\n")
    done = third_party("import", "chats", "talk.chat", "--run-name", "r", "--json")
    assert 0 == done.returncode, done.stderr
    summary = json.loads(done.stdout)
    assert 2 == summary["counts"]["finished"]
    refused = third_party("import", "chatz", "talk.chat")
    assert 2 == refused.returncode
    assert "one of: adk, anthropic, atif, inspect, openai-chat, otel, tau-bench, tau2, chats" in refused.stderr


def test_a_detector_of_a_package_finds_in_a_run_and_counts_as_part_of_the_scorer(third_party: ThirdParty) -> None:
    third_party.install("detector", "terse", "Terse", DETECTOR)
    suite = third_party.project / "suites" / "hello" / "suite.yaml"
    suite.write_text(suite.read_text() + "\ndetectors: [terse, 'third_detector:Broken']\n")
    done = third_party("run", "hello", "--sandbox", "local", "--run-name", "r")
    assert 0 == done.returncode, done.stderr
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
    assert "field 'detectors': there is no detector named 'tense'" in refused.stderr


def test_an_executor_of_a_package_runs_the_trials(third_party: ThirdParty) -> None:
    third_party.install("executor", "loud", "open_loud", EXECUTOR)
    done = third_party("run", "hello", "--sandbox", "local", "--executor", "loud", "--json")
    assert 0 == done.returncode, done.stderr
    assert "third executor runs 2 trial(s)" in done.stderr
    assert 2 == json.loads(done.stdout)["counts"]["finished"]
    assert 2 == third_party("run", "hello", "--executor", "quiet").returncode
