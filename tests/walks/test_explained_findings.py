"""`harness explain`: what a failed trial without a fact shows, and findings of another version."""

import json

from tests.walks.conftest import Walk

QUESTION = "How many visitors came to the museum between April and October according to its annual report?"
HISTORY = [
    {"name": "Chair", "role": "assistant", "content": f"Task description: {QUESTION}"},
    {"name": "Expert", "role": "assistant", "content": "Let us assume a typical year: 40,000."},
    {"name": "Checker", "role": "assistant", "content": "So the answer is 40,000."},
]


def test_a_failure_without_a_fact_is_unexplained_and_what_no_fact_shows_is_told_once_a_run(walk: Walk) -> None:
    talk = {"success": False, "task": QUESTION, "messages": HISTORY}
    (walk.folder / "talk.json").write_text(json.dumps(talk), encoding="utf-8")
    summary = walk.summary("import", "openai-chat", "talk.json", "--run-name", "r")
    [case] = [one["case_id"] for one in summary["manifest"]["planned"]]
    plain = walk("explain", "r", case).stdout
    assert "most probable step of the failure: cannot tell" in plain
    assert "not measured" not in plain
    told = json.loads(walk("explain", "r", case, "--json").stdout)
    assert [("other", "unexplained")] == [(one["failure"], one["kind"]) for one in told["scorecard"]["diagnoses"]]
    told = walk("report", "r", "--all").stdout
    assert 1 == told.count("not measured without a judge: cascading error, goal drift, loop trap")


def test_findings_of_another_version_are_said_to_be_so(walk: Walk) -> None:
    talk = {"success": False, "task": QUESTION, "messages": HISTORY}
    (walk.folder / "talk.json").write_text(json.dumps(talk), encoding="utf-8")
    summary = walk.summary("import", "openai-chat", "talk.json", "--run-name", "r")
    [case] = [one["case_id"] for one in summary["manifest"]["planned"]]
    assert "other versions" not in walk("explain", "r", case).stderr

    manifest = walk.folder / "runs" / "r" / "manifest.json"
    told = json.loads(manifest.read_text(encoding="utf-8"))
    told["scorer_versions"]["detector:facts"] = "0"
    manifest.write_text(json.dumps(told), encoding="utf-8")
    assert "detector:facts 0, now" in walk("explain", "r", case).stderr
    walk("score", "r")
    assert "other versions" not in walk("explain", "r", case).stderr
