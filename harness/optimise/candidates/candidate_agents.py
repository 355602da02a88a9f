"""Candidates as agents: the suite's agent with a candidate's texts in place of its own."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.case import Suite
from harness.errors import UsageError
from harness.optimise.candidates.candidate import Candidate
from harness.runner import Agent, open_agent

ALONE: Final = "HARNESS_AGENT"
"""The environment variable that names the one agent of a program that is to answer, each message being a request to it.

A program of several agents that reads it can be optimised agent by agent.
"""


@dataclass(frozen=True, kw_only=True)
class CandidateAgents:
    """Opens agents; each candidate's once."""

    suite: Suite
    version: str
    """The version of the suite's agent."""
    staging: Path
    """The folder that the files of candidates are written to; the caller removes it."""
    _frozen: list[str] = field(default_factory=list)
    """The digest of all that no candidate changes, when the first one was opened."""
    _opened: dict[tuple[str, str | None], Agent] = field(default_factory=dict)

    def of(self, candidate: Candidate, alone: str | None = None) -> Agent:
        """The agent that reads the candidate's texts; with `alone`, only the agent of that name in its program.

        Raises UsageError for a text that is not a file of the agent, and where another of its files has changed since
        the first candidate was opened: what is measured would not be the texts.
        """
        key = (candidate.id, alone)
        if key not in self._opened:
            self._check_frozen(candidate)
            self._opened[key] = open_agent(self._suite(alone), self.version, self.staging, candidate.files)
        return self._opened[key]

    def _check_frozen(self, candidate: Candidate) -> None:
        blank = dict.fromkeys(candidate.files, "")
        digest = open_agent(self.suite, self.version, self.staging, blank).digest
        if not self._frozen:
            self._frozen.append(digest)
        if self._frozen != [digest]:
            raise UsageError(
                f"files of the agent {self.version!r} have changed since the optimisation began, besides those that it "
                "may change",
                remedy="restore them and run the same command to continue; with other files it is another optimisation",
            )

    def _suite(self, alone: str | None) -> Suite:
        if alone is None:
            return self.suite
        declared = self.suite.agents[self.version]
        changed = declared.model_copy(update={"env": {**declared.env, ALONE: alone}})
        return self.suite.model_copy(update={"agents": {**self.suite.agents, self.version: changed}})
