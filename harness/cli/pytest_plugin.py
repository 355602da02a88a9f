"""The hooks, options and fixture; loaded in every pytest session of an environment with the harness, so that it imports
nothing of the harness before a suite is named.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from harness.cli.pytest_collecting import SessionRuns, SuiteCollector
    from harness.reports.summary import Summary


_OPTIONS = {
    "agent": "A version of the suite's agent, or `oracle` or `nop`.",
    "tools": "Who answers the tools' calls: `replay`, `sealed`, `live` or `record`.",
    "model": "The mode of the model endpoint: `replay`, `live` or `record`.",
    "sandbox": "Where the agent runs: `docker`, `docker-warm`, `local` or an installed one.",
    "trials": "Attempts at each case: one test each.",
    "jobs": "Trials that run side by side.",
}
_WHOLE = ("trials", "jobs")
_OWN_SESSION = uuid4().hex
_RUNS: "pytest.StashKey[SessionRuns]" = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("harness", "agent evaluation (harness)")
    group.addoption("--harness", action="append", default=[], metavar="SUITE", help="Run SUITE, one test a trial.")
    group.addoption("--harness-project", metavar="FOLDER", help="The folder with suites/; default: the ini option.")
    for name, text in _OPTIONS.items():
        group.addoption(
            f"--harness-{name}", dest=f"harness_{name}", type=int if name in _WHOLE else str, metavar="VALUE", help=text
        )
    parser.addini("harness_project", "The folder with suites/, relative to the root directory.", default=".")


def pytest_configure(config: pytest.Config) -> None:
    """Adds the suites' files to what is collected; without another argument, they are all that is collected."""
    files = [str(_suite_file(config, name)) for name in config.option.harness]
    if not files:
        return
    if getattr(config.option, "testrunuid", "") is None:  # pytest-xdist gives it to its workers
        config.option.testrunuid = uuid4().hex
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = files
        return
    named = {str(config.invocation_params.dir / one.partition("::")[0]) for one in config.args}
    config.args = [*config.args, *(file for file in files if file not in named)]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "SuiteCollector | None":
    names = [name for name in parent.config.option.harness if file_path == _suite_file(parent.config, name)]
    if not names:
        return None
    from harness.cli.pytest_collecting import SuiteCollector

    file = SuiteCollector.from_parent(parent, path=file_path)
    file.runs = _runs(parent.config)
    file.suite_name = names[0]
    return file


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A trial's test takes as long as the trial: the run itself is waited for by whichever test comes first."""
    report = yield
    if call.when != "teardown" and hasattr(item, "trial_seconds"):
        report.duration = item.trial_seconds or 0.0 if call.when == "call" else 0.0
    return report


def pytest_unconfigure(config: pytest.Config) -> None:
    """Removes the locks; a worker of pytest-xdist leaves that to the session that started it."""
    runs = config.stash.get(_RUNS, None)
    if not hasattr(config, "workerinput") and (runs is not None or config.option.harness):
        (runs or _runs(config)).remove_locks()


@pytest.fixture(scope="session")
def harness_run(pytestconfig: pytest.Config) -> "Callable[..., Summary]":
    """Runs a suite and returns its summary: `harness_run("hello", agent="v2", sandbox="local")`.

    Keywords are fields of `harness.RunOptions`; those not given are taken from the `--harness-...` options.
    """

    def run(suite: str, **options: Any) -> "Summary":
        import harness

        typed = _typed_options(pytestconfig)
        return harness.run(harness.RunOptions(suite=suite, **{**typed, **options}), project=_project(pytestconfig))

    return run


def _runs(config: pytest.Config) -> "SessionRuns":
    from harness.cli.pytest_collecting import SessionRuns

    if _RUNS not in config.stash:
        config.stash[_RUNS] = SessionRuns(_project(config), _session_id(config), _typed_options(config))
    return config.stash[_RUNS]


def _session_id(config: pytest.Config) -> str:
    """The same in every worker of pytest-xdist, and in the session that started them."""
    given: dict[str, str] = getattr(config, "workerinput", {})
    shared = given.get("testrunuid") or config.getoption("testrunuid", None)
    return str(shared or _OWN_SESSION)


def _typed_options(config: pytest.Config) -> dict[str, Any]:
    values = {name: getattr(config.option, f"harness_{name}") for name in _OPTIONS}
    return {name: value for name, value in values.items() if value is not None}


def _project(config: pytest.Config) -> Path:
    typed: str | None = config.option.harness_project
    if typed is not None:
        return (config.invocation_params.dir / typed).resolve()
    return (config.rootpath / str(config.getini("harness_project"))).resolve()


def _suite_file(config: pytest.Config, name: str) -> Path:
    path = _project(config) / "suites" / name / "suite.yaml"
    if not path.is_file():
        raise pytest.UsageError(f"--harness {name}: there is no {path}; name the project: --harness-project FOLDER")
    return path
