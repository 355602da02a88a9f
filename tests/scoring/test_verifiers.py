"""The built-in checks: what passes, what fails, and what cannot be told."""

import io
import json
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.registry import VERIFIERS
from harness.suite.checks import CommandCheck
from harness.traces.trial import CommandResult, EndState, FileChange, ProgramExit

Build = Callable[..., Evidence]


def passed(kind: str, rule: dict[str, Any], evidence: Evidence) -> bool | None:
    told: bool | None = VERIFIERS[kind].model_validate(rule).verify(evidence)[0]
    return told


@pytest.mark.parametrize(
    ("rule", "answer", "told"),
    [
        ({"equals": "Yes"}, " Yes\n", True),
        ({"equals": "Yes"}, "yes", False),
        ({"equals": "Yes", "ignore_case": True}, "yEs", True),
        ({"equals": "caf\u00e9"}, "cafe\u0301", True),
        ({"contains": "egg"}, "one egg", True),
        ({"contains": ["egg", "ham"]}, "one egg", False),
        ({"contains": "egg", "excludes": ["ham"]}, "egg and ham", False),
        ({"regex": r"\bno\b"}, "no", True),
        ({"regex": r"^\d+$"}, "12 eggs", False),
        ({"number": 12.5}, "Your total is $12.50.", True),
        ({"number": 1234.5}, "1,234.50", True),
        ({"number": 3}, "1 and 2", False),
        ({"number": 1}, "1 and 2", False),
        ({"number": 1, "pick": "first"}, "1 and 2", True),
        ({"number": 0.3}, str(0.1 + 0.2), True),
        ({"number": 10, "tolerance": 0.5}, "10.6", False),
        ({"number": 2}, "v2 of id2", False),
        ({"number": 1}, True, False),
        ({"json": {"a": 1, "b": [True]}}, '{"b": [true], "a": 1.0}', True),
        ({"json": {"a": 1}}, {"a": True}, False),
        ({"json": None}, "null", True),
        ({"json": {"a": 1}}, "{broken", False),
        ({"equals": "x"}, None, False),
    ],
)
def test_a_final_answer_is_held_to_every_rule(evidence: Build, rule: dict[str, Any], answer: Any, told: bool) -> None:
    assert passed("final_answer", rule, evidence(answer=answer)) is told


@pytest.mark.parametrize(
    ("expected", "answer", "told"),
    [
        ("four", "four", True),
        (4, "It is 4", True),
        ({"n": 4}, '{"n": 4}', True),
        (True, 1, False),
        (None, "four", None),
    ],
)
def test_without_a_rule_the_answer_is_held_to_the_case(evidence: Build, expected: Any, answer: Any, told: bool) -> None:
    assert passed("final_answer", {}, evidence(case={"expected_output": expected}, answer=answer)) is told


ORDER = {"items": [{"id": "egg", "n": 2}, {"id": "ham", "n": 1}], "open": False}


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"path": "/items/0/n", "equals": 2.0}, True),
        ({"path": "/open", "equals": 0}, False),
        ({"path": "/open", "equals": False}, True),
        ({"path": "/items/7", "equals": 1}, False),
        ({"path": "/items", "contains": [{"id": "ham"}, {"n": 2}]}, True),
        ({"path": "/items", "contains": [{"n": 2}, {"id": "egg"}]}, False),  # one element cannot serve twice
        ({"contains": {"open": False}}, True),
        ({"path": "/items/0/id", "contains": "gg"}, True),
        ({}, True),
    ],
)
def test_a_state_is_compared_as_json(evidence: Build, rule: dict[str, Any], told: bool) -> None:
    shown = evidence(states={"order": ORDER}, case={"expected": ORDER})

    assert passed("state", {"probe": "order", **rule}, shown) is told


def test_contains_finds_a_pairing_that_the_first_fit_would_miss(evidence: Build) -> None:
    shown = evidence(states={"p": [{"a": 1, "b": 2}, {"a": 1}]})

    assert passed("state", {"probe": "p", "contains": [{"a": 1}, {"b": 2}]}, shown) is True


def test_a_probe_that_gave_nothing_cannot_tell(evidence: Build) -> None:
    assert passed("state", {"probe": "order", "equals": 1}, evidence()) is None
    assert passed("state", {"probe": "order"}, evidence(states={"order": {}})) is None


def changes(*named: str) -> EndState:
    split = [name.split(" ") for name in named]
    return EndState(
        changes=tuple(
            FileChange.model_validate(
                {"change": change, "path": path.rstrip("/"), "kind": "directory" if path.endswith("/") else "file"}
            )
            for change, path in split
        )
    )


@pytest.mark.parametrize(
    ("rule", "end", "told"),
    [
        ({}, changes(), True),
        ({}, changes("added /work/a"), False),
        ({"added": ["a"]}, changes("added /work/a"), True),
        ({"added": ["a"]}, changes(), False),
        ({"added": ["a"]}, changes("modified /work/a"), False),
        ({"added": ["*.txt"]}, changes("added /work/x/a.txt"), False),
        ({"added": ["**/*.txt"]}, changes("added /work/a.txt"), True),
        ({"added": ["x/*.txt"]}, changes("added /work/x/", "added /work/x/a.txt"), True),
        ({"added": ["x/*.txt"]}, changes("added /work/y/", "added /work/x/a.txt"), False),
        ({"modified": ["/srv/db"], "allow": ["log/**"]}, changes("modified /srv/db", "added /work/log/1"), True),
        ({"deleted": ["a"]}, changes("deleted /work/a", "deleted /work/b"), False),
        ({"added": ["a"]}, EndState(complete=False, problem="too large"), None),
        ({"added": ["a"]}, EndState(changes=changes("added /b").changes, complete=False), False),
        ({"added": ["a"]}, None, None),
    ],
)
def test_the_expected_files_changed_and_nothing_else(
    evidence: Build, rule: dict[str, Any], end: EndState | None, told: bool | None
) -> None:
    assert passed("files", rule, evidence(end_state=end)) is told


def left(*entries: tuple[str, str, str, str | None]) -> EndState:
    return EndState.model_validate(
        {
            "changes": [
                {"path": path, "change": change, "kind": kind, "link": link} for path, change, kind, link in entries
            ]
        }
    )


@pytest.mark.parametrize(
    ("rule", "entry", "why"),
    [
        ({"added": ["a"]}, ("/work/a", "added", "file", None), None),
        ({"added": ["a"]}, ("/work/a", "added", "directory", None), "'/work/a' was added as a folder, where 'a' means"),
        ({"added": ["a"]}, ("/work/a", "added", "link", "/no/where"), "was added as a link, which is not expected"),
        ({"added": ["a"]}, ("/work/a", "added", "other", None), "as a device, pipe or socket, which is not expected"),
        ({"added": ["**"]}, ("/work/a", "added", "other", None), "which is not expected"),
        ({"added": ["**"]}, ("/work/a", "added", "directory", None), "where '**' means a regular file"),
        ({"modified": ["a"]}, ("/work/a", "modified", "file", None), None),
        ({"modified": ["a"]}, ("/work/a", "modified", "directory", None), "was modified as a folder, which is not"),
        ({"modified": ["a"]}, ("/work/a", "modified", "link", "b"), "was modified as a link, which is not expected"),
        (
            {"content": {"a": {}}},
            ("/work/a", "added", "directory", None),
            "was added as a folder, which is not expected",
        ),
        ({"content": {"a": {}}}, ("/work/a", "added", "link", "/etc/passwd"), "was added as a link, which is not"),
        ({"added": ["a/"]}, ("/work/a", "added", "directory", None), None),
        ({"added": ["a/"]}, ("/work/a", "added", "file", None), "'/work/a' was added, which is not expected"),
        ({"links": {"a": "b"}}, ("/work/a", "added", "link", "b"), None),
        ({"links": {"a": "b"}}, ("/work/a", "added", "link", "c"), "'a' is not a link to 'b'"),
        ({"links": {"a": "b"}}, ("/work/a", "added", "file", None), "'/work/a' was added, which is not expected"),
        ({"deleted": ["a"]}, ("/work/a", "deleted", "link", None), None),
        ({"allow": ["a"]}, ("/work/a", "added", "other", None), None),
    ],
)
def test_a_pattern_is_met_by_the_kind_that_it_means(
    evidence: Build, rule: dict[str, Any], entry: tuple[str, str, str, str | None], why: str | None
) -> None:
    told, reason, _ = VERIFIERS["files"].model_validate(rule).verify(evidence(end_state=left(entry)))
    assert told is (why is None), reason
    assert why is None or why in reason


def test_a_folder_that_was_there_before_may_not_change(evidence: Build) -> None:
    new, old = ("/work/d", "added", "directory", None), ("/work/d", "modified", "directory", None)
    file = ("/work/d/a", "added", "file", None)

    assert passed("files", {"added": ["d/a"]}, evidence(end_state=left(new, file))) is True
    assert passed("files", {"added": ["d/a"]}, evidence(end_state=left(old, file))) is False
    assert passed("files", {"added": ["d/a"], "allow": ["d"]}, evidence(end_state=left(old, file))) is True


def test_what_the_agent_left_too_large_is_told_as_its_doing(evidence: Build) -> None:
    end = EndState(changes=left(("/work/a", "added", "file", None)).changes, complete=False, problem="too large")
    told, _, seen = VERIFIERS["files"].model_validate({"added": ["a"]}).verify(evidence(end_state=end))

    assert (None, "agent") == (told, seen["unmeasured_by"])


@pytest.mark.slow
def test_tens_of_thousands_of_changes_are_judged_in_bounded_time(evidence: Build) -> None:
    many = EndState(changes=tuple(FileChange(path=f"/work/d/{i}", change="added") for i in range(30_000)))
    started = time.process_time()

    assert passed("files", {"allow": ["d/**"]}, evidence(end_state=many)) is True
    assert passed("files", {"allow": ["e/**"]}, evidence(end_state=many)) is False
    assert time.process_time() - started < 10


def archive(path: Path, files: dict[str, bytes]) -> Path:
    members = {"end_state.json": json.dumps({}).encode(), **{f"files{name}": data for name, data in files.items()}}
    with tarfile.open(path, "w") as tar:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return path


def test_the_content_of_a_changed_file_is_read_from_what_was_kept(evidence: Build, tmp_path: Path) -> None:
    shown = evidence(end_state=changes("added /work/a"))
    kept = shown.model_copy(update={"end_state_archive": archive(tmp_path / "end.tar", {"/work/a": b"four\n\xff"})})

    assert passed("files", {"content": {"a": {"contains": "four"}}}, kept) is True
    assert passed("files", {"content": {"a": {"equals": "five"}}}, kept) is False
    assert passed("files", {"content": {"a": {"equals": "four"}}}, shown) is None
    assert passed("files", {"content": {"b": {"equals": "four"}}, "allow": ["a"]}, kept) is False


@pytest.mark.parametrize(("given", "right"), [("caf\u00e9", True), ("cafe", False)])
def test_a_file_is_found_by_its_name_in_either_spelling(
    evidence: Build, tmp_path: Path, given: str, right: bool
) -> None:
    shown = evidence(end_state=changes("added /work/cafe\u0301"))
    kept = shown.model_copy(update={"end_state_archive": archive(tmp_path / "end.tar", {"/work/cafe\u0301": b"1"})})

    assert passed("files", {"added": [given], "content": {given: {"equals": "1"}}}, kept) is right
    assert passed("json_schema", {"of": "file", "file": given, "schema": {"const": 1}}, kept) is right


def test_a_file_that_is_larger_than_a_check_reads_is_told(evidence: Build, tmp_path: Path) -> None:
    shown = evidence(end_state=changes("added /work/a"))
    large = {"/work/a": b"[" + b"[]," * (6 << 20) + b"[]]"}
    kept = shown.model_copy(update={"end_state_archive": archive(tmp_path / "end.tar", large)})
    for kind, rule in (
        ("files", {"content": {"a": {"contains": "["}}}),
        ("json_schema", {"of": "file", "file": "a", "schema": {}}),
    ):
        told, reason, seen = VERIFIERS[kind].model_validate(rule).verify(kept)
        assert (None, "agent") == (told, seen["unmeasured_by"])
        assert "/work/a is larger than" in reason


@pytest.mark.parametrize("depth", [100, 101, 900, 980, 985, 990, 992, 995, 999, 100_000])
def test_an_answer_of_any_depth_is_judged(evidence: Build, depth: int) -> None:
    """Some were read, and then too deep for what is done with a value."""
    deep = evidence(answer='{"a":' * depth + "1" + "}" * depth)

    assert passed("json_schema", {"of": "answer", "schema": {"type": "object"}}, deep) is (depth <= 100)
    assert passed("final_answer", {"json": {"a": 1}}, deep) is False


RUN = {"run": ["python3", "-m", "check"], "timeout_s": 5}


def ran(code: int | None = 0, stdout: str = "", timed_out: bool = False, **command: Any) -> dict[str, CommandResult]:
    digest = CommandCheck.model_validate({"name": "x", **RUN, **command}).digest
    return {"x": CommandResult(digest=digest, exit=ProgramExit(code=code, stdout=stdout, timed_out=timed_out))}


@pytest.mark.parametrize(
    ("rule", "commands", "told"),
    [
        ({}, ran(), True),
        ({}, ran(code=1), False),
        ({"exit_code": None, "stdout": {"contains": "ok"}}, ran(code=1, stdout="ok"), True),
        ({"stdout": {"equals": "ok"}}, ran(stdout="no"), False),
        ({}, ran(code=None, timed_out=True), False),
        ({}, ran(timeout_s=6), None),
        ({}, {}, None),
    ],
)
def test_a_command_is_judged_by_the_result_of_that_very_command(
    evidence: Build, rule: dict[str, Any], commands: dict[str, CommandResult], told: bool | None
) -> None:
    assert passed("command", {**RUN, **rule}, evidence(commands=commands)) is told


def test_a_changed_command_says_that_the_case_must_be_run_again(evidence: Build) -> None:
    verifier = VERIFIERS["command"].model_validate(RUN)

    assert verifier.verify(evidence(commands=ran(timeout_s=6)))[1] == "the command changed since it was run: run again"
