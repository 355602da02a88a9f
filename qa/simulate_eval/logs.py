"""Recorded conversations of others as logs of users: which are for building, and which were left out."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.users.log import UserLog, log_of_trajectory
from qa.converters import imported as import_set

FORMATS = {"tau2": "tau2", "taubench": "tau-bench", "tau2_toolorchestra": "tau2"}
HELD_OUT = "tau2_toolorchestra"
"""Conversations of another agent (gpt-5), whose texts were not looked at while the rules were written."""


@dataclass(frozen=True)
class Conversation:
    """One recorded conversation."""

    source: str
    name: str
    log: UserLog
    task: str


def data() -> Path:
    return Path(os.environ.get("HARNESS_REAL_DATA", "../shared/data"))


def conversations(sources: tuple[str, ...]) -> Iterator[Conversation]:
    for source in sources:
        folder = data() / source
        pattern = "historical_trajectories/*airline*.json" if source == "taubench" else "*.json"
        for path in sorted(folder.glob(pattern)):
            if "no-user" in path.name:
                continue
            imported = import_set(FORMATS[source], path)
            tools = {tool.name: tool for tool in imported.suite.tools}
            tasks = {case.id: case.task for case in imported.suite.cases}
            for trial, _ in imported.trials:
                log = log_of_trajectory(trial.trajectory, tools)
                if log is not None and len(log.turns) > 1:
                    yield Conversation(
                        source, f"{path.stem}/{trial.case_id}/{trial.attempt}", log, tasks[trial.case_id]
                    )
