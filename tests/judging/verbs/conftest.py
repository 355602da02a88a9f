"""The command line in this process, over a stored run and a served rule model."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import HarnessError
from harness.runs.store.folder import RunFolder
from qa.doubles.model_double import DoubleError, DoubleReply, DoubleRequest
from qa.doubles.rule_model import RuleModel
from tests.judging.verbs.stored import REVISIONS, mind, store


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return store(tmp_path)


class SilentModel(RuleModel):
    """Says nothing about evidence that the expression finds."""

    silent_about = r"(?!)"

    async def answer(self, request: DoubleRequest) -> DoubleReply | DoubleError:
        silent = re.search(self.silent_about, request.said_by("user"))
        return DoubleReply() if silent else await super().answer(request)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[SilentModel]:
    with SilentModel(mind(), revisions=REVISIONS) as own:
        monkeypatch.setenv("OPENAI_BASE_URL", own.url)
        yield own


@pytest.fixture
def typed(tmp_path: Path) -> Callable[..., tuple[int, Any]]:
    """Exit status, and the JSON or the text that was printed; a HarnessError is its message."""

    def type_in(*words: str) -> tuple[int, Any]:
        line = ["--project", str(tmp_path), "judge", *words]
        done = CliRunner().invoke(harness, line, standalone_mode=False)
        if isinstance(done.exception, HarnessError):
            return int(done.exception.exit_code), str(done.exception)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        status = done.return_value if isinstance(done.return_value, int) else done.exit_code
        return status, json.loads(done.stdout) if "--json" in words else done.output

    return type_in
