"""Makes cases from a data set: one case per row by a template, or from the tasks of tau2.

A data set is converted completely or not at all: an error names file and line of the first invalid row.
"""

import csv
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from pydantic import JsonValue

from harness.disk import write_atomically
from harness.errors import InvalidDocument, UsageError
from harness.suite.cases import Case
from harness.suite.documents import read_plain, shaped
from harness.suite.suites import Suite
from harness.text import alternatives
from harness.values import JsonObject, parse_json

OPENING: Final = "Hello, I need your help."
"""What the user of a scenario says first. In tau2 the agent greets, and the user answers why they call."""

_INSTRUCTIONS: Final = {
    "reason_for_call": "Why you call: {}",
    "known_info": "What you know: {}",
    "unknown_info": "What you do not know: {}",
    "task_instructions": "{}",
}


def case_of_task(task: JsonObject, reads: Collection[str] = ()) -> JsonObject:
    """The case as plain values. Raises ValueError for a task that a case cannot represent.

    The actions are the reference, each after the one before it. What has to be communicated is looked for in the
    answer. A task with a `ticket` is given as it is, every other one is a scenario for a simulated user. `reads` are
    the tools that change nothing: with no other call and nothing to say, an agent that does nothing passes.
    """
    criteria = _object_field(task, "evaluation_criteria") or {}
    if task.get("initial_state"):
        raise ValueError("the task changes the database before it begins (`initial_state`)")
    if criteria.get("env_assertions"):
        raise ValueError("the task is decided by functions of its domain (`env_assertions`)")
    case: JsonObject = {"id": _task_id(task.get("id"))}
    if purpose := (_object_field(task, "description") or {}).get("purpose"):
        case["description"] = str(purpose).strip()
    case |= _task_fields(task)
    reference = _reference(_list(criteria, "actions"))
    case["reference"] = [*reference]
    told = [str(one) for one in _list(criteria, "communicate_info")]
    if told:
        case["expected_output"] = ", ".join(told)
        case["checks"] = [
            {
                "name": f"told-{number}",
                "verifier": "final_answer",
                "with": {"regex": re.escape(one), "ignore_case": True},
            }
            for number, one in enumerate(told, start=1)
        ]
    if not told and all(call["tool"] in reads for call in reference):
        case["nop_passes"] = True
    asserted: list[JsonValue] = [str(one) for one in _list(criteria, "nl_assertions")]
    if asserted:
        case["expected"] = {"nl_assertions": asserted}
    return case


def _task_id(given: JsonValue) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", str(given or "")).strip(".-_")[:100]
    if not name:
        raise ValueError("the task has no `id`")
    return name


def _task_fields(task: JsonObject) -> JsonObject:
    if isinstance(ticket := task.get("ticket"), str) and ticket.strip():
        return {"task": ticket.strip()}
    scenario = _object_field(task, "user_scenario")
    if scenario is None:
        raise ValueError("the task has neither `ticket` nor `user_scenario`")
    plan = _plan(scenario.get("instructions"))
    if persona := scenario.get("persona"):
        plan = f"{plan}\nWho you are: {str(persona).strip()}"
    return {"task": OPENING, "conversation": {"plan": plan, "max_turns": 30}}


def _plan(instructions: JsonValue) -> str:
    if isinstance(instructions, str) and instructions.strip():
        return instructions.strip()
    if not isinstance(instructions, dict):
        raise ValueError("the task's `user_scenario.instructions` are neither a text nor an object")
    lines = [
        form.format(str(value).strip())
        for name, form in _INSTRUCTIONS.items()
        if (value := instructions.get(name)) not in (None, "")
    ]
    if not lines:
        raise ValueError("the task's `user_scenario.instructions` are empty")
    return "\n".join(lines)


def _reference(actions: Sequence[JsonValue]) -> list[JsonObject]:
    calls: list[JsonObject] = []
    for number, action in enumerate(actions, start=1):
        if not isinstance(action, dict) or not isinstance(action.get("name"), str):
            raise ValueError(f"action {number} of the task has no `name`")
        if action.get("requestor") not in (None, "assistant"):
            raise ValueError("the user of the task has tools of its own (`requestor: user`)")
        call: JsonObject = {"id": f"a{number}", "tool": action["name"], "arguments": action.get("arguments") or {}}
        if calls:
            call["after"] = [f"a{number - 1}"]
        calls.append(call)
    return calls


def _object_field(of: JsonObject, name: str) -> JsonObject | None:
    value = of.get(name)
    if value is not None and not isinstance(value, dict):
        raise ValueError(f"the task's `{name}` is not an object")
    return value


def _list(of: JsonObject, name: str) -> list[JsonValue]:
    value = of.get(name) or []
    if not isinstance(value, list):
        raise ValueError(f"the task's `{name}` is not a list")
    return value


_PLACEHOLDER = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_MOST_BYTES = 64 * 2**20


class DataRow(NamedTuple):
    """One row, and the line of the file on which it begins."""

    line: int
    values: JsonObject


def cases_of_rows(file: Path, template: Path, *, rows: Sequence[JsonObject] | None = None) -> list[JsonObject]:
    """One case a row of a `.jsonl` or `.csv` file, as plain values.

    `rows`: those of another source, for which `file` is only a name; the line of each is its number.

    Raises InvalidDocument for a row that makes no case, with its line.
    """
    make = _from_template(file, template)
    cases: list[JsonObject] = []
    lines: dict[str, int] = {}
    given = _rows(file) if rows is None else (DataRow(line, values) for line, values in enumerate(rows, start=1))
    for number, row in enumerate(given, start=1):
        plain = make(row, number)
        case = shaped(file, plain, Case, {(): row.line})
        if case.id in lines:
            raise InvalidDocument(
                file,
                f"the case id {case.id!r} is also that of line {lines[case.id]}",
                line=row.line,
                remedy="use a column with unique values for `id`",
            )
        lines[case.id] = row.line
        cases.append(plain)
    if not cases:
        raise InvalidDocument(file, "has no row", remedy="expected at least one")
    return cases


def cases_of_tasks(file: Path, reads: Collection[str] = ()) -> tuple[list[JsonObject], dict[str, str]]:
    """The cases of a `tasks.json` of tau2, and the tasks that no case can represent: id -> why.

    `reads` are the tools that change nothing.

    Raises InvalidDocument if the file is not a data set, an id comes twice, or no task is left.
    """
    cases: list[JsonObject] = []
    left_out: dict[str, str] = {}
    for number, task in enumerate(_tasks(file), start=1):
        try:
            case = case_of_task(task, reads)
        except ValueError as error:
            left_out[str(task.get("id") or f"task {number}")] = str(error)
            continue
        if any(case["id"] == other["id"] for other in cases):
            raise InvalidDocument(file, f"task {number} has the id {case['id']!r} of an earlier one")
        shaped(file, case, Case, {})
        cases.append(case)
    if not cases:
        first = next(iter(left_out.items()), ("", "the list is empty"))
        raise InvalidDocument(
            file,
            f"no task can be a case; {first[0] or 'none'}: {first[1]}",
            remedy="expected tasks that are decided by the database and by what the agent says",
        )
    return cases, left_out


def _tasks(file: Path) -> list[JsonObject]:
    try:
        values = parse_json(file.read_bytes(), once=True)
    except ValueError as error:
        raise InvalidDocument(file, f"is not JSON: {error}", remedy="name the `tasks.json` of a domain") from None
    tasks = [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []
    if not isinstance(values, list) or len(tasks) < len(values):
        raise InvalidDocument(file, "is not a list of tasks", remedy="name the `tasks.json` of a domain")
    return tasks


def write_cases(suite: Suite, source: Path, cases: list[JsonObject], target: Path, *, replace: bool) -> None:
    """Writes the cases as a file of the suite. Raises UsageError if the file exists, or another file has a case."""
    if target.exists() and not replace:
        raise UsageError(f"{target} exists", remedy="name another file: -o FILE, or replace it: --replace")
    own = {str(case["id"]) for case in cases}
    others = {case.id for case in suite.cases}
    if target.exists():
        others -= {str(one.get("id")) for one in read_plain(target)[0] or () if isinstance(one, dict)}
    taken = sorted(own & others)
    if taken:
        raise UsageError(
            f"suite {suite.name!r} has the case {taken[0]!r} already ({len(taken)} in all)",
            remedy="put a prefix into the template's `id`",
        )
    text = yaml.safe_dump(cases, sort_keys=False, allow_unicode=True, width=118)
    write_atomically(target, f"# Made from {source.name} by `harness case from-data`.\n{text}".encode())


def _rows(file: Path) -> Iterator[DataRow]:
    reader = {".jsonl": _json_rows, ".csv": _csv_rows}.get(file.suffix)
    if reader is None:
        raise UsageError(f"{file} is neither .jsonl nor .csv", remedy="convert or rename the file")
    if file.stat().st_size > _MOST_BYTES:
        raise InvalidDocument(file, f"is larger than {_MOST_BYTES} bytes", remedy="split it into several files")
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidDocument(file, f"is not UTF-8 ({error.reason} at byte {error.start})") from None
    return reader(file, text)


def _json_rows(file: Path, text: str) -> Iterator[DataRow]:
    for line, one in enumerate(text.split("\n"), start=1):
        if not one.strip():
            continue
        try:
            values = parse_json(one.encode(), once=True)
        except ValueError as error:
            raise InvalidDocument(
                file, f"is not JSON: {error}", line=line, remedy="write one object per line"
            ) from None
        if not isinstance(values, dict):
            raise InvalidDocument(file, "the row is not an object", line=line, remedy="write one object per line")
        yield DataRow(line, values)


def _csv_rows(file: Path, text: str) -> Iterator[DataRow]:
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    header: list[str] | None = None
    begun = 1
    try:
        for cells in reader:
            line, begun = begun, reader.line_num + 1
            if not any(cells):
                continue
            if header is None:
                header = _header(file, [cell.strip() for cell in cells], line)
                continue
            if len(cells) != len(header):
                raise InvalidDocument(
                    file,
                    f"the row has {len(cells)} fields, the header has {len(header)}",
                    line=line,
                    remedy="quote a field that holds a comma, a quotation mark or a line break",
                )
            yield DataRow(line, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise InvalidDocument(file, f"is not CSV: {error}", line=begun) from None


def _header(file: Path, names: list[str], line: int) -> list[str]:
    wrong = next((name for name in names if not name or names.count(name) > 1), None)
    if wrong is not None:
        problem = f"two columns have the name {wrong!r}" if wrong else "a column has no name"
        raise InvalidDocument(file, problem, line=line, remedy="give each column a unique name")
    return names


_Make = Callable[[DataRow, int], JsonObject]


def _from_template(file: Path, path: Path) -> _Make:
    template, _ = read_plain(path)
    if not isinstance(template, dict):
        raise InvalidDocument(path, "is not one case", remedy="write the fields of a case, with {{column}} for values")

    def make(row: DataRow, number: int) -> JsonObject:
        known = {"row": number, **row.values}

        def filled(value: Any) -> Any:
            match value:
                case str():
                    return _filled_template(value, known, missing)
                case list():
                    return [filled(one) for one in value]
                case dict():
                    return {str(filled(name)): filled(one) for name, one in value.items()}
                case _:
                    return value

        def missing(name: str) -> InvalidDocument:
            problem = f"the row has no {name!r}, which {path.name} names"
            return InvalidDocument(file, problem, line=row.line, remedy=alternatives(name, known))

        done = filled(template)
        assert isinstance(done, dict)
        return done

    return make


def _filled_template(text: str, known: JsonObject, missing: Callable[[str], InvalidDocument]) -> JsonValue:
    """A text that consists of one placeholder becomes the value itself, of whatever type."""

    def value(name: str) -> JsonValue:
        if name not in known:
            raise missing(name)
        return known[name]

    whole = _PLACEHOLDER.fullmatch(text)
    if whole is not None:
        return value(whole[1])
    return _PLACEHOLDER.sub(lambda found: str(value(found[1])), text)
