"""The built-in checks, by the short names that a suite uses."""

from harness.score.verifiers.api import Api
from harness.score.verifiers.budget import MaxIterations, MaxTokens
from harness.score.verifiers.check_answer import CheckAnswer
from harness.score.verifiers.command import Command
from harness.score.verifiers.criterion import CriterionMet
from harness.score.verifiers.dom import Dom
from harness.score.verifiers.files import Files
from harness.score.verifiers.final_answer import FinalAnswer
from harness.score.verifiers.json_schema import JsonSchema
from harness.score.verifiers.no_failure import NoFailure
from harness.score.verifiers.reference_state import EqualsReferenceState
from harness.score.verifiers.reward import Reward
from harness.score.verifiers.rules import Rules
from harness.score.verifiers.sql import Sql
from harness.score.verifiers.state import State
from harness.score.verifiers.task_tests import TaskTests
from harness.score.verifiers.tools import ForbiddenTools, RequiredTools
from harness.score.verifiers.trajectory import TrajectoryVerifier

VERIFIERS: dict[str, type] = {
    "api": Api,
    "check_answer": CheckAnswer,
    "command": Command,
    "criterion": CriterionMet,
    "dom": Dom,
    "files": Files,
    "final_answer": FinalAnswer,
    "forbidden_tools": ForbiddenTools,
    "json_schema": JsonSchema,
    "max_iterations": MaxIterations,
    "max_tokens": MaxTokens,
    "required_tools": RequiredTools,
    "no_failure": NoFailure,
    "reference_state": EqualsReferenceState,
    "reward": Reward,
    "rules": Rules,
    "sql": Sql,
    "state": State,
    "task_tests": TaskTests,
    "trajectory": TrajectoryVerifier,
}

__all__ = [
    "VERIFIERS",
    "Api",
    "CheckAnswer",
    "Command",
    "CriterionMet",
    "Dom",
    "EqualsReferenceState",
    "Files",
    "FinalAnswer",
    "ForbiddenTools",
    "JsonSchema",
    "MaxIterations",
    "MaxTokens",
    "NoFailure",
    "RequiredTools",
    "Reward",
    "Rules",
    "Sql",
    "State",
    "TaskTests",
    "TrajectoryVerifier",
]
