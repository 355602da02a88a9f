"""Checks of what the world held: databases, APIs, and values against a JSON Schema."""

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.scoring.evidence import Evidence
from harness.scoring.registry import VERIFIERS
from harness.scoring.scorer import build_scorer
from harness.suite.cases import ApiProbe, CheckSpec, SqlProbe, StateProbe
from harness.suite.suites import Suite

Build = Callable[..., Evidence]
ROWS = {"rows": [{"id": 1, "n": 2}, {"id": 2, "n": None}]}


def told(kind: str, rule: dict[str, Any], evidence: Evidence) -> tuple[bool | None, str]:
    passed, reason, _ = VERIFIERS[kind].model_validate(rule).verify(evidence)
    return passed, reason


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("sql", {"probe": "p", "count": 1}),
        ("sql", {"probe": "p", "changes": {}}),
        ("state", {"probe": "p", "equals": 1}),
        ("json_schema", {"of": "probe", "probe": "p", "schema": {"type": "object"}}),
    ],
)
def test_what_the_agent_made_unmeasurable_is_told_apart(kind: str, rule: dict[str, Any], evidence: Build) -> None:
    """From a probe that gave nothing, which may be the harness's doing."""
    verifier = VERIFIERS[kind].model_validate(rule)
    passed, reason, seen = verifier.verify(evidence(states={"p": {"unmeasurable": "it has no end"}}))

    assert (None, {"unmeasured_by": "agent"}) == (passed, seen)
    assert reason.endswith("it has no end")
    assert (None, {}) == verifier.verify(evidence(states={}))[::2]


@pytest.mark.parametrize(
    ("rule", "passed"),
    [
        ({"equals": [{"id": 2, "n": None}, {"id": 1, "n": 2.0}]}, True),
        ({"equals": [{"id": 2, "n": None}, {"id": 1, "n": 2}], "ordered": True}, False),
        ({"equals": [{"id": 1, "n": 2}, {"id": 2, "n": None}], "ordered": True}, True),
        ({"equals": [{"id": 1, "n": 2}]}, False),
        ({"equals": [{"id": 1, "n": 2}, {"id": 2, "n": 0}]}, False),
        ({"equals": [{"id": True, "n": 2}, {"id": 2, "n": None}]}, False),
        ({"contains": [{"n": 2}]}, True),
        ({"contains": [{"n": 2}, {"id": 1}]}, False),  # one row cannot serve twice
        ({"count": 2}, True),
        ({"count": 3}, False),
        ({"count": 2, "contains": [{"id": 3}]}, False),
    ],
)
def test_rows_of_a_query(evidence: Build, rule: dict[str, Any], passed: bool) -> None:
    assert passed is told("sql", {"probe": "p", **rule}, evidence(states={"p": ROWS}))[0]


CHANGED = {
    "tables": {
        "book": {"rows": 5, "digest": "0" * 64},
        "loan": {
            "rows": 4,
            "digest": "1" * 64,
            "added": [{"id": 4, "book": 1, "day": "2026-03-02"}],
            "removed": [{"id": 1, "book": 3, "day": "2026-02-20"}],
            "changed": [{"key": {"id": 2}, "before": {"day": "2026-02-20"}, "after": {"day": "2026-03-02"}}],
        },
    }
}
ALL = {
    "added": [{"book": 1}],
    "removed": [{"id": 1}],
    "changed": [{"key": {"id": 2}, "set": {"day": "2026-03-02"}}],
}


@pytest.mark.parametrize(
    ("loan", "reason"),
    [
        (ALL, None),
        ({**ALL, "added": []}, "was added, which is not expected"),
        ({**ALL, "added": [{"book": 2}]}, '"id":4} was added, where {"book":2} is expected'),
        ({**ALL, "added": [{"book": 1}, {"book": 1}]}, '{"book":1} was not added'),
        ({**ALL, "removed": []}, "was removed, which is not expected"),
        ({**ALL, "changed": []}, "changed, which is not expected"),
        ({**ALL, "changed": [{"key": {"id": 2}, "set": {"day": "2026-03-02", "book": 1}}]}, "changed, where"),
        ({**ALL, "changed": [{"key": {"id": 3}, "set": {"day": "2026-03-02"}}]}, "changed, where"),
    ],
)
def test_the_expected_rows_changed_and_nothing_else(evidence: Build, loan: dict[str, Any], reason: str | None) -> None:
    passed, why = told("sql", {"probe": "p", "changes": {"loan": loan}}, evidence(states={"p": CHANGED}))

    assert (reason is None) is passed
    assert reason is None or reason in why


def test_a_table_that_nobody_named_must_not_change_and_one_that_is_named_must_be_there(evidence: Build) -> None:
    shown = evidence(states={"p": CHANGED})
    dropped = evidence(states={"p": {"tables": {"loan": {"table": "removed", "rows": 0, "digest": "2" * 64}}}})
    many = evidence(states={"p": {"tables": {"loan": {"rows": 900, "digest": "", "added": [], "more_added": 700}}}})

    assert "table 'loan'" in told("sql", {"probe": "p", "changes": {}}, shown)[1]
    assert (False, "p: there is no table 'holds'") == told(
        "sql", {"probe": "p", "changes": {"loan": ALL, "holds": {}}}, shown
    )
    assert "removed" in told("sql", {"probe": "p", "changes": {}}, dropped)[1]
    assert "more rows" in told("sql", {"probe": "p", "changes": {}}, many)[1]


@pytest.mark.parametrize(
    ("states", "rule", "passed"),
    [
        ({}, {"count": 1}, None),
        ({}, {"changes": {}}, None),
        ({"p": {"error": "no such table: loan"}}, {"count": 0}, False),
        ({"p": ROWS}, {"changes": {}}, None),
        ({"p": CHANGED}, {"count": 0}, None),
    ],
)
def test_what_was_not_read_cannot_be_told(
    evidence: Build, states: dict[str, Any], rule: dict[str, Any], passed: bool | None
) -> None:
    assert passed is told("sql", {"probe": "p", **rule}, evidence(states=states))[0]


ANSWER = {"status": 200, "body": {"loans": [{"id": 1, "to": "Ada"}, {"id": 2, "to": "Ben"}], "open": True}}


@pytest.mark.parametrize(
    ("rule", "passed"),
    [
        ({}, True),
        ({"status": 404}, False),
        ({"status": "any"}, True),
        ({"body": [{"path": "$.open", "equals": True}]}, True),
        ({"body": [{"path": "$.open", "equals": 1}]}, False),
        ({"body": [{"path": "$.loans[0].to", "contains": "da"}]}, True),
        ({"body": [{"path": "$.loans[*].to", "all": True, "equals": ["Ada", "Ben"]}]}, True),
        ({"body": [{"path": "$.loans[*].to", "all": True, "contains": ["Ben"]}]}, True),
        ({"body": [{"path": "$.loans[*].to", "equals": "Ada"}]}, False),  # two values
        ({"body": [{"path": "$.loans[?@.id == 2].to", "equals": "Ben"}]}, True),
        ({"body": [{"path": "$.loans[*]", "count": 2}]}, True),
        ({"body": [{"path": "$.loans[*]", "count": 3}]}, False),
        ({"body": [{"path": "$.loans[5]", "count": 0}]}, True),
        ({"body": [{"path": "$.fines"}]}, False),
        ({"body": [{"path": "$.fines", "exists": False}]}, True),
        ({"body": [{"path": "$.open", "exists": False}]}, False),
        ({"body": [{"path": "$.open"}, {"path": "$.fines"}]}, False),
    ],
)
def test_an_answer_is_compared_by_status_and_paths(evidence: Build, rule: dict[str, Any], passed: bool) -> None:
    assert passed is told("api", {"probe": "p", **rule}, evidence(states={"p": ANSWER}))[0]


def test_an_answer_without_parts_or_none_at_all(evidence: Build) -> None:
    rule = {"probe": "p", "status": "any", "body": [{"path": "$.a"}]}

    assert (False, "p: $.a leads to nothing") == told(
        "api", rule, evidence(states={"p": {"status": 204, "body": None}})
    )
    assert None is told("api", {"probe": "p"}, evidence())[0]


NUMBER = {"schema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}}


def kept(evidence: Evidence, path: Path, content: bytes) -> Evidence:
    with tarfile.open(path, "w") as tar:
        for name, data in {"end_state.json": b"{}", "files/work/out.json": content}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return evidence.model_copy(update={"end_state_archive": path})


@pytest.mark.parametrize(
    ("answer", "passed"),
    [('{"n": 1}', True), ({"n": 1}, True), ('{"n": "1"}', False), ("n is 1", False), ("[]", False), (None, False)],
)
def test_an_answer_fits_a_schema(evidence: Build, answer: Any, passed: bool) -> None:
    assert passed is told("json_schema", NUMBER, evidence(answer=answer))[0]


def test_a_probe_and_a_file_fit_a_schema(evidence: Build, tmp_path: Path) -> None:
    of_probe, of_file = {"of": "probe", "probe": "p", **NUMBER}, {"of": "file", "file": "out.json", **NUMBER}

    assert (True, "the probe fits the schema") == told("json_schema", of_probe, evidence(states={"p": {"n": 1}}))
    assert "$.n" in told("json_schema", of_probe, evidence(states={"p": {"n": "1"}}))[1]
    assert None is told("json_schema", of_probe, evidence())[0]
    assert True is told("json_schema", of_file, kept(evidence(), tmp_path / "end.tar", b'{"n": 1}'))[0]
    assert False is told("json_schema", of_file, kept(evidence(), tmp_path / "end.tar", b"{"))[0]
    assert None is told("json_schema", of_file, evidence())[0]


@pytest.mark.parametrize(
    ("kind", "rule", "said"),
    [
        ("sql", {"probe": "rows"}, "give either `changes`, or some of"),
        ("sql", {"probe": "rows", "count": 1, "changes": {}}, "give either"),
        ("sql", {"probe": "nothing", "count": 1}, "with.probe': 'nothing' is none of the suite's probes"),
        ("sql", {"probe": "answer", "count": 1}, "the probe 'answer' has no `sql`"),
        ("sql", {"probe": "rows", "changes": {}}, "the probe 'rows' has no `tables`"),
        ("sql", {"probe": "tables", "count": 1}, "the probe 'tables' has no `query`"),
        ("api", {"probe": "rows"}, "the probe 'rows' has no `api`"),
        ("api", {"probe": "answer", "body": [{"path": "$.["}]}, "with.body.0.path.*invalid JSONPath"),
        ("api", {"probe": "answer", "body": [{"path": "$.a", "exists": False, "count": 0}]}, "with.body.0"),
        ("json_schema", {"schema": {"type": "intger"}}, "with.schema.*is not a JSON Schema"),
        ("json_schema", {"of": "probe", "schema": {}}, "belong together"),
    ],
)
def test_a_wrong_check_is_refused_by_field_before_anything_runs(
    evidence: Build, tmp_path: Path, kind: str, rule: dict[str, Any], said: str
) -> None:
    probes = (
        StateProbe(name="rows", sql=SqlProbe(service="db", query="select 1")),
        StateProbe(name="tables", sql=SqlProbe(service="db", tables=("*",))),
        StateProbe(name="answer", api=ApiProbe(server="desk", path="/")),
    )
    check = CheckSpec.model_validate({"name": "c", "verifier": kind, "with": rule})
    case = evidence().case.model_copy(update={"checks": (check,)})
    suite = Suite.model_validate(
        {
            "name": "s",
            "folder": tmp_path,
            "agents": {"a": {"command": ["a"], "files": "a"}},
            "probes": probes,
            "cases": (case,),
            "digest": "0" * 64,
        }
    )
    expected = f"check 'c': field '{said}" if said.startswith("with.") else said
    with pytest.raises(UsageError, match=expected):
        build_scorer(suite)


def test_every_check_is_stored_and_read_again_as_it_was() -> None:
    for kind, rule in (("sql", {"probe": "p", "changes": {"t": ALL}}), ("json_schema", NUMBER)):
        made = VERIFIERS[kind].model_validate(rule)
        assert made == VERIFIERS[kind].model_validate(json.loads(made.model_dump_json(by_alias=True)))
