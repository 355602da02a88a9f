"""The files of a suite that is made of a command."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from harness.documents import write_atomically

AGENT: Final = "command"
STATE: Final = "start"
CASES: Final = "cases.yaml"
_SUITE_HEADING = "# Made by `harness record --from-command`; it is yours to edit.\n"
_CASES_HEADING = "# The checks are starting checks: what was observed once. Read them before you rely on them.\n"
_LIMITS: Final = {"steps": 500, "memory_mb": 2048, "processes": 512, "disk_mb": 256, "output_kb": 1024}
"""A coding agent is a larger program than most agents of a suite."""


def suite_document(
    name: str, command: Sequence[str], env: Mapping[str, str], declared: Mapping[str, Any]
) -> dict[str, Any]:
    """`suite.yaml`; `declared` holds `model`, `tools`, `hosts` and `secrets` as far as there are any."""
    agent: dict[str, Any] = {"command": list(command), "answer": "stdout"}
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


def environment_document(image: str | None, *, has_files: bool) -> dict[str, Any]:
    """`environment.yaml` with the one state that trials begin with."""
    state = {"files": f"states/{STATE}"} if has_files else {}
    return {**({} if image is None else {"image": image}), "states": {STATE: state}}


def case_document(
    case_id: str, task: str, seconds: float, clock: str | None, checks: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The case; `clock` None: the real time."""
    return {
        "id": case_id,
        "description": "Recorded from a command; its checks are starting checks.",
        "task": task,
        **({} if clock is None else {"clock": clock}),
        "limits": {"seconds": seconds, **_LIMITS},
        **({"checks": list(checks)} if checks else {}),
    }


def write_suite(folder: Path, document: Mapping[str, Any], case: Mapping[str, Any]) -> None:
    """Both files of a suite with one case."""
    write_atomically(folder / "suite.yaml", _text(_SUITE_HEADING, dict(document)))
    write_cases(folder / CASES, case)


def write_cases(path: Path, case: Mapping[str, Any]) -> None:
    """A file with one case."""
    write_atomically(path, _text(_CASES_HEADING, [dict(case)]))


def write_environment(folder: Path, document: Mapping[str, Any]) -> None:
    """`environment.yaml` in the environment's folder."""
    write_atomically(folder / "environment.yaml", _text(_SUITE_HEADING, dict(document)))


def _text(heading: str, document: object) -> bytes:
    return (heading + yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=118)).encode("utf-8")
