"""The command line's contract: help everywhere, examples that parse, and refusals of what would do nothing."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from harness.cli.console import Tally
from harness.cli.main import harness
from harness.errors import HarnessError
from harness.production.storage import StoreLayout
from tests.cli.starting import HARNESS, run_command

NOBODY = "nobody"
LOCAL = ("--sandbox", "local")


def _walk(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            own = command.get_command(context, name)
            assert own is not None
            yield from _walk(own, (*words, name))


COMMANDS = dict(_walk(harness))
VERBS = {words: command for words, command in COMMANDS.items() if not isinstance(command, click.Group)}


def test_every_verb_and_option_has_help() -> None:
    without = [" ".join(words) for words, command in COMMANDS.items() if not (command.help or "").strip()]
    for words, command in COMMANDS.items():
        options = (one for one in command.params if isinstance(one, click.Option))
        without += [f"{' '.join(words)} {one.opts[0]}" for one in options if not (one.help or "").strip()]
    assert [] == without
    assert 40 < len(VERBS)


def test_every_verb_that_lists_or_shows_has_json() -> None:
    acts = ("init", "view", "mcp", "baseline", "annotate", "export", "image build", "snapshot build", "snapshot verify")
    acts += ("case from-data", "tool refresh", "cassette refresh", "drift learn", "issue comment")
    acts += ("online send", "online delete")
    without = {" ".join(words) for words, verb in VERBS.items() if not any("--json" in one.opts for one in verb.params)}
    assert set(acts) == without


def test_the_progress_of_a_pipe_is_a_line_with_failures_and_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with Tally("hello", 4).shown(each_s=0.01) as tally:
        tally.count(failed=True)
        tally.count(failed=False)
        said, deadline = "", time.monotonic() + 10
        while "\n" not in said and time.monotonic() < deadline:
            time.sleep(0.01)
            said += capsys.readouterr().err
    assert re.match(r"hello: 2 of 4 trials, 1 failed, about 0:00:0\d left\n", said)


def _examples() -> Iterator[str]:
    for command in COMMANDS.values():
        for line in (command.help or "").splitlines():
            if line.strip().startswith("harness "):
                yield re.split(r" {2,}", line.strip())[0]


def _make_paths(words: list[str]) -> None:
    """Stand-ins for files and folders that an example names and whose types demand that they exist."""
    for word in words:
        value = word.rpartition("=")[2]
        if re.fullmatch(r"[\w.-]+\.(json|jsonl|csv|yaml|md|zip)", value):
            Path(value).touch()
        elif value.endswith("/") or value in ("my-evals", "path/to/project"):
            Path(value).mkdir(parents=True, exist_ok=True)


def _parse(command: click.Command, words: list[str], parent: click.Context | None = None) -> None:
    context = command.make_context("harness", words, parent=parent)
    if isinstance(command, click.Group):
        name, own, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert own is not None, name
        _parse(own, rest, context)


@pytest.mark.parametrize("line", sorted(set(_examples())))
def test_an_example_of_a_help_text_parses(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for part in re.split(r" && | > ", line):
        words = shlex.split(part)
        if words[0] == "harness":
            _make_paths(words)
            with CliRunner().isolation(input="answer\n" * 4):
                _parse(harness, words[1:])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the suite `hello` and its run `r`."""
    folder = tmp_path_factory.mktemp("contract") / "mine"
    assert 0 == run_command("init", str(folder), folder=folder.parent).returncode
    done = run_command("run", "hello", *LOCAL, "--run-name", "r", "--json", folder=folder)
    assert 0 == done.returncode, done.stderr
    StoreLayout(folder / "online").create()
    return folder


def _refused(project: Path, *words: str) -> str:
    """The message of the refusal; an error that is no HarnessError would be a traceback."""
    with chdir(project):
        done = CliRunner().invoke(harness, words)
    status, said = done.exit_code, done.stderr
    if isinstance(done.exception, HarnessError):
        status, said = int(done.exception.exit_code), str(done.exception)
    assert (2, "") == (status, done.stdout), f"{words}: {done.exception!r}\n{done.output}"
    return said


NAMES = ("run", "runs", "suite", "suites", "source", "words")
"""Arguments that name a run or a suite."""
NEEDED = {
    "case from-data": ("rows.csv", "--template", "rows.csv"),
    "case from-trace": ("c",),
    "cassette refresh": ("--from", NOBODY),
    "export": ("-o", "out"),
    "judge run": ("--rubric", "x", "--model", "m"),
    "judge agreement": ("--rubric", "x"),
    "judge calibrate": ("--rubric", "x", "--model", "m", "--reflector", "m"),
    "annotate": ("--no-open",),
    "online send": ("--url", "http://127.0.0.1:9", "--token", "PATH"),
    "optimise run": ("--mode", "joint", "--rubric", "r", "--budget-usd", "1"),
    "blame": ("c",),
    "fork": ("c", "--at", "1"),
    "merge": ("r",),
}
"""What a verb needs besides the name."""
NAMING = [words for words, command in VERBS.items() if any(one.name in NAMES for one in command.params[:1])]


@pytest.mark.parametrize("words", NAMING, ids=" ".join)
def test_an_unknown_run_or_suite_is_refused(words: tuple[str, ...], project: Path) -> None:
    (project / "rows.csv").write_text("input,target\na,b\n")
    assert NOBODY in _refused(project, *words, NOBODY, *NEEDED.get(" ".join(words), ()))


@pytest.mark.parametrize(
    "words",
    [
        ("run", "hello", "--case", NOBODY, *LOCAL),
        ("run", "hello", "--agent", NOBODY, *LOCAL),
        ("run", "hello", "--failed-in", NOBODY, *LOCAL),
        ("run", "--resume", NOBODY),
        ("run", "hello", "--budget", f"calls:{NOBODY}=1", *LOCAL),
        ("judge", "run", "r", "--rubric", "tool_agent", "--model", "m", "--label", NOBODY),
        ("case", "check", "hello", "--case", NOBODY, *LOCAL),
        ("case", "from-trace", "r", NOBODY),
        ("cassette", "show", "hello", NOBODY),
        ("explain", "r", NOBODY),
        ("blame", "r", NOBODY),
        ("fork", "r", NOBODY, "--at", "1"),
        ("report", "r", "--html", "--against", NOBODY),
        ("compare", "r", NOBODY),
        ("compare", NOBODY, "r"),
        ("compare", f"baseline:{NOBODY}"),
        ("merge", "r", NOBODY),
        ("themes", NOBODY),
    ],
    ids=" ".join,
)
def test_an_unknown_case_or_second_name_is_refused(words: tuple[str, ...], project: Path) -> None:
    assert NOBODY in _refused(project, *words)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        *(
            (("run", "--resume", "r", *option), option[0])
            for option in (
                ("--agent", "a"),
                ("--live", "model"),
                ("--user", "script"),
                ("--case", "c"),
                ("--only", "tag=a"),
                ("--failed-in", "r"),
                ("--trials", "2"),
                ("--run-name", "n"),
                ("--release", "1"),
                ("--shard", "1/2"),
                ("--with", "a=b"),
                ("--prompt", "@candidate"),
            )
        ),
        (("run", "hello", "--resume", "r"), "SUITE"),
        (("report", "r", "--html", "--format", "junit"), "--format"),
        (("report", "r", "--html", "--max-inconclusive", "1"), "--max-inconclusive"),
        (("report", "r", "--json", "--max-inconclusive", "1"), "--max-inconclusive"),
        (("report", "r", "--against", "r"), "--against"),
        (("report", "r", "--json", "--all"), "--all"),
        (("report", "r", "--json", "--format", "markdown"), "--format"),
        (("compare", "r", "r", "--format", "comment", "--json"), "--format"),
        (("report", "r", "--html", "--all"), "--all"),
        (("compare", "r", "r", "--format", "comment", "--all"), "--all"),
        (("trend", "hello", "--json", "--all"), "--all"),
        (("report", "r", "--output", "page.html"), "--output"),
        (("judge", "run", "r", "--rubric", "x", "--model", "m", "--prompt", "1", "--label", "a"), "--label"),
        (("export", "r", "-o", "out", "--dataset", "d"), "--dataset"),
        (("export", "langfuse", "r", "--output", "out"), "--output"),
        (("export", "langfuse-dataset", "hello", "--format", "otlp"), "--format"),
        (("case", "from-trace", "--session", "s", "--attempt", "2"), "--attempt"),
        (("online", "watch", "hello", "--tracker", "folder"), "--tracker"),
        (("drift", "run", "hello", "--tracker", "folder"), "--tracker"),
        (("drift", "probe", "hello", "--tracker", "folder"), "--tracker"),
        (("drift", "compare", "r", "--tracker", "folder"), "--tracker"),
        (("drift", "compare", "r", "--stored", "--confirm"), "--confirm"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_an_option_that_would_do_nothing_is_refused(words: tuple[str, ...], named: str, project: Path) -> None:
    assert named in _refused(project, *words)


@pytest.mark.parametrize(
    ("variable", "words", "named"),
    [
        ("HARNESS_RUN_TRIALS", ("run", "--resume", "r"), "--trials"),
        ("HARNESS_REPORT_FORM", ("report", "r", "--html"), "--format"),
    ],
)
def test_an_option_set_by_its_variable_is_refused_like_a_typed_one(
    variable: str, words: tuple[str, ...], named: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "2" if named == "--trials" else "junit")
    assert named in _refused(project, *words)


def test_names_are_of_the_project_and_paths_of_the_working_folder(project: Path, tmp_path: Path) -> None:
    of_project = ("--project", str(project))
    assert 0 == run_command(*of_project, "export", "r", "-o", "out", folder=tmp_path).returncode
    assert list((tmp_path / "out").iterdir())
    assert not (project / "out").exists()
    shutil.copytree(project / "runs" / "r", tmp_path / "copied")
    shown = run_command(*of_project, "report", "./copied", "--json", folder=tmp_path)
    assert "r" == json.loads(shown.stdout)["manifest"]["run"]
    assert "'copied'" in _refused(project, "report", "copied")


def test_a_fork_says_and_stores_that_it_is_sealed(project: Path) -> None:
    case = json.loads(run_command("trials", "r", "--json", folder=project).stdout)[0]["case_id"]
    done = run_command("fork", "r", case, "--at", "1", *LOCAL, "--run-name", "forked", "--json", folder=project)
    assert done.stdout, done.stderr
    result = json.loads(done.stdout)
    manifest = json.loads((project / "runs" / result["run"] / "manifest.json").read_text())
    assert ("sealed", "sealed") == (result["tools"], manifest["tool_mode"])


@pytest.mark.slow
@pytest.mark.parametrize("words", [("view", "--no-open"), ("ingest", "serve", "--port", "0")], ids=" ".join)
def test_ctrl_c_ends_a_server_with_status_0(words: tuple[str, ...], tmp_path: Path) -> None:
    process = subprocess.Popen(
        [HARNESS, *words],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert "http://" in process.stdout.readline()
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (0, False) == (process.returncode, "Traceback" in errors), errors


def test_a_shell_completes_verbs_and_options() -> None:
    program = str(Path(sys.executable).parent / "harness")
    asked = {"_HARNESS_COMPLETE": "bash_complete", "COMP_WORDS": "harness trend --fail", "COMP_CWORD": "2"}
    for own, said in (({"_HARNESS_COMPLETE": "bash_source"}, "complete -o"), (asked, "plain,--fail-on-spike")):
        done = subprocess.run([program], env={**os.environ, **own}, capture_output=True, text=True, check=False)
        assert (0, "", True) == (done.returncode, done.stderr, said in done.stdout)
