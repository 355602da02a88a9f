"""A command becomes a case: run once against real services, replayed once offline, then put into the project.

folder -> suite and environment, hidden -> one recorded trial -> one replayed trial -> starting checks -> project
"""

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml

from harness.cassettes.cassette import cassette_path, load_cassette
from harness.disk import flush_folder, flush_tree, make_folder
from harness.errors import ExitCode, HarnessError, SandboxError, UsageError
from harness.processes import partial_name
from harness.runs.cases.from_trace import add_case, refuse_taken_case
from harness.runs.commands.refusals import (
    asked_model,
    recorded_calls,
    refuse_recorded_secret,
    refuse_typed_texts,
    refuse_unusable,
    refuse_writes,
    refused_hosts,
)
from harness.runs.commands.suite_files import (
    CASES,
    NOWHERE,
    STATE,
    StartingChecks,
    case_document,
    declared_hosts,
    declared_model,
    declared_tools,
    holding,
    named_variables,
    starting_checks,
    suite_document,
    write_cases,
    write_environment,
    write_suite,
)
from harness.runs.commands.working_folder import (
    CommandRequest,
    FolderChoice,
    SecretTexts,
    agent_command,
    copy_folder,
    named_program,
    program_of,
    shown,
)
from harness.runs.determinism import divergences
from harness.runs.execution.run import Watch, run_plan
from harness.runs.listings import refresh_tools
from harness.runs.plan.plan import RunPlan
from harness.runs.store.folder import StoredTrial
from harness.runs.store.manifest import PlannedTrial
from harness.runs.trial.agents import file_digests
from harness.sandbox.images.store import ImageStore
from harness.sandbox.providers import isolates
from harness.sandbox.snapshots import SnapshotStore
from harness.suite.cases import Case
from harness.suite.loading import load_suite
from harness.suite.suites import Suite
from harness.traces.outcomes import MEASURED
from harness.traces.trial import EndState
from harness.values import canonical_json

_WORLD = ("images", "snapshots")


@dataclass(frozen=True, kw_only=True)
class Staging:
    """A suite, and a project with its environment, both hidden and removed in the end."""

    project: Path
    suite: Path
    """Two folders below the project, as the suite will be: a path from it to a file of the project holds in both."""
    world: Path
    """Stands for the project: images, snapshots, cassettes and runs."""


@contextmanager
def staging(project: Path) -> Iterator[Staging]:
    """Removed at the end, whatever happened; what a killed process leaves, `harness doctor` removes."""
    above = project / ".harness"
    make_folder(above)
    stage = Staging(project=project, suite=above / partial_name("suite"), world=above / partial_name("world"))
    try:
        stage.suite.mkdir()
        stage.world.mkdir()
        for name in _WORLD:
            if (project / name).is_dir():
                shutil.copytree(project / name, stage.world / name, symlinks=True, copy_function=_linked)
        yield stage
    finally:
        shutil.rmtree(stage.suite, ignore_errors=True)
        shutil.rmtree(stage.world, ignore_errors=True)


def places_of(name: str) -> tuple[str, ...]:
    """Where a new suite's parts are put, in this order; a suite that is there is complete."""
    return f"images/{name}", f"snapshots/{name}", f"cassettes/{name}", f"suites/{name}"


def refuse_taken(project: Path, name: str) -> None:
    """Raises UsageError if a part of a new suite would replace something."""
    for place in places_of(name):
        if os.path.lexists(project / place):
            raise UsageError(
                f"{project / place} exists, but there is no suite {name!r}",
                remedy="record under another name, or remove it",
            )


def adopt(stage: Staging, name: str) -> None:
    """Moves a new suite's parts into the project: all of them, or none."""
    refuse_taken(stage.project, name)
    moved: list[tuple[Path, Path]] = []
    try:
        for place in places_of(name):
            source = stage.suite if place.startswith("suites/") else stage.world / place
            if not source.exists():
                continue
            flush_tree(source)
            target = stage.project / place
            make_folder(target.parent)
            source.chmod(0o755)
            source.rename(target)
            moved.append((source, target))
            flush_folder(target.parent)
    except BaseException:
        for source, target in reversed(moved):
            target.rename(source)
        raise


def _linked(source: str, target: str) -> None:
    """A second name for the same file, which nothing writes to; a copy if the file system has none."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


_SHOWN = 5
_LONG = 300
_OWN_FOLDER = "/harness-"


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """The replayed trial beside the recorded one."""

    trial: StoredTrial
    complete: bool
    """Whether every call was answered by a recording."""
    differences: tuple[str, ...]
    """What differs, in words; empty if the replay is equal."""
    misses: tuple[str, ...]
    """Calls that met no recording."""
    names_own_folder: bool = False
    """Whether a call without a recording holds the path of a folder that exists for one trial only."""

    @property
    def equal(self) -> bool:
        return self.complete and not self.differences


def compared(recorded: StoredTrial, replayed: StoredTrial) -> Replayed:
    """The replay compared with the recording: outcome, steps, files, output."""
    before, after = recorded.trial, replayed.trial
    misses = [canonical_json(miss) for miss in after.misses]
    complete = not after.misses and after.outcome in MEASURED
    found: list[str] = []
    if before.outcome != after.outcome:
        found.append(f"it ended as {after.outcome}: {after.reason}" if after.reason else f"it ended as {after.outcome}")
    if complete:
        second = after.model_copy(update={"attempt": before.attempt + 1})
        for one in divergences([before, second]):
            where = "what it printed" if one.step is None else f"step {one.step + 1}"
            found.append(f"{where}: recorded {one.before}, replayed {one.after}")
        found += _changed_files(before.end_state, after.end_state)
    return Replayed(
        trial=replayed,
        complete=complete,
        differences=tuple(found),
        misses=tuple(miss[:_LONG] for miss in misses[:_SHOWN]),
        names_own_folder=any(_OWN_FOLDER in miss for miss in misses),
    )


def _changed_files(before: EndState | None, after: EndState | None) -> list[str]:
    old = {} if before is None else {change.path: change for change in before.changes}
    new = {} if after is None else {change.path: change for change in after.changes}
    paths = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
    if not paths:
        return []
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return [f"files: {', '.join(paths[:_SHOWN])}{more}"]


_OF_A_RUN = "--live none"
_BY_HAND = "start it by hand with the command in the suite's `tools:`"
_OWN_REMEDY = "start it, or correct its address in the variable, or the command of --mcp"


@contextmanager
def in_terms_of(stage: Staging, suite: str) -> Iterator[None]:
    """Replaces hidden paths by those of the project, and the remedy of a run that could replay."""
    shown = {str(stage.suite): str(stage.project / "suites" / suite), str(stage.world): str(stage.project)}
    try:
        yield
    except HarnessError as error:
        message, remedy = _with_final_paths(error.message, shown), _with_final_paths(error.remedy or "", shown)
        if _OF_A_RUN in remedy:
            remedy = _OWN_REMEDY
        remedy = remedy.replace(_BY_HAND, "start it by hand with the command of --mcp")
        if (message, remedy) == (error.message, error.remedy or ""):
            raise
        kind = UsageError if error.exit_code == ExitCode.USAGE else SandboxError
        raise kind(message, remedy=remedy or None) from error


def _with_final_paths(text: str, shown: dict[str, str]) -> str:
    for hidden, place in shown.items():
        text = text.replace(hidden, place)
    return text


Say = Callable[[str], None]
_WORDS = 4
_HOSTS: Final = 40


@dataclass(frozen=True, kw_only=True)
class RecordedCommand:
    """What was written, and what is known of it."""

    suite: str
    case_id: str
    is_new_suite: bool
    places: tuple[Path, ...]
    recorded: StoredTrial
    replayed: Replayed
    checks: tuple[str, ...]
    notes: tuple[str, ...]


def record_command(project: Path, request: CommandRequest, say: Say) -> RecordedCommand:
    """Writes suite, environment, snapshot and cassette, or a further case of a suite that exists; or nothing at all.

    Raises UsageError for what cannot be recorded, each with its remedy.
    """
    refuse_typed_texts(request)
    command, task = agent_command(request.typed)
    name = request.case_id or _free_case_id(project, request, task)
    command = _from_agent_files(request, project, named_program(request, command))
    known = _existing(project, request, command, name)
    with staging(project) as stage, in_terms_of(stage, request.suite):
        if known is None:
            refuse_taken(project, request.suite)
            suite, recorded, notes = _record_new(stage, request, command, name, task, say)
        else:
            notes = _write_further(stage, request, known, name, task)
            suite, recorded = _recorded(stage, request, say)
        refuse_unusable(request, command, recorded)
        say("replaying it offline")
        notes += [f"it called {host}, which the gateway refused" for host in refused_hosts(recorded)]
        if known is None and suite.model is None:
            notes.append("no request to a model was seen: the suite declares none")
        replayed = compared(recorded, _replayed_trial(stage, request, suite, "replay", say))
        checks = _checks(stage, request, suite, recorded, replayed)
        case = suite.cases[0].model_dump(mode="json", by_alias=True, exclude_defaults=True)
        case |= {"checks": checks.checks} if checks.checks else {}
        if known is None:
            write_cases(stage.suite / CASES, case)
            load_suite(stage.world, str(stage.suite))
            adopt(stage, request.suite)
        else:
            notes += _add(stage, known, case)
    added = (f"suites/{suite.name}", str(cassette_path(Path("cassettes"), suite.name, name)))
    places = [project / place for place in (places_of(suite.name) if known is None else added)]
    return RecordedCommand(
        suite=request.suite,
        case_id=name,
        is_new_suite=known is None,
        places=tuple(place for place in places if place.exists()),
        recorded=recorded,
        replayed=replayed,
        checks=tuple(check["name"] for check in checks.checks),
        notes=(*notes, *checks.notes),
    )


def proposed_suite(typed: Sequence[str]) -> str:
    """A name for the suite of a command, after its program."""
    return "-".join(_words(program_of(agent_command(typed)[0]))) or "command"


def _from_agent_files(request: CommandRequest, project: Path, command: tuple[str, ...]) -> tuple[str, ...]:
    """The command with the files of its folder as those of the agent: a run reads them as they are then."""
    here = request.folder.folder
    if not here.is_relative_to(project) or command[0] == "sh":
        return command
    return tuple(
        f"{{agent}}/{word}" if not Path(word).is_absolute() and (here / word).is_file() and ".." not in word else word
        for word in command
    )


def _free_case_id(project: Path, request: CommandRequest, task: str) -> str:
    """The first words of the task, with a number if another task begins with the same; a task keeps its case's id."""
    first = _case_name(task)
    suite = project / "suites" / request.suite
    tasks = {case.id: case.task for case in load_suite(project, request.suite).cases} if suite.is_dir() else {}
    ids = (first, *(f"{first}-{number}" for number in range(2, len(tasks) + 2)))
    return next(one for one in ids if tasks.get(one, task) == task)


def _case_name(task: str) -> str:
    return "-".join(_words(task)[:_WORDS])[:60] or "case-1"


def _words(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower())


def _existing(project: Path, request: CommandRequest, command: Sequence[str], name: str) -> Suite | None:
    """The suite that the case is added to; None if it is a new one."""
    if not (project / "suites" / request.suite / "suite.yaml").is_file():
        return None
    suite = load_suite(project, request.suite)
    agent = suite.agents[suite.default_agent]
    if tuple(agent.command) != tuple(command):
        raise UsageError(
            f"suite {request.suite!r} has another command: {shown(agent.command)}",
            remedy="cases of a suite share one command, in which only the text of the task differs: record into another"
            " suite: harness record NAME -- PROGRAM ...",
        )
    unknown = sorted(request.mcp.keys() - suite.servers.keys())
    if unknown:
        raise UsageError(
            f"suite {request.suite!r} exists, and has no server {unknown[0]!r}",
            remedy="declare it in suite.yaml, or record into another suite",
        )
    refuse_taken_case(project, suite, name, suite.folder / CASES)
    return suite


def _record_new(
    stage: Staging, request: CommandRequest, command: Sequence[str], name: str, task: str, say: Say
) -> tuple[Suite, StoredTrial, list[str]]:
    """Runs the command until it calls no host that is not declared yet; the suite then declares what it asked."""
    environment = stage.world / "images" / request.suite
    files = environment / "states" / STATE / "work"
    notes = _copy_folder(request.folder, files, stage.project, request)
    write_environment(environment, request.image, has_files=any(files.rglob("*")))
    texts = " ".join(path.read_bytes().decode("utf-8", "replace") for path in files.rglob("*") if path.is_file())
    own = named_variables(request.environment, texts)
    places = own.places
    model, tools = declared_model(request.environment), declared_tools(request, stage.project)
    called = [f"{host}:80" for host in places]
    is_own = any("{agent}" in word for word in command)
    program = Path("../..", request.folder.folder.relative_to(stage.project)).as_posix() if is_own else None

    def write(hosts: Iterable[str], model: dict[str, Any] | None) -> None:
        declared = declared_hosts(hosts, places, allow_writes=request.allow_writes)
        parts = {"secrets": own.secrets, "model": model, "tools": tools, "hosts": declared}
        document = suite_document(request.suite, command, own.env, parts, program)
        write_suite(stage.suite, document, _plain_case(request, name, task))

    write([*called, NOWHERE], model)
    if tools:
        refresh_tools(stage.world, str(stage.suite), write=True)
    SnapshotStore(stage.world, ImageStore(stage.world) if isolates(request.sandbox) else None).build(
        request.suite, STATE
    )
    while True:
        write([*called, NOWHERE], model)
        _, recorded = _recorded(stage, request, say)
        more = [host for host in refused_hosts(recorded) if host not in called and not host[0].isdigit()]
        if not more or len(called) > _HOSTS:
            break
        called += more
        say(f"it calls {', '.join(more)}")
        for folder in ("cassettes", "runs"):
            shutil.rmtree(stage.world / folder, ignore_errors=True)
    calls = Counter((call.name, call.effect) for call in recorded_calls(recorded))
    used = [host for host in called if any(one == f"http:{host.partition(':')[0]}" for one, _ in calls)]
    for host in dict.fromkeys(one.partition(":")[0] for one in used):
        mine = {effect: count for (one, effect), count in sorted(calls.items()) if one == f"http:{host}"}
        seen = ", ".join(f"{count} {effect}{'s' * (count > 1)}" for effect, count in mine.items())
        place = f" ({places[host]})" if host in places else ""
        notes.append(f"host {host}{place}: {seen}, by method; `reads:` and `writes:` in suite.yaml change that")
    write(used, model if asked_model(recorded.trial) else None)
    return load_suite(stage.world, str(stage.suite)), recorded, [*notes, *own.notes]


def _write_further(stage: Staging, request: CommandRequest, known: Suite, name: str, task: str) -> list[str]:
    """The suite with the new case alone; its own cases are not needed."""
    fresh, state = stage.world / "files", known.snapshot or STATE
    notes = _copy_folder(request.folder, fresh, stage.project, request)
    begins = stage.world / "snapshots" / (known.environment or "") / state / "files" / "work"
    if file_digests(fresh) != file_digests(begins):
        notes.append(f"the folder has changed: the case begins with the snapshot of suite {request.suite!r}")
    shutil.copytree(known.folder, stage.suite, symlinks=True, dirs_exist_ok=True)
    path = stage.suite / "suite.yaml"
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    write_suite(stage.suite, {**document, "name": known.name, "cases": CASES}, _plain_case(request, name, task))
    return notes


def _copy_folder(choice: FolderChoice, target: Path, project: Path, request: CommandRequest) -> list[str]:
    """Copies the folder, without what the project itself keeps in it."""
    left = copy_folder(_without_project(choice, project), target, SecretTexts.of_environment(request.environment))
    return [f"not in the snapshot: {', '.join(left[:8])}{', ...' if len(left) > 8 else ''}"] if left else []


def _without_project(choice: FolderChoice, project: Path) -> FolderChoice:
    inside = choice.folder.resolve()
    root = project.resolve()
    if not root.is_relative_to(inside):
        return choice
    above = root.relative_to(inside).as_posix()
    own = [name for name in ("runs", "suites", "cassettes", "snapshots", "baselines") if (root / name).is_dir()]
    own += [f"images/{path.parent.name}" for path in (root / "images").glob("*/environment.yaml")]
    patterns = [name if above == "." else f"{above}/{name}" for name in own]
    return FolderChoice(folder=choice.folder, exclude=(*choice.exclude, *patterns), include=choice.include)


def _plain_case(request: CommandRequest, name: str, task: str) -> dict[str, Any]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return case_document(name, task, request.seconds, now if isolates(request.sandbox) else None)


def _recorded(stage: Staging, request: CommandRequest, say: Say) -> tuple[Suite, StoredTrial]:
    suite = load_suite(stage.world, str(stage.suite))
    refuse_writes(request, suite)
    say("running the command once, against what is real")
    return suite, _replayed_trial(stage, request, suite, "record", say)


def _replayed_trial(stage: Staging, request: CommandRequest, suite: Suite, mode: str, say: Say) -> StoredTrial:
    case = suite.cases[0]
    live = mode == "record"
    plan = RunPlan(
        project=stage.world,
        suite=suite,
        planned=(PlannedTrial(case_id=case.id, attempt=1),),
        tools="record" if live else "replay",
        model=None if suite.model is None else ("record" if live else "replay"),
        budget=request.budget if live else None,
        sandbox=request.sandbox,
        name=mode,
    )
    folder = run_plan(plan, Watch(say=say))
    stored = folder.stored(case.id, 1)
    if stored is None:
        stop = "the run ended before the command was run"
        raise UsageError(stop, remedy="allow more: --budget")
    return stored


def _checks(
    stage: Staging, request: CommandRequest, suite: Suite, recorded: StoredTrial, replayed: Replayed
) -> StartingChecks:
    """Raises UsageError if the cassette beside them would hold a secret."""
    secrets = SecretTexts.of_environment(request.environment)
    cassette = cassette_path(Path("cassettes"), suite.name, suite.cases[0].id)
    notes = refuse_recorded_secret(stage.world / cassette, cassette, secrets)
    again = replayed.trial if replayed.complete else None
    found = starting_checks(recorded, again, _known_paths(stage, suite), secrets)
    found.notes += notes
    trials = [recorded] if again is None else [recorded, again]
    return holding(found, suite, suite.cases[0], trials)


def _known_paths(stage: Staging, suite: Suite) -> Collection[str]:
    if suite.snapshot is None or suite.environment is None:
        return ()
    snapshot = SnapshotStore(stage.world).verify(suite.environment, suite.snapshot)
    return {entry.path for entry in snapshot.files}


def _add(stage: Staging, known: Suite, case: Mapping[str, Any]) -> list[str]:
    made = Case.model_validate(case)
    path = cassette_path(stage.world / "cassettes", known.name, made.id)
    recordings = load_cassette(path).recordings if path.exists() else ()
    added = add_case(stage.project, known, made, recordings, known.folder / CASES)
    return [] if added.listed else [f"suite.yaml does not read {CASES} yet: {added.line}"]
