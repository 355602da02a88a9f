"""Agents: whatever is under test becomes a program that a sandbox runs; `oracle` and `nop` check a suite."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

from harness.disk import flush_folder, flush_tree, is_file, make_folder
from harness.errors import UsageError
from harness.gateway.upstream.tool_servers import filled
from harness.processes import partial_name
from harness.suite.agents import AgentVersion, stands_for
from harness.suite.cases import UNREACHED, Case, TaskFolder
from harness.suite.suites import Suite
from harness.text import alternatives
from harness.values import digest_of


@dataclass(frozen=True, kw_only=True)
class AgentProgram:
    """A program to run in a sandbox for one case; `{agent}`, `{work}` and `{task}` in `command` are filled by the
    runner.
    """

    command: tuple[str, ...]
    files: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    """Name of an image of the project to run in; None: the environment's."""
    answer: Literal["reply", "stdout"] = "reply"
    with_solution: bool = False
    """Whether its sandbox contains the solution of the case's task folder."""
    task: str | None = None
    """What takes the place of `{task}`; None: nothing does."""


class Agent(Protocol):
    """An agent under test."""

    @property
    def name(self) -> str:
        """The version's name in the suite, or the name of a built-in."""
        ...

    @property
    def digest(self) -> str:
        """Sha-256 over the agent's command, files with modes, and environment."""
        ...

    @property
    def prompt_digest(self) -> str | None:
        """Sha-256 over its declared prompt files; None if it declares none."""
        ...

    @property
    def code_digest(self) -> str | None:
        """The SHA-256 digest of the agent without its declared prompt files and its name; None if code versions are
        not distinguished.
        """
        ...

    def program(self, case: Case) -> AgentProgram:
        """The program to run for `case`."""
        ...


_DRIVER = Path(__file__).parent.parent / "programs" / "talk.py"
_NO_CODE = {"files", "prompts", "variables"}
_DRIVER_AT = ".harness/talk.py"


class ProgramAgent:
    """A version of the suite's agent.

    Its files are copied once into `staging/<digest>`: an edit during a run changes no trial of that run, and the
    sandbox's user can read the files whatever modes they have in the checkout.
    """

    def __init__(self, suite: Suite, version: str, staging: Path, texts: Mapping[str, str] | None = None) -> None:
        """`texts` maps files of the agent, named as `prompts` names them, to contents that replace theirs.

        Raises UsageError for an unknown file.
        """
        self.name = version
        versions = {one.file: one.text for one in suite.agent_prompts if one.agent == version}
        self._texts = {name: text.encode() for name, text in {**versions, **(texts or {})}.items()}
        self._declared: AgentVersion = suite.agents[version]
        known = {name: stands_for(name) for name in suite.secrets}
        self._env = filled(f"agent {version!r}", "env", self._declared.env, suite.secrets, known)
        self._source = None if self._declared.files is None else suite.folder / self._declared.files
        self._staging = staging
        unknown = sorted(self._texts.keys() - _agent_files(self._source).keys()) if self._texts else ()
        if unknown:
            raise UsageError(
                f"agent {version!r} has no file {unknown[0][:200]!r}",
                remedy=f"name a file inside {self._source or '`files`, which the agent does not declare'}",
            )

    @cached_property
    def digest(self) -> str:
        """Sha-256 over the declaration and every file with its executable bit."""
        unused = {name for name, used in (("chat", self._is_driven), ("variables", self.variables)) if not used}
        declared = self._declared.model_dump(mode="json", exclude=unused) | {"prompts": list(self._declared.prompts)}
        made: dict[str, object] = {"declared": declared, "files": self._digests}
        return digest_of({**made, "driver": _sha256(_DRIVER)} if self._is_driven else made)

    @property
    def variables(self) -> Mapping[str, str]:
        """The values that the agent's variables have in this run."""
        return self._declared.variables

    @property
    def _is_driven(self) -> bool:
        return self._declared.chat is not None

    @cached_property
    def prompt_digest(self) -> str | None:
        """Sha-256 over the declared prompt files; raises UsageError if one is missing."""
        if not self._declared.prompts:
            return None
        assert self._source is not None  # an agent with prompts has files
        inside = self._source.resolve()
        for prompt in self._declared.prompts:
            place = self._source / prompt
            if not is_file(place) or not place.resolve().is_relative_to(inside):
                raise UsageError(
                    f"agent {self.name!r}, field 'prompts': {prompt[:200]!r} is not one of its `files`",
                    remedy=f"name a file inside {self._source}",
                )
        digests = {prompt: self._sha256(prompt) for prompt in sorted(self._declared.prompts)}
        return digest_of(digests)

    @cached_property
    def _digests(self) -> dict[str, list[str]]:
        """Kind and content of every file, by its name inside the folder."""
        own = file_digests(self._source)
        return own | {name: ["file", hashlib.sha256(text).hexdigest()] for name, text in self._texts.items()}

    def _sha256(self, name: str) -> str:
        assert self._source is not None  # an agent with prompts has files
        text = self._texts.get(name)
        return _sha256(self._source / name) if text is None else hashlib.sha256(text).hexdigest()

    @cached_property
    def code_digest(self) -> str | None:
        """Sha-256 over the declaration and every file but the prompts: it identifies changes to neither the prompts nor
        the values of variables.
        """
        declared = self._declared.model_dump(mode="json", exclude=_NO_CODE)
        prompts = set(self._declared.prompts)
        files = {name: digest for name, digest in self._digests.items() if name not in prompts}
        return digest_of({"declared": declared, "files": files})

    @cached_property
    def _files(self) -> Path:
        target = self._staging / self.digest[:24]
        if not target.is_dir():
            with tempfile.TemporaryDirectory() as folder:
                texts = {name: Path(folder) / str(number) for number, name in enumerate(self._texts)}
                for name, path in texts.items():
                    path.write_bytes(self._texts[name])
                _freeze(self._source, target, {**texts, **({_DRIVER_AT: _DRIVER} if self._is_driven else {})})
        return target.resolve()

    def program(self, case: Case) -> AgentProgram:
        """The declared command; only the task differs from case to case."""
        command = tuple(map(self._declared.filled, self._declared.command))
        env = {name: self._declared.filled(value) for name, value in self._env.items()}
        if self._is_driven:
            command = ("python3", f"{{agent}}/{_DRIVER_AT}", *command)
            env = {**env, "HARNESS_TALK": self._declared.model_dump_json(include={"chat"})}
        return AgentProgram(
            command=command,
            files=self._files,
            env=env,
            image=self._declared.image,
            answer=self._declared.answer,
            task=case.task,
        )


_DERIVED = frozenset({"__pycache__", ".git"})
_OF_PROJECT = frozenset({"suites", "images", "snapshots", "cassettes", "baselines", "runs"})


def _agent_files(source: Path | None) -> dict[str, Path]:
    """Every file by its name inside the folder, sorted folder by folder."""
    if source is None:
        return {}
    found: list[Path] = []
    is_project = any((source / name).is_dir() for name in ("suites", ".harness"))
    for folder, folders, names in os.walk(source):
        at = Path(folder)
        folders[:] = sorted(name for name in folders if name not in _DERIVED and not is_file(at / name / "pyvenv.cfg"))
        if is_project and at == source:  # the program is the whole project, without what the harness keeps in it
            folders[:] = [name for name in folders if name not in _OF_PROJECT and not name.startswith(".")]
        found += [at / name for name in sorted(names) if not (is_project and at == source and name.startswith("."))]
    return {path.relative_to(source).as_posix(): path for path in found}


def file_digests(source: Path | None) -> dict[str, list[str]]:
    """Kind and content of every file, by its name inside the folder."""
    digests: dict[str, list[str]] = {}
    for name, path in _agent_files(source).items():
        if path.is_symlink():
            digests[name] = ["link", str(path.readlink())]
        else:
            digests[name] = ["program" if _executable(path) else "file", _sha256(path)]
    return digests


def _freeze(source: Path | None, target: Path, more: Mapping[str, Path]) -> None:
    make_folder(target.parent)
    temporary = target.parent / partial_name("agent")
    try:
        temporary.mkdir()
        temporary.chmod(0o755)
        for name, path in {**_agent_files(source), **more}.items():
            copy = temporary / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy, follow_symlinks=False)
            if not copy.is_symlink():
                copy.chmod(0o755 if _executable(path) else 0o644)
        for folder in temporary.rglob("*"):
            if folder.is_dir() and not folder.is_symlink():
                folder.chmod(0o755)
        flush_tree(temporary)  # the name is the digest of the content, and a folder of that name is not verified again
        temporary.rename(target)
        flush_folder(target.parent)
    except FileExistsError:
        shutil.rmtree(temporary)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)
        if not target.is_dir():  # another process may have copied the same files already
            raise


def _executable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o100)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


_PROGRAM = Path(__file__).parent.parent / "programs"
_SOLVE = """/solution/solve.sh >&2
status=$?
test "$status" = 0 || echo "the solution ended with status $status" >&2
echo Done.
"""
"""The tests, not the exit status, decide whether the solution solves the task."""


class OracleAgent:
    """Makes the reference calls in their order and replies with the expected output; of a task folder, it runs the
    solution.
    """

    name = "oracle"
    prompt_digest = None
    code_digest = None

    @property
    def digest(self) -> str:
        """The digest of its program; the reference that it plays is part of the suite's digest."""
        return digest_of((_PROGRAM / "oracle.py").read_text(encoding="utf-8"))  # the suite's digest covers a solution

    def program(self, case: Case) -> AgentProgram:
        """Raises UsageError if the case has no reference to replay."""
        if case.task_folder is not None:
            return _solution(case, case.task_folder)
        if case.reference is None:
            raise UsageError(
                f"case {case.id!r} has no reference for the oracle to play",
                remedy="give it `reference:` (an empty list if no call is needed)",
            )
        calls = [{"tool": call.tool, "arguments": call.arguments} for call in case.reference]
        answer = case.expected_output
        again = sorted({fault.tool for fault in case.faults if fault.kind in UNREACHED})
        plan = {
            "calls": calls,
            "again": again,
            "answer": answer if isinstance(answer, str | None) else json.dumps(answer),
        }
        return AgentProgram(
            command=("python3", "{agent}/oracle.py"), files=_PROGRAM, env={"HARNESS_ORACLE": json.dumps(plan)}
        )


def _solution(case: Case, task: TaskFolder) -> AgentProgram:
    if not task.has_solution:
        raise UsageError(
            f"case {case.id!r} has no solution for the oracle to run", remedy=f"write {task.folder}/solution/solve.sh"
        )
    env = {"DEBIAN_FRONTEND": "noninteractive", **task.solution_env}
    return AgentProgram(command=("/bin/sh", "-c", _SOLVE), env=env, answer="stdout", with_solution=True)


# The agent that does nothing: a case that it passes requires nothing of an agent.


class NopAgent:
    """Ends at once, with no call and no reply."""

    name = "nop"
    prompt_digest = None
    code_digest = None
    digest = digest_of("nop")

    def program(self, case: Case) -> AgentProgram:
        """The program, which is the same for every case."""
        del case
        return AgentProgram(command=("true",))


BUILT_IN = ("oracle", "nop")


def open_agent(suite: Suite, name: str | None, staging: Path, texts: Mapping[str, str] | None = None) -> Agent:
    """Opens the agent called `name` (None selects the suite's default); `staging` holds the immutable copies of its
    files. `texts` replaces contents of files of the suite's own agent, by their names inside its folder.

    Raises UsageError that lists the existing agents, and for a text of a file that the agent does not have.
    """
    chosen = name or suite.default_agent
    if chosen in suite.agents:
        return ProgramAgent(suite, chosen, staging, texts)
    match chosen:
        case "oracle":
            return OracleAgent()
        case "nop":
            return NopAgent()
        case _:
            known = alternatives(chosen, [*suite.agents, *BUILT_IN])
            raise UsageError(f"suite {suite.name!r} has no agent {chosen!r}", remedy=known)
