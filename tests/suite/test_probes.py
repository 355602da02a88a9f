"""Probes that cannot be made are refused by file and field."""

from pathlib import Path

import pytest
import yaml

from harness.errors import InvalidDocument, UsageError
from harness.runs.execution.environment import refuse_unaskable
from harness.sandbox.environment import load_environment
from harness.suite.loading import load_suite

TOOLS = [
    {"name": "look", "server": "desk", "effect": "read", "http": {"path": "/look"}},
    {"name": "write", "server": "desk", "http": {"method": "POST", "path": "/write"}},
]


def write(folder: Path, probes: list[object], case: dict[str, object] | None = None, **more: object) -> Path:
    suite = folder / "suites" / "s"
    (suite / "agent").mkdir(parents=True)
    document = {
        "agents": {"a": {"command": ["a"], "files": "agent"}},
        "servers": {"desk": {"service": "desk"}, "away": {"base_url": "http://127.0.0.1:1"}},
        "tools": TOOLS,
        "environment": "e",
        "probes": probes,
        **more,
    }
    (suite / "suite.yaml").write_text(yaml.safe_dump(document))
    (suite / "cases.yaml").write_text(yaml.safe_dump([{"id": "c", "task": "x", **(case or {})}]))
    return folder


@pytest.mark.parametrize(
    ("probe", "field", "said"),
    [
        ({"tool": "write"}, "probes.0.tool", "expected a tool with effect: read"),
        ({}, "probes.0", "exactly one of `tool`, `sql` and `api`"),
        ({"tool": "look", "sql": {"path": "a.db", "query": "select 1"}}, "probes.0", "exactly one of"),
        ({"sql": {"query": "select 1"}}, "probes.0.sql", "exactly one of `service` and `path`"),
        ({"sql": {"service": "db"}}, "probes.0.sql", "exactly one of `query` and `tables`"),
        ({"sql": {"service": "db", "query": "select 1", "ignore": {"t": ["c"]}}}, "probes.0.sql", "`ignore` is for"),
        (
            {"api": {"server": "nobody", "path": "/"}},
            "probes.0.api.server",
            "none of the servers that speak plain HTTP",
        ),
        ({"api": {"server": "away", "path": "/", "method": "POST"}}, "probes.0.api.method", "is not disposable"),
        ({"api": {"server": "desk", "path": "no slash"}}, "probes.0.api.path", "a text that matches"),
        ({"api": {"server": "desk", "path": "/{id}"}}, "probes.0.api.path", "a text that matches"),
    ],
)
def test_a_wrong_probe_is_told_by_its_field(tmp_path: Path, probe: dict[str, object], field: str, said: str) -> None:
    write(tmp_path, [{"name": "p", **probe}])
    with pytest.raises(InvalidDocument, match=said) as told:
        load_suite(tmp_path, "s")

    assert field == told.value.field
    assert told.value.line is not None


def test_names_are_given_once_over_suite_and_case(tmp_path: Path) -> None:
    probe = {"name": "p", "tool": "look"}
    write(tmp_path / "suite", [probe, probe])
    write(tmp_path / "case", [probe], {"probes": [probe]})
    for name, field in (("suite", "probes.1.name"), ("case", "0.probes.0.name")):
        with pytest.raises(InvalidDocument, match="'p'") as told:
            load_suite(tmp_path / name, "s")
        assert field == told.value.field


def test_a_suite_without_an_environment_has_no_database(tmp_path: Path) -> None:
    write(tmp_path, [{"name": "p", "sql": {"service": "db", "query": "select 1"}}], environment=None)
    with pytest.raises(InvalidDocument, match="environment") as told:
        load_suite(tmp_path, "s")
    assert told.value.field is not None


@pytest.mark.parametrize(
    ("services", "said"),
    [
        ({}, "has no service 'db'"),
        ({"db": {"image": "base", "port": 1, "wait": {"log": "x"}}}, "does not declare how its database is queried"),
    ],
)
def test_a_service_that_cannot_be_asked_is_told_before_the_run(tmp_path: Path, services, said: str) -> None:
    write(tmp_path, [], {"probes": [{"name": "p", "sql": {"service": "db", "tables": ["*"]}}]})
    (tmp_path / "images" / "e").mkdir(parents=True)
    (tmp_path / "images" / "e" / "environment.yaml").write_text(yaml.safe_dump({"services": services}))
    with pytest.raises(UsageError, match=f"probe 'p', field 'sql.service': .*{said}"):
        refuse_unaskable(load_suite(tmp_path, "s"), load_environment(tmp_path, "e"))


@pytest.mark.parametrize(
    ("service", "said"),
    [
        ({"needs": ["nobody"]}, "needs a service that is not declared: 'nobody'"),
        ({"needs": ["a"]}, "need each other in a circle"),
        *(
            ({"database": address}, "expected `postgresql:///NAME` or `sqlite:///PATH`")
            for address in ("library", "postgresql://", "postgresql://a:b@/c", "postgresql://elsewhere/c", "mysql:///c")
        ),
        ({"database": "sqlite:///../a"}, "not an absolute path"),
    ],
)
def test_a_wrong_service_is_refused(tmp_path: Path, service: dict[str, object], said: str) -> None:
    (tmp_path / "images" / "e").mkdir(parents=True)
    one = {"image": "base", "port": 1, "wait": {"log": "x"}, **service}
    (tmp_path / "images" / "e" / "environment.yaml").write_text(yaml.safe_dump({"services": {"a": one}}))
    with pytest.raises(InvalidDocument, match=said):
        load_environment(tmp_path, "e")
