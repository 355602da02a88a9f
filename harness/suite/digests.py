"""Digests of suites, which show whether two runs can be compared."""

import re
from pathlib import Path
from typing import Any, Final, NoReturn, TypeGuard

from pydantic import JsonValue

from harness.disk import is_file
from harness.errors import UsageError
from harness.suite.suites import Suite
from harness.values import digest_of

_CODE: Final = re.compile(r"[\w./-]+\.py:[A-Za-z_]\w*")
_ASKED: Final = {"environment", "tools", "probes", "checks", "metrics", "packs", "defaults", "cases", "hosts"}
_NOT_ASKED: Final[dict[str, Any]] = {
    "cases": {"__all__": {"origin"}},  # the same case of another file
    "hosts": {"__all__": {"reset", "double", "command"}},  # how a live host is recorded
}
_ANSWERS: Final = {"model": True, "temperature": True, "max_tokens": True}
_USER: Final[dict[str, Any]] = _ANSWERS | {
    "kind": True,
    "instructions": True,
    "persona": True,
    "entailment": _ANSWERS,
}
"""What the user says may depend on; where the model is served, and what it may cost, is not in the digest."""


def suite_digest(suite: Suite) -> str:
    """The SHA-256 digest of all that the agent is tested on: the content of `Suite.digest`, also for a suite that was
    built in another way.
    """
    asked = suite.model_dump(mode="json", by_alias=True, include=_ASKED, exclude=_NOT_ASKED)
    user = suite.user.model_dump(mode="json", include=_USER)
    return digest_of({"asked": asked, "user": user, "code": _code_digests(suite)})


def case_digests(suite: Suite) -> dict[str, str]:
    """Of what each case of an imported suite asks, by id: without the agent's prompt and tools, and its reward."""
    found: dict[str, str] = {}
    for case in suite.cases:
        asked = case.model_dump(mode="json", exclude={"origin", "system", "tools"})
        asked["checks"] = [check for check in asked["checks"] if check["verifier"] != "reward"]
        found[case.id] = digest_of(asked)
    return found


def tools_digest(suite: Suite, *, but: str | None = None) -> str:
    """Sha-256 over the tools as the suite declares them; those with the description `but` are left out."""
    return digest_of([tool.model_dump(mode="json") for tool in suite.tools if tool.description != but])


def _code_digests(suite: Suite) -> dict[str, str]:
    checks = [*suite.checks, *(check for case in suite.cases for check in case.checks)]
    functions = {value for check in checks for value in check.parameters.values() if _names_code(value)}
    names = {*suite.metrics, *(check.verifier for check in checks), *functions}
    files = {name.rpartition(":")[0] for name in names if ".py:" in name}
    logs = {case.user.log for case in suite.cases if case.user is not None and case.user.log is not None}
    return {name: digest_of(_source_text(suite.folder / name)) for name in sorted(files | logs)}


def _names_code(value: JsonValue) -> TypeGuard[str]:
    """Whether a check's parameter names code, such as `checks.py:is_polite`: the code is then part of the digest."""
    return isinstance(value, str) and _CODE.fullmatch(value) is not None


def _source_text(path: Path) -> str:
    if not is_file(path):
        _refuse_missing(path)
    return path.read_text(encoding="utf-8")


def _refuse_missing(path: Path) -> NoReturn:
    raise UsageError(f"{path} is named by a check or metric and does not exist")
