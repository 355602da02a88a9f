"""A manifest as it was stored before later fields existed: what it does not say was not so."""

from harness.runs.store.manifest import RunManifest

OLD = {
    "run": "r",
    "created": "2026-01-31T12:00:00Z",
    "harness_version": "0.1.0",
    "suite": "s",
    "suite_digest": "d",
    "agent": "v1",
    "agent_digest": "a",
    "snapshot_digest": "e",
    "tools_digest": "f",
    "tool_mode": "replay",
    "provider": "docker",
    "isolates": True,
    "planned": [{"case_id": "a", "attempt": 1}],
}


def test_fields_that_a_stored_run_does_not_have_say_that_nothing_was_chosen() -> None:
    read = RunManifest.model_validate(OLD)
    later = {name: value for name, value in read.model_dump(mode="json").items() if name not in OLD}
    assert ("none", "strict") == (later.pop("model_mode"), later.pop("replay"))
    assert {False} == {bool(value) for value in later.values()}
