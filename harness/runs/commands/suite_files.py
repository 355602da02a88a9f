"""The suite that is made of a command: its files, its declarations, and its first checks."""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import yaml

from harness.disk import write_atomically
from harness.errors import SandboxError, UsageError
from harness.processes import subprocess_environment
from harness.runs.commands.working_folder import CommandRequest, SecretTexts, names_a_secret
from harness.runs.store.folder import StoredTrial
from harness.sandbox.endstate import read_changed_file
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import score_trial
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.traces.trial import FileChange
from harness.values import JsonObject

AGENT: Final = "command"
STATE: Final = "start"
CASES: Final = "cases.yaml"
_SUITE_HEADING = "# Made by `harness record`; it is yours to edit.\n"
_CASES_HEADING = "# The checks are starting checks: what was observed once. Read them before you rely on them.\n"
_LIMITS: Final = {"steps": 500, "memory_mb": 2048, "processes": 512, "disk_mb": 256, "output_kb": 1024}
"""A coding agent is a larger program than most agents of a suite."""


def suite_document(
    name: str, command: Sequence[str], env: Mapping[str, str], declared: Mapping[str, Any], files: str | None
) -> dict[str, Any]:
    """`suite.yaml`; `declared` holds `model`, `tools` and `hosts` as far as there are any."""
    agent: dict[str, Any] = {"command": list(command), **({"files": files} if files else {}), "answer": "stdout"}
    if env:
        agent["env"] = dict(env)
    return {
        "name": name,
        "description": "A command, recorded once and replayed.",
        "environment": name,
        "snapshot": STATE,
        "agents": {AGENT: agent},
        **{field: value for field, value in declared.items() if value},
        "cases": CASES,
    }


def case_document(case_id: str, task: str, seconds: float, clock: str | None) -> dict[str, Any]:
    """The case; `clock` None: the real time."""
    return {
        "id": case_id,
        "description": "Recorded from a command; its checks are starting checks.",
        "task": task,
        **({} if clock is None else {"clock": clock}),
        "limits": {"seconds": seconds, **_LIMITS},
    }


def write_suite(folder: Path, document: Mapping[str, Any], case: Mapping[str, Any]) -> None:
    """Both files of a suite with one case."""
    write_atomically(folder / "suite.yaml", _yaml_bytes(_SUITE_HEADING, dict(document)))
    write_cases(folder / CASES, case)


def write_cases(path: Path, case: Mapping[str, Any]) -> None:
    """A file with one case."""
    write_atomically(path, _yaml_bytes(_CASES_HEADING, [dict(case)]))


def write_environment(folder: Path, image: str | None, *, has_files: bool) -> None:
    """`environment.yaml` in the environment's folder, with the one state that trials begin with."""
    state = {"files": f"states/{STATE}"} if has_files else {}
    document = {**({} if image is None else {"image": image}), "states": {STATE: state}}
    write_atomically(folder / "environment.yaml", _yaml_bytes(_SUITE_HEADING, document))


def _yaml_bytes(heading: str, document: object) -> bytes:
    return (heading + yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=118)).encode("utf-8")


_MODELS: Final = {
    "openai": (("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("OPENAI_API_KEY",)),
    "anthropic": (("ANTHROPIC_BASE_URL",), ("ANTHROPIC_API_KEY",)),
    "gemini": (("GOOGLE_GEMINI_BASE_URL",), ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
}
"""Provider -> the variables of its SDKs for the address, and for the key."""
_PORTS: Final = {"http": 80, "https": 443}
NOWHERE: Final = "nowhere.invalid"
"""Declared while the command is recorded, so that the gateway stands in the way of every host that it calls."""


def declared_model(environment: Mapping[str, str]) -> dict[str, Any] | None:
    """The suite's `model:`, as the SDKs would find it; None if no variable says where a model is."""
    providers: dict[str, dict[str, str]] = {}
    for name, (addresses, keys) in _MODELS.items():
        address = next((one for one in addresses if environment.get(one)), None)
        key = next((one for one in keys if environment.get(one)), None)
        if address is not None:
            providers[name] = {"base_url": _address(address, environment[address]).geturl()}
        if key is not None and (address is not None or key != keys[0]):
            providers.setdefault(name, {})["api_key"] = key
        elif key is not None:
            providers[name] = {}
    return {"providers": providers, "prices": "packaged"} if providers else None


def declared_tools(request: CommandRequest, project: Path) -> list[dict[str, Any]]:
    """A group of tools for each MCP server."""
    return [
        {
            "server": name,
            "mcp": {"command": _server_command(name, command, request, project)},
            **({"disposable": True} if request.allow_writes else {}),
        }
        for name, command in request.mcp.items()
    ]


def declared_hosts(called: Iterable[str], addresses: Mapping[str, str], *, allow_writes: bool) -> list[dict[str, Any]]:
    """The hosts that the command calls by itself; `addresses`: where a name leads that only stands for one."""
    found: dict[str, dict[str, Any]] = {}
    for one in called:
        host, _, typed = one.partition(":")
        port = int(typed or 443)
        known = found.setdefault(host, {"host": host, "ports": []})
        known["ports"].append(port)
        if host in addresses:
            known["base_url"] = addresses[host]
        elif port not in _PORTS.values():
            known["base_url"] = f"http://{host}:{port}"
    return [
        {
            **{name: value for name, value in one.items() if value != [80, 443]},
            **({"disposable": True} if allow_writes and one["host"] != NOWHERE else {}),
        }
        for one in found.values()
    ]


@dataclass(kw_only=True)
class NamedVariables:
    """The variables of the caller whose names are in the program's text, as the suite declares them."""

    env: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    """Where a name leads that stands for an address of this machine: a sandbox has no other way to it."""
    secrets: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        plain = sorted(self.env.keys() - {*self.secrets})
        kept = [f"the gateway sends the value of {name}; the program has a placeholder" for name in self.secrets]
        return [*kept, *([f"suite.yaml has the values of {', '.join(plain)}"] if plain else [])]


def named_variables(environment: Mapping[str, str], text: str) -> NamedVariables:
    """A variable that is secret by its name, its shape or a password in its address is not stored; a path of this
    machine, and what the sandbox sets, is left out.
    """
    found, secrets = NamedVariables(), SecretTexts(values={})
    models = {one for addresses, keys in _MODELS.values() for one in (*addresses, *keys)}
    for name, value in sorted(environment.items()):
        if name in models or "proxy" in name.lower() or not re.search(rf"(?<![A-Za-z0-9_]){name}\b", text):
            continue
        address = _parsed(value)
        host = "" if address is None else address.hostname or ""
        if names_a_secret(name) or secrets.is_in(value) or re.search("://[^/]*@", value):
            found.env[name] = f"${{{name}}}"
            found.secrets.append(name)
        elif address is not None and (host == "localhost" or host.replace(".", "").isdigit() or ":" in host):
            alias = f"{name.lower().replace('_', '-').strip('-')}.test"
            found.places[alias] = f"{address.scheme}://{address.netloc}"
            found.env[name] = f"http://{alias}{address.path}"
        elif address is not None or (_is_read(name, text) and not value.startswith("/")):
            found.env[name] = value
    return found


def _is_read(name: str, text: str) -> bool:
    """Whether the text names a variable as programs do that read one: `"NAME"`, `process.env.NAME`, `${NAME}`."""
    return name not in subprocess_environment() and bool(re.search(rf"""["'.${{]{name}\b""", text))


def _server_command(name: str, command: str, request: CommandRequest, project: Path) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the command of MCP server {name!r} cannot be read: {error}") from None
    if not words:
        raise UsageError(f"MCP server {name!r} has no command", remedy="--mcp NAME='PROGRAM ARGUMENT ...'")
    return [_as_project_path(word, request.folder.folder, project) for word in words]


def _as_project_path(word: str, started_in: Path, project: Path) -> str:
    """A word that names a file, in a form that holds wherever the server is started."""
    path = started_in / word
    if Path(word).is_absolute() or not path.exists() or ("/" not in word and not path.is_file()):
        return word
    real = path.resolve()
    if real.is_relative_to(project.resolve()):
        return "{suite}/../../" + real.relative_to(project.resolve()).as_posix()
    return str(real)


def _address(variable: str, value: str) -> SplitResult:
    address = _parsed(value)
    if address is None:
        raise UsageError(f"{variable}: expected an http(s) URL, found {value[:200]!r}")
    if address.username or address.password:
        raise UsageError(f"{variable}: an address with a password would be stored", remedy="take it out of the URL")
    return address


def _parsed(typed: str) -> SplitResult | None:
    """None: it is not an address of a server."""
    try:
        address = urlsplit(typed)
        valid = address.scheme in _PORTS and bool(address.hostname) and address.port != 0
    except ValueError:
        return None
    return address if valid else None


_WORK: Final = PurePosixPath("/work")
_PATHS_MAX: Final = 60
_CONTENT_MAX: Final = 2000
_ANSWER_MAX: Final = 400


@dataclass(kw_only=True)
class StartingChecks:
    """The checks as a case's file has them, and what was left out of them."""

    checks: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def starting_checks(
    recorded: StoredTrial, replayed: StoredTrial | None, known: Collection[str], secrets: SecretTexts
) -> StartingChecks:
    """What both trials agree on; `replayed` None: there was no complete replay. `known`: paths of the snapshot."""
    found = StartingChecks()
    _add_files(found, recorded, replayed, known)
    _add_answer(found, recorded, replayed)
    return _without_secrets(found, secrets)


def holding(found: StartingChecks, suite: Suite, case: Case, trials: Iterable[StoredTrial]) -> StartingChecks:
    """Without the checks that one of the trials does not pass; nothing is run."""
    stored = list(trials)
    kept = StartingChecks(notes=list(found.notes))
    for check in found.checks:
        alone = Case.model_validate({**case.model_dump(mode="json", by_alias=True), "checks": [check]})
        bare = suite.model_copy(update={"checks": (), "cases": (alone,)})
        verdicts = [verdict for one in stored for verdict in _verdicts(bare, alone, one)]
        if all(passed is True for passed, _ in verdicts):
            kept.checks.append(check)
        else:
            why = next(reason for passed, reason in verdicts if passed is not True)
            kept.notes.append(f"the check {check['name']!r} is left out: {why}")
    return kept


def _verdicts(suite: Suite, case: Case, stored: StoredTrial) -> list[tuple[bool | None, str]]:
    evidence = Evidence(case=case, trial=stored.trial, tools=suite.tools, end_state_archive=stored.end_state)
    return [(verdict.passed, verdict.reason) for verdict in score_trial(evidence, suite).verdicts]


def _add_files(
    found: StartingChecks, recorded: StoredTrial, replayed: StoredTrial | None, known: Collection[str]
) -> None:
    changes = _changes(recorded)
    if changes is None:
        found.notes.append("what the command changed is not known completely: there is no check of its files")
        return
    again = changes if replayed is None else _changes(replayed) or {}
    varying = [path for path in {*changes, *again} if changes.get(path) != again.get(path)]
    own = {path for path in {*changes, *again} if _is_own(path, known)}
    expected = [change for path, change in changes.items() if path not in varying and path not in own]
    allowed = [*_own_patterns(own), *(path for path in varying if path not in own)]
    if varying:
        found.notes.append(f"{len(varying)} files differ in the replay: the check of files allows any change of them")
    if any(change.kind == "other" or not _is_text(change.path) for change in expected):
        found.notes.append("some changed files cannot be named in a check: there is no check of files")
        return
    parameters: dict[str, Any] = {**_patterns(expected), "allow": sorted(set(allowed))}
    links = {change.path: change.link for change in expected if change.kind == "link" and change.change != "deleted"}
    content = {path: {"equals": text.strip()} for path, text in _contents(recorded, expected)}
    given = {name: value for name, value in {**parameters, "links": links, "content": content}.items() if value}
    found.checks.append({"name": "files", "verifier": "files", **({"with": given} if given else {})})


def _changes(stored: StoredTrial) -> dict[str, FileChange] | None:
    end = stored.trial.end_state
    return {change.path: change for change in end.changes} if end is not None and end.complete else None


def _is_own(path: str, known: Collection[str]) -> bool:
    """Whether it is a program's settings or cache: hidden in the home folder, which the snapshot does not have."""
    parts = PurePosixPath(path)
    if "__pycache__" in parts.parts:
        return True
    inside = parts.relative_to(_WORK).parts if parts.is_relative_to(_WORK) else ()
    return bool(inside) and inside[0].startswith(".") and str(_WORK / inside[0]) not in known


def _own_patterns(paths: Iterable[str]) -> list[str]:
    """One for each folder of a program's own; a pattern with `**` reaches all below it."""
    found = set[str]()
    for path in paths:
        parts = PurePosixPath(path).parts
        at = parts.index("__pycache__") if "__pycache__" in parts else len(_WORK.parts)
        top = str(PurePosixPath(*parts[: at + 1]))
        found |= {top, f"{top}/**"}
    return sorted(found)


def _patterns(expected: Sequence[FileChange]) -> dict[str, list[str]]:
    """By kind of change; with very many of them, the folders that hold them."""
    above = {str(parent) for change in expected for parent in PurePosixPath(change.path).parents}
    found: dict[str, list[str]] = {}
    for change in expected:
        if change.kind == "link" and change.change != "deleted":
            continue
        is_folder = change.kind == "directory" and change.change != "deleted"
        if is_folder and change.path in above:
            continue
        found.setdefault(change.change, []).append(f"{change.path}/" if is_folder else change.path)
    return {kind: sorted(paths) if len(paths) <= _PATHS_MAX else _folders(paths) for kind, paths in found.items()}


def _folders(paths: Iterable[str]) -> list[str]:
    tops = {PurePosixPath(path).parts[:3] for path in paths}
    return sorted(f"{PurePosixPath(*top)}" if str(PurePosixPath(*top)) in paths else f"{PurePosixPath(*top)}/**"
                  for top in tops)  # fmt: skip


def _contents(stored: StoredTrial, expected: Sequence[FileChange]) -> list[tuple[str, str]]:
    """The text of small files that were added or modified."""
    found: list[tuple[str, str]] = []
    for change in expected[:_PATHS_MAX]:
        if change.kind != "file" or change.change == "deleted" or (change.size or 0) > _CONTENT_MAX:
            continue
        try:
            content = None if stored.end_state is None else read_changed_file(stored.end_state, change.path)
            text = None if content is None else content.decode("utf-8")
        except (SandboxError, UnicodeDecodeError):
            continue
        if text is not None and all(_is_plain(letter) for letter in text):
            found.append((change.path, text))
    return found


def _without_secrets(found: StartingChecks, secrets: SecretTexts) -> StartingChecks:
    kept = StartingChecks(notes=list(found.notes))
    for check in found.checks:
        given = check.get("with", {})
        content = given.get("content", {})
        plain = {path: rule for path, rule in content.items() if not secrets.is_in(rule["equals"])}
        if len(plain) < len(content):
            kept.notes.append(
                f"the text of {', '.join(sorted({*content} - {*plain}))} holds a secret: it is not a check"
            )
            given = {name: value for name, value in {**given, "content": plain}.items() if value}
        if any(secrets.is_in(value) for value in given.values() if isinstance(value, str)):
            kept.notes.append(f"the check {check['name']!r} is left out: it would hold a secret")
            continue
        kept.checks.append({**check, "with": given} if given else check)
    return kept


def _add_answer(found: StartingChecks, recorded: StoredTrial, replayed: StoredTrial | None) -> None:
    answer = recorded.trial.trajectory.final_output
    if not isinstance(answer, str) or not answer.strip():
        found.notes.append("the command printed nothing: there is no check of its answer")
        return
    if replayed is not None and replayed.trial.trajectory.final_output != answer:
        found.notes.append("what it prints differs in the replay: there is no check of its answer")
        return
    rule: JsonObject = {"equals": answer.strip()}
    if len(answer) > _ANSWER_MAX:
        last = answer.strip().splitlines()[-1].strip()
        if not 0 < len(last) <= _ANSWER_MAX:
            found.notes.append("what it prints is long: there is no check of its answer")
            return
        rule = {"contains": last}
    found.checks.append({"name": "answer", "verifier": "final_answer", "with": rule})


def _is_plain(letter: str) -> bool:
    return letter.isprintable() or letter in "\n\t"


def _is_text(path: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in path)
