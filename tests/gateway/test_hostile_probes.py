"""What a service answers to a probe is data, whatever its agent has made the service keep."""

from typing import Any

import pytest

from harness.suite.cases import ApiProbe, Case, FaultSpec, StateProbe
from harness.suite.suites import Suite

_BODIES = {
    "nested deep": b"[" * 200_000,
    "closed deep": b"[" * 200_000 + b"]" * 200_000,
    "half of a surrogate pair": rb'{"name": "\ud800"}',
    "infinite": b'{"n": 1e400}',
    "NaN": b'{"n": NaN}',
    "digits": b'{"n": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("body", _BODIES)
def test_a_probes_answer_that_is_no_strict_json_does_not_fail_the_harness(
    run: Any, suite: Suite, shop: Any, body: str
) -> None:
    shop.answer = (200, {"Content-Type": "application/json"}, _BODIES[body])
    probe = StateProbe(name="kept", api=ApiProbe(server="shop", path="/answer"))
    record = run("live", lambda agent: agent.ask("GET", "/tools"), suite=suite.model_copy(update={"probes": (probe,)}))

    assert 200 == record.states["kept"]["status"]


def test_an_answer_that_nests_too_deep_fails_the_call_and_not_the_harness(
    run: Any, suite: Suite, shop: Any, case: Case
) -> None:
    shop.answer = (200, {"Content-Type": "application/json"}, _BODIES["closed deep"])
    missing = FaultSpec.model_validate({"tool": "answer", "kind": "missing_field", "at": "/name", "call": 1})
    told: list[str] = []

    def ask(agent: Any) -> None:
        told.extend(agent.call("answer")[1]["error"]["type"] for _ in range(2))

    run("live", ask, suite=suite.model_copy(update={"probes": ()}), case=case.model_copy(update={"faults": (missing,)}))

    assert ["malformed_result"] * 2 == told
