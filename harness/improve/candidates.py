"""Candidates: sets of texts of an agent, the components that may change, and agents that are made of them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

from harness.disk import check_entries, make_folder, read_plain_file, write_atomically
from harness.errors import InvalidDocument, ResultsError, UsageError
from harness.runs.trial.agents import Agent, open_agent
from harness.suite.agents import AgentVersion, OptimiseSpec
from harness.suite.suites import Suite
from harness.text import alternatives, tokens_of
from harness.values import Frozen, digest_of

OF_TOOL: Final = "tool:"
"""Begins the name of a text that is a tool's description."""
_ABOUT = "candidate.json"
_TEXTS = "texts"


class Candidate(Frozen):
    """One set of texts; `candidate_of` gives it the id that its texts determine."""

    id: str
    """`c-` and twelve digits of the digest of `texts`: equal texts are one candidate, whoever proposed them."""
    parent: str | None = None
    """The candidate that it was made of; None: the texts in use."""
    texts: Mapping[str, str]
    """Path in the folder of the agent's files, or `tool:` and a tool's name -> the whole text."""

    @property
    def files(self) -> Mapping[str, str]:
        """The texts that are files of the agent."""
        return {name: text for name, text in self.texts.items() if not name.startswith(OF_TOOL)}

    @property
    def descriptions(self) -> Mapping[str, str]:
        """Tool -> its description."""
        found = ((name.removeprefix(OF_TOOL), text) for name, text in self.texts.items() if name.startswith(OF_TOOL))
        return {tool: text.strip() for tool, text in found}

    def write(self, folder: Path) -> None:
        """Writes `<folder>/candidate.json` and the texts below `<folder>/texts/`."""
        for path, text in self.texts.items():
            make_folder((folder / _TEXTS / path).parent)
            write_atomically(folder / _TEXTS / path, text.encode())
        about = {"id": self.id, "parent": self.parent, "files": sorted(self.texts)}
        write_atomically(folder / _ABOUT, json.dumps(about, indent=2).encode() + b"\n")


def candidate_of(texts: Mapping[str, str], parent: str | None = None) -> Candidate:
    """The candidate of these texts."""
    return Candidate(id=f"c-{digest_of(dict(texts))[:12]}", parent=parent, texts=dict(texts))


def read_candidate(folder: Path) -> Candidate:
    """A candidate as `Candidate.write` left it. Raises ResultsError for a folder that holds none."""
    try:
        check_entries(folder)
        about = json.loads(read_plain_file(folder / _ABOUT))
        root = folder / _TEXTS
        texts = {
            path.relative_to(root).as_posix(): read_plain_file(path).decode("utf-8")
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }
        found = candidate_of(texts, about["parent"])
        id = about["id"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{folder} holds no candidate: {error}") from None
    if found.id != id:
        raise ResultsError(f"{folder}: its texts are those of {found.id}, and candidate.json says {id!r}")
    return found


WINDOW_TOKENS: Final = 8_000
"""How long one text may become."""


class Component(Frozen):
    """A part of the agent whose texts may change."""

    name: str
    """The name of the sub-agent in its spans (`gen_ai.agent.name`), if it is one."""
    role: str
    """What it is for, in words."""
    files: tuple[str, ...] = ()
    """Paths in the folder of the agent's files."""
    tools: tuple[str, ...] = ()
    """Tools whose descriptions may change."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of its texts, as candidates have them."""
        return (*self.files, *(f"{OF_TOOL}{tool}" for tool in self.tools))


def components_of(suite: Suite, only: str | None = None) -> tuple[Component, ...]:
    """The components that the suite declares, or the one called `only`.

    Raises UsageError if there is none, InvalidDocument if no file of the agent under optimisation is meant.
    """
    declared = declared_by(suite)
    if only is not None and only not in declared.components:
        raise UsageError(
            f"the suite {suite.name!r} declares no component {only!r}",
            remedy=alternatives(only, list(declared.components)),
        )
    found = tuple(
        Component(name=name, role=one.role, files=one.files, tools=one.tools)
        for name, one in declared.components.items()
    )
    _check(suite, found)
    return found if only is None else tuple(one for one in found if one.name == only)


def declared_by(suite: Suite) -> OptimiseSpec:
    """The suite's section `optimise`; raises UsageError if it has none."""
    if suite.optimise is None:
        raise UsageError(
            f"the suite {suite.name!r} does not say what an optimisation may change",
            remedy="name components with their role and files under `optimise:` in its suite.yaml",
        )
    return suite.optimise


def agent_of(suite: Suite) -> tuple[str, AgentVersion]:
    """The name and declaration of the agent under optimisation."""
    return suite.default_agent, suite.agents[suite.default_agent]


def texts_of(suite: Suite, components: tuple[Component, ...]) -> Mapping[str, str]:
    """The texts in use, as a candidate has them: name -> content. Raises InvalidDocument."""
    found: dict[str, str] = {}
    for name in (name for component in components for name in component.texts):
        path = path_of(suite, name)
        try:
            text = read_plain_file(path).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidDocument(path, f"cannot be read as text: {error}") from None
        if tokens_of(text) > WINDOW_TOKENS:
            raise InvalidDocument(
                path,
                f"is about {tokens_of(text)} tokens long; at most {WINDOW_TOKENS} are allowed",
                remedy="shorten it, or split it into files of their own",
            )
        found[name] = text
    return found


def path_of(suite: Suite, name: str) -> Path:
    """The file of a text that a candidate names so."""
    if name.startswith(OF_TOOL):
        return suite.description_file(name.removeprefix(OF_TOOL))
    return agent_folder(suite) / name


def refuse_versions(suite: Suite, components: tuple[Component, ...]) -> None:
    """Raises UsageError for a file of a component in whose place a version of `prompts/` is used: a patch of the file
    would change nothing.
    """
    name, agent = agent_of(suite)
    for file in (file for component in components for file in component.texts):
        prompt = agent.prompt_versions.get(file)
        if prompt is not None:
            raise UsageError(
                f"suite {suite.name!r}: {file!r} of agent {name!r} is taken from prompts/{prompt}/",
                remedy="list it under `prompts` without a name meanwhile; `harness optimise promote` writes the"
                " accepted text as a version with the label `candidate`",
            )


def agent_folder(suite: Suite) -> Path:
    """The folder of the agent's files."""
    name, agent = agent_of(suite)
    if agent.files is None:
        _refuse(suite, "agent", f"the agent {name!r} has no `files`, so that no text of it can be replaced")
    return suite.folder / agent.files


def _check(suite: Suite, components: tuple[Component, ...]) -> None:
    owners: dict[str, str] = {}
    for one in components:
        _check_files(suite, one)
        _check_tools(suite, one)
        for name in one.texts:
            if owners.setdefault(name, one.name) != one.name:
                _refuse(suite, f"components.{one.name}", f"{name!r} belongs to {owners[name]!r} already")


def _check_files(suite: Suite, component: Component) -> None:
    name, agent = agent_of(suite)
    folder, field = agent_folder(suite), f"components.{component.name}.files"
    for file in component.files:
        if not (folder / file).is_file():
            _refuse(suite, field, f"there is no file {file!r} in {folder}")
        if file not in agent.prompts:
            _refuse(
                suite,
                field,
                f"the agent {name!r} does not read {file!r}: it is none of its `prompts`",
                f"prompts of {name!r}: {', '.join(agent.prompts) or 'none'}",
            )


def _check_tools(suite: Suite, component: Component) -> None:
    for tool in component.tools:
        file = suite.description_file(tool)
        if not file.is_file():
            _refuse(
                suite,
                f"components.{component.name}.tools",
                f"{tool!r} has no description in a file, which could be replaced",
                f"write {file}",
            )


def _refuse(suite: Suite, field: str, problem: str, remedy: str | None = None) -> NoReturn:
    raise InvalidDocument(suite.folder / "suite.yaml", problem, field=f"optimise.{field}", remedy=remedy)


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

        Raises UsageError for a text that is not a file of the agent, or if another of its files has changed since
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
