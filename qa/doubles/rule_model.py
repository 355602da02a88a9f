"""The rule model with an endpoint on this machine: a double of a judge.

It can be configured to fail as real models do; a fault belongs to a criterion, so that its effect does not depend on
the order of requests. `asked` counts the received requests.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from harness.errors import OutOfTime
from harness.values import JsonObject
from qa.doubles.model_double import DoubleError, DoubleReply, DoubleRequest, ModelDouble
from qa.doubles.rule_reflector import CalibrationRuleReflector
from qa.doubles.rules import RuleSet, answer, understood

Fault = Literal["prose", "wrong_id", "half_json", "nothing", "refusal", "busy_once", "busy", "timeout", "server_error"]

_STATUS: Final[dict[Fault, int]] = {"busy_once": 429, "busy": 429, "server_error": 500}


class RuleModel(ModelDouble):
    """Serves from its own thread while it is entered: `with RuleModel(mind) as model: model.url`."""

    def __init__(
        self,
        mind: RuleSet,
        *,
        faults: Mapping[str, Fault] | None = None,
        latency_s: float = 0.0,
        port: int = 0,
        name: str = "rule-model",
        revisions: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """`faults` maps a criterion id (`*` matches every criterion) to the fault in each answer about it. With
        `revisions` the model `rule-reflector` is served too, which adds these rules to a judge's prompt.
        """
        super().__init__(name=name, port=port, latency_s=latency_s)
        self.mind = mind
        self.asked: Counter[str] = Counter()
        """Requests by criterion."""
        self.revisions = dict(revisions or {})
        self._faults = dict(faults or {})
        self._seen: Counter[str] = Counter()

    async def answer(self, request: DoubleRequest) -> DoubleReply | DoubleError:
        system, user = request.system, request.said_by("user")
        if request.body.get("model") == "rule-reflector":
            return DoubleReply(text=CalibrationRuleReflector(self.revisions)(user))
        question = understood(system, user)
        self.asked[question.criterion] += 1
        fault = self._faults.get(question.criterion) or self._faults.get("*")
        key = json.dumps([system, user])
        nth = self._seen[key]
        self._seen[key] += 1
        if fault == "timeout":
            await asyncio.sleep(3600)
        if fault in _STATUS and not (fault == "busy_once" and nth):
            return DoubleError(status=_STATUS[fault], message=f"made to fail: {fault}")
        try:
            return _spoken(fault, await asyncio.to_thread(answer, self.mind, question, nth))
        except OutOfTime as error:
            return DoubleError(status=422, message=f"a rule of this model: {error}")


def _spoken(fault: Fault | None, given: JsonObject) -> DoubleReply:
    match fault:
        case "prose":
            return DoubleReply(text=f"Sure! The verdict is: {json.dumps(given)} Hope that helps.")
        case "wrong_id":
            return DoubleReply(structured=given | {"criterion": f"{given.get('criterion')}_of_another_kind"})
        case "half_json":
            return DoubleReply(text=json.dumps(given)[:40])
        case "nothing":
            return DoubleReply()
        case "refusal":
            return DoubleReply(text="I cannot help with that.")
        case _:
            return DoubleReply(structured=given)
