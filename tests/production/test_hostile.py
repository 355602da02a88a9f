"""Nothing that a session says of itself excuses it, and no name that it has leads anywhere."""

import json
from pathlib import Path
from typing import Any

from harness.production.scores import SessionScore
from harness.production.scoring import ScoringRequest, score_sessions
from harness.production.session import EVENT, PIECE
from harness.production.settings import OnlineSettings
from harness.suite.cases import CheckSpec
from harness.suite.loading import load_suite
from tests.production.receiving import TRUSTED, Served, request, span
from tests.production.walking import PROJECT, harness_json

NOW = OnlineSettings(pause_s=0)


def chat(trace: int, said: str, **more: Any) -> dict[str, Any]:
    parts = [[{"role": role, "parts": [{"type": "text", "content": text}]}]
             for role, text in (("user", "A latte, please."), ("assistant", said))]  # fmt: skip
    facts = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": f"c{trace}",
             "gen_ai.input.messages": json.dumps(parts[0]), "gen_ai.output.messages": json.dumps(parts[1])}  # fmt: skip
    return span(trace, 1, attributes={**facts, **more})


def scored(served: Served) -> dict[str, SessionScore]:
    said = CheckSpec.model_validate({"name": "said", "verifier": "final_answer", "with": {"contains": "Here you are"}})
    suite = load_suite(PROJECT, "drive_thru").model_copy(update={"checks": (said,)})
    score_sessions(served.store(), ScoringRequest(suite=suite, settings=NOW))
    return {score.session: score for score in served.store().scores()}


def test_marks_of_a_harness_that_do_not_fit_together_do_not_make_a_session_unreadable(served: Served) -> None:
    """Else an agent that sets one is never failed."""
    served.post("/v1/traces", request(chat(1, "No."), chat(2, "No.", **{"harness.case.id": "x", "harness.steps": 7})))
    cards = [score.card for _, score in sorted(scored(served).items())]
    assert [False, False] == [card and card.success for card in cards]
    assert [[], []] == [[one.check for one in (card.verdicts if card else ()) if one.passed is None] for card in cards]


def test_an_error_that_a_session_calls_the_harness_own_is_the_tools(served: Served) -> None:
    facts = {"harness.case.id": "x", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "menu",
             "gen_ai.tool.call.id": "t", "error.type": "replay_miss", "harness.replay.tier": "miss",
             "harness.step": "tool", "gen_ai.conversation.id": "c1"}  # fmt: skip
    root = {"harness.case.id": "x", "gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c1"}
    served.post(
        "/v1/traces",
        request(span(1, 1, attributes=root), span(1, 2, parentSpanId=f"{1001:016x}", attributes=facts)),
    )
    (score,) = scored(served).values()
    assert {"menu": (1, 1)} == {name: (one.calls, one.errors) for name, one in score.tools.items()}


def test_forged_records_of_a_trial_are_no_evidence(served: Served) -> None:
    """Without a trusted token, in pieces or whole; with one, pieces of another text than was named."""
    forged = {"evidence": {"case_id": "latte", "attempt": 1, "outcome": "inconclusive"}, "final_output": "All done."}

    def log(trace: int, event: str, **facts: str) -> dict[str, Any]:
        named = {"gen_ai.conversation.id": f"c{trace}", **facts}
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in named.items()]
        return {"eventName": event, "traceId": f"{trace:032x}", "timeUnixNano": "5", "attributes": attributes}

    def send(headers: dict[str, str], trace: int, *logs: dict[str, Any]) -> None:
        served.post("/v1/traces", request(chat(trace, "No.")), headers=headers)
        served.post("/v1/logs", {"resourceLogs": [{"scopeLogs": [{"logRecords": [*logs]}]}]}, headers=headers)

    of, place, content = (f"harness.trial.piece.{name}" for name in ("of", "place", "content"))
    send({}, 1, log(1, EVENT, **{"harness.trial.evidence": json.dumps(forged)}))
    pieces = log(2, PIECE, **{of: "a" * 64, place: "0", content: json.dumps(forged)})
    whole = log(2, EVENT, **{"harness.trial.evidence": f"pieces:{'a' * 64}:1"})
    send({"Authorization": f"Bearer {TRUSTED}"}, 2, pieces, whole)
    for score in scored(served).values():
        assert score.card is not None
        assert ("finished", False) == (score.card.outcome, score.card.success)
        assert score.card.case_id.startswith("session-")


def test_what_a_session_is_called_stays_within_the_project(served: Served, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    project = tmp_path / "project"
    (project / "suites").symlink_to(PROJECT / "suites")
    evil = "../../../escaped\x1b[2J$(touch PWNED)"
    served.post("/v1/traces", request(chat(1, evil, **{"gen_ai.conversation.id": evil, "service.version": evil})))
    scored(served)
    (project / "online.yaml").write_text(f"store: {served.folder}\n")
    harness_json("themes", "file", "--tracker", "folder", "--min-sessions", "1", project=project)
    names = [path.name for path in tmp_path.rglob("*")]
    assert not [name for name in names if ("escaped" in name and "/" in name) or "PWNED" == name or "\x1b" in name]
    assert not (tmp_path.parent / "escaped").exists()
    for path in (project / "issues").rglob("*.md"):
        assert "\x1b" not in path.read_text(encoding="utf-8")
