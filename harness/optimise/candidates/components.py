"""The texts of an agent that may change, by component, as the `optimise` section of a suite declares them."""

from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from harness.alternatives import alternatives
from harness.case import AgentVersion, OptimiseSpec, Suite
from harness.errors import InvalidDocument, UsageError
from harness.optimise.candidates.candidate import OF_TOOL
from harness.plain_files import read_plain_file
from harness.values import Frozen

_BYTES_PER_TOKEN = 4


class Component(Frozen):
    """A part of the agent whose texts may change."""

    name: str
    """The name of the sub-agent in its spans (`gen_ai.agent.name`), where it is one."""
    role: str
    """What it is for, in words."""
    called_by: tuple[str, ...] = ()
    """The components that call it; empty: the user does."""
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

    Raises UsageError where there is none, InvalidDocument where no file of the agent under optimisation is meant.
    """
    declared = declared_by(suite)
    if only is not None and only not in declared.components:
        raise UsageError(
            f"the suite {suite.name!r} declares no component {only!r}",
            remedy=alternatives(only, list(declared.components)),
        )
    found = tuple(
        Component(name=name, role=one.role, called_by=one.called_by, files=one.files, tools=one.tools)
        for name, one in declared.components.items()
    )
    _check(suite, declared, found)
    return found if only is None else tuple(one for one in found if one.name == only)


def declared_by(suite: Suite) -> OptimiseSpec:
    """The suite's section `optimise`; raises UsageError where it has none."""
    if suite.optimise is None:
        raise UsageError(
            f"the suite {suite.name!r} does not say what an optimisation may change",
            remedy="name components with their role and files under `optimise:` in its suite.yaml",
        )
    return suite.optimise


def agent_of(suite: Suite) -> tuple[str, AgentVersion]:
    """The name and declaration of the agent under optimisation."""
    name = declared_by(suite).agent or suite.default_agent
    if name not in suite.agents:
        _refuse(suite, "agent", f"{name!r} is none of the agents {sorted(suite.agents)}")
    return name, suite.agents[name]


def texts_of(suite: Suite, components: tuple[Component, ...]) -> Mapping[str, str]:
    """The texts in use, as a candidate has them: name -> content. Raises InvalidDocument."""
    limit = declared_by(suite).window_tokens
    found: dict[str, str] = {}
    for name in (name for component in components for name in component.texts):
        path = path_of(suite, name)
        try:
            text = read_plain_file(path).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidDocument(path, f"cannot be read as text: {error}") from None
        if tokens_of(text) > limit:
            raise InvalidDocument(
                path,
                f"is about {tokens_of(text)} tokens long, and `optimise.window_tokens` is {limit}",
                remedy=f"window_tokens: {2 * tokens_of(text)}, where the agent's model takes as much",
            )
        found[name] = text
    return found


def path_of(suite: Suite, name: str) -> Path:
    """The file of a text that a candidate names so."""
    if name.startswith(OF_TOOL):
        return suite.folder / suite.descriptions[name.removeprefix(OF_TOOL)]
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
                remedy="take it out of `prompt_versions` meanwhile; `harness optimise promote` writes the"
                " accepted text as a version with the label `candidate`",
            )


def tokens_of(text: str) -> int:
    """The estimated number of tokens: one for every four bytes."""
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)


def agent_folder(suite: Suite) -> Path:
    """The folder of the agent's files."""
    name, agent = agent_of(suite)
    if agent.files is None:
        _refuse(suite, "agent", f"the agent {name!r} has no `files`, so that no text of it can be replaced")
    return suite.folder / agent.files


def _check(suite: Suite, declared: OptimiseSpec, components: tuple[Component, ...]) -> None:
    owners: dict[str, str] = {}
    for one in components:
        unknown = sorted(set(one.called_by) - declared.components.keys())
        if unknown:
            _refuse(suite, f"components.{one.name}.called_by", f"{', '.join(unknown)}: no component of this suite")
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
        if tool not in suite.descriptions:
            _refuse(
                suite,
                f"components.{component.name}.tools",
                f"{tool!r} has no file under `descriptions:`, so that its description cannot be replaced",
                f"descriptions: {{{tool}: descriptions/{tool}.md}}",
            )


def _refuse(suite: Suite, field: str, problem: str, remedy: str | None = None) -> NoReturn:
    raise InvalidDocument(suite.folder / "suite.yaml", problem, field=f"optimise.{field}", remedy=remedy)
