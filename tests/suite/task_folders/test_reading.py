"""Folders of Harbor's format as cases, and folders that are none."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import InvalidDocument, UsageError
from harness.suite.loading import load_suite
from harness.suite.suite_file import suite_names
from tests.suite.task_folders.conftest import TASKS

Tasks = Callable[..., Path]


def refused(tasks: Tasks, change: Callable[[Path], object]) -> InvalidDocument:
    folder = tasks("greeting")
    change(folder / "greeting")
    with pytest.raises(InvalidDocument) as error:
        load_suite(folder.parent, str(folder))
    return error.value


def added(text: str, before: str = "[agent]") -> Callable[[Path], object]:
    def change(task: Path) -> None:
        path = task / "task.toml"
        path.write_text(path.read_text().replace(before, f"{text}\n{before}", 1))

    return change


def test_every_task_of_a_folder_is_a_case(tmp_path: Path) -> None:
    suite = load_suite(tmp_path, str(TASKS))

    assert sorted(path.parent.name for path in TASKS.glob("*/task.toml")) == [case.id for case in suite.cases]
    assert ("tasks", {}, "oracle") == (suite.name, suite.agents, suite.default_agent)


def test_a_task_says_its_limits_its_group_and_its_tests(tasks: Tasks) -> None:
    folder = tasks("greeting")

    [case] = load_suite(folder.parent, str(folder)).cases

    assert 'Write the word "hello", and nothing else, to greeting.txt.' == case.task
    assert ("files", ("files", "easy")) == (case.category, case.tags)
    assert (60, 256, 32, 1000) == (
        case.limits.seconds,
        case.limits.memory_mb,
        case.limits.disk_mb,
        case.limits.steps,
    )
    assert [("tests", "task_tests", 60)] == [
        (check.name, check.verifier, check.parameters["timeout_s"]) for check in case.checks
    ]


def test_one_task_is_a_suite_of_one_case(tasks: Tasks) -> None:
    folder = tasks("greeting", "weighted")

    suite = load_suite(folder.parent, str(folder / "weighted"))

    assert ("weighted", ["weighted"]) == (suite.name, [case.id for case in suite.cases])


def test_a_suite_file_names_tasks_beside_cases_of_its_own(tasks: Tasks) -> None:
    project = tasks("greeting").parent
    suite = project / "suites" / "own"
    (suite / "tasks").mkdir(parents=True)
    (project / "terminal/greeting").rename(suite / "tasks/greeting")
    (suite / "suite.yaml").write_text("agents: {a: {command: [x]}}\ncases: [cases.yaml, tasks/*/task.toml]\n")
    (suite / "cases.yaml").write_text("- {id: plain, task: t}\n")

    loaded = load_suite(project, "own")

    assert ["plain", "greeting"] == [case.id for case in loaded.cases]
    assert [None, "tasks/greeting"] == [case.task_folder and case.task_folder.folder for case in loaded.cases]


def test_a_folder_of_tasks_below_suites_has_a_name(tasks: Tasks) -> None:
    folder = tasks("greeting")
    (folder.parent / "suites").mkdir()
    folder.rename(folder.parent / "suites" / "terminal")

    assert ["terminal"] == suite_names(folder.parent)
    assert "terminal" == load_suite(folder.parent, "terminal").name


@pytest.mark.parametrize("name", ["tests/test.sh", "environment/Dockerfile", "solution/solve.sh", "instruction.md"])
def test_the_digest_of_the_suite_depends_on_every_file(tasks: Tasks, name: str) -> None:
    folder = tasks("greeting")
    before = load_suite(folder.parent, str(folder)).digest

    with (folder / "greeting" / name).open("a") as stream:
        stream.write("#\n")

    assert before != load_suite(folder.parent, str(folder)).digest


@pytest.mark.parametrize("name", ["instruction.md", "tests/test.sh", "environment/Dockerfile", "solution/solve.sh"])
def test_a_missing_file_is_named(tasks: Tasks, name: str) -> None:
    error = refused(tasks, lambda task: (task / name).unlink())

    assert str(error.path).endswith(f"terminal/greeting/{name}")
    assert error.remedy


@pytest.mark.parametrize("name", ["instruction.md", "tests/test.sh", "environment/Dockerfile", "solution/solve.sh"])
def test_no_link_in_a_task_folder_is_followed(tasks: Tasks, name: str) -> None:
    def link(task: Path) -> None:
        (task / name).rename(task.parent / "elsewhere")
        (task / name).symlink_to(task.parent / "elsewhere")

    error = refused(tasks, link)

    assert str(error.path).endswith(f"terminal/greeting/{name}")
    assert "a link" in error.message


def test_an_image_of_a_registry_stands_for_the_dockerfile(tasks: Tasks) -> None:
    folder = tasks("greeting")
    (folder / "greeting/environment/Dockerfile").unlink()
    added('docker_image = "ubuntu:24.04"', "memory_mb")(folder / "greeting")

    [case] = load_suite(folder.parent, str(folder)).cases

    assert case.task_folder is not None
    assert "ubuntu:24.04" == case.task_folder.image


@pytest.mark.parametrize(
    ("text", "before", "field"),
    [
        ("timeout_secs = 3", "timeout_sec = 60.0\n\n[verifier]", "agent.timeout_secs"),
        ("gpus = 1", "memory_mb", "environment.gpus"),
        ('os = "windows"', "memory_mb", "environment.os"),
        ('memory = "much"', "storage_mb", "environment"),
        ('workdir = "app"', "memory_mb", "environment.workdir"),
        ('workdir = "/tests"', "memory_mb", "environment.workdir"),
        ("[metadata.harness]\nwritable = ['/usr']\n", "[agent]", "metadata.harness.writable"),
        ("[metadata.harness]\nwritable = ['/logs']\n", "[agent]", "metadata.harness.writable"),
        ("[metadata.harness]\nwriteable = ['/opt']\n", "[agent]", "metadata.harness.writeable"),
        ("[[steps]]\nname = 'one'\n", "[agent]", "steps"),
        ("[environment.healthcheck]\ncommand = 'true'\n", "[agent]", "environment.healthcheck"),
        ("[[environment.mcp_servers]]\nname = 'x'\n", "[agent]", "environment.mcp_servers"),
        ("[verifier.environment]\ncpus = 1\n", "[agent]", "verifier.environment"),
        ('env = {KEY = "${KEY}"}', "memory_mb", "environment.env"),
    ],
)
def test_a_field_that_cannot_be_followed_is_named(tasks: Tasks, text: str, before: str, field: str) -> None:
    error = refused(tasks, added(text, before))

    assert (field, "task.toml") == (error.field, error.path.name), error


def test_a_field_that_is_empty_says_nothing(tasks: Tasks) -> None:
    """As tools write it who write every field."""
    folder = tasks("greeting")
    added('gpus = 0\ngpu_types = []\nmcp_servers = []\nallow_internet = true\nos = "linux"', "memory_mb")(
        folder / "greeting"
    )
    added("[verifier.env]\n[environment.env]\n[solution.env]\n", "[agent]")(folder / "greeting")
    path = folder / "greeting/task.toml"
    path.write_text("steps = []\nartifacts = []\n" + path.read_text())

    assert ["greeting"] == [case.id for case in load_suite(folder.parent, str(folder)).cases]


def test_a_file_that_is_no_toml_is_named_with_its_line(tasks: Tasks) -> None:
    error = refused(tasks, added("[agent"))

    assert "task.toml" == error.path.name
    assert "line 8" in error.message


def test_services_beside_a_task_are_refused(tasks: Tasks) -> None:
    error = refused(tasks, lambda task: (task / "environment/docker-compose.yaml").write_text("services: {}\n"))

    assert "docker-compose.yaml" == error.path.name


def test_a_case_file_cannot_set_a_task_folder(tasks: Tasks) -> None:
    suite = tasks("greeting").parent / "suites" / "own"
    suite.mkdir(parents=True)
    (suite / "suite.yaml").write_text("agents: {a: {command: [x]}}\n")
    (suite / "cases.yaml").write_text("- {id: a, task: t, task_folder: {folder: ../.., digest: x}}\n")

    with pytest.raises(InvalidDocument) as error:
        load_suite(suite.parents[1], "own")

    assert "0.task_folder" == error.value.field


def test_a_folder_whose_name_is_no_suites_is_refused(tasks: Tasks) -> None:
    folder = tasks("greeting")
    odd = folder.rename(folder.parent / "my tasks")

    with pytest.raises(UsageError, match="rename it"):
        load_suite(odd.parent, str(odd))
