"""What is asked: suites, cases, tools and agents as people write them."""

from harness.case.agent import AgentVersion
from harness.case.answer import AnswerRule
from harness.case.case import Case, CheckSpec, Limits, ReferenceCall
from harness.case.composite import CompositePart
from harness.case.conversation import Conversation, UserTurn, When
from harness.case.fault import FaultSpec
from harness.case.fixture import Fixture, FixturePack
from harness.case.host import EffectRule, HostSpec, IgnoredParts
from harness.case.model import ModelMode, ModelServer, ModelSpec, Price, Provider
from harness.case.probe import ApiProbe, SqlProbe, StateProbe
from harness.case.suite import Suite, ToolServer
from harness.case.tool import IMPORTED_SERVER, HttpRoute, RateLimit, ToolSpec, VolatilePart

__all__ = [
    "IMPORTED_SERVER",
    "AgentVersion",
    "AnswerRule",
    "ApiProbe",
    "Case",
    "CheckSpec",
    "CompositePart",
    "Conversation",
    "EffectRule",
    "FaultSpec",
    "Fixture",
    "FixturePack",
    "HostSpec",
    "HttpRoute",
    "IgnoredParts",
    "Limits",
    "ModelMode",
    "ModelServer",
    "ModelSpec",
    "Price",
    "Provider",
    "RateLimit",
    "ReferenceCall",
    "SqlProbe",
    "StateProbe",
    "Suite",
    "ToolServer",
    "ToolSpec",
    "UserTurn",
    "VolatilePart",
    "When",
]
