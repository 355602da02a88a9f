"""`harness explain --hints`: what points at a failure mode is shown to who asks for it, and is not a finding."""

import json

from tests.walks.conftest import Walk

QUESTION = "How many visitors came to the museum between April and October according to its annual report?"
HISTORY = [
    {"name": "Chair", "role": "assistant", "content": f"Task description: {QUESTION}"},
    {"name": "Expert", "role": "assistant", "content": "Let us assume a typical year: 40,000."},
    {"name": "Checker", "role": "assistant", "content": "So the answer is 40,000."},
]


def test_a_hint_is_shown_on_request_and_in_json_and_counts_nowhere(walk: Walk) -> None:
    talk = {"success": False, "task": QUESTION, "messages": HISTORY}
    (walk.folder / "talk.json").write_text(json.dumps(talk), encoding="utf-8")
    summary = walk.summary("import", "openai-chat", "talk.json", "--run-name", "r")
    [case] = [one["case_id"] for one in summary["manifest"]["planned"]]

    plain = walk("explain", "r", case).stdout
    assert "hint:" not in plain
    assert "most probable failure at step 1 (Expert)" in plain
    assert "not measured here: cascading error: " in plain
    assert "what words alone say of it is a hint" in plain
    assert "hint: premature commitment (assumed data" in walk("explain", "r", case, "--hints").stdout

    told = json.loads(walk("explain", "r", case, "--json").stdout)
    assert ["other"] == [one["failure"] for one in told["scorecard"]["diagnoses"]]
    assert "assumed_data" in [one["kind"] for one in told["scorecard"]["hints"]]
    assert told["scorecard"]["modes_not_measured"] == told["not_measured"]
    report = walk("report", "r").stdout
    assert "premature" not in report


def test_findings_of_another_version_are_said_to_be_so(walk: Walk) -> None:
    talk = {"success": False, "task": QUESTION, "messages": HISTORY}
    (walk.folder / "talk.json").write_text(json.dumps(talk), encoding="utf-8")
    summary = walk.summary("import", "openai-chat", "talk.json", "--run-name", "r")
    [case] = [one["case_id"] for one in summary["manifest"]["planned"]]
    assert "other versions" not in walk("explain", "r", case).stderr

    manifest = walk.folder / "runs" / "r" / "manifest.json"
    told = json.loads(manifest.read_text(encoding="utf-8"))
    told["scorer_versions"]["detector:loop_trap"] = "0"
    manifest.write_text(json.dumps(told), encoding="utf-8")
    assert "detector:loop_trap 0, now" in walk("explain", "r", case).stderr
    walk("score", "r")
    assert "other versions" not in walk("explain", "r", case).stderr
