"""Built-in importers keep the promises of their seam, and its checks notice what breaks one."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.api import (
    ForeignStep,
    Found,
    FoundRun,
    Importer,
    Source,
)
from harness.runs.foreign_runs import IMPORTERS
from tests.plugins.importer_conformance import check_importer

FIXTURES = Path(__file__).parents[1] / "traces" / "importing" / "fixtures"
FILES = {
    "adk": "adk.session.json",
    "anthropic": "anthropic.json",
    "atif": "atif.json",
    "inspect": "inspect.json",
    "langfuse": "langfuse.jsonl",
    "openai-chat": "openai_chat.jsonl",
    "otel": "openinference.json",
    "tau2": "tau2.json",
}


def broken(problems: dict[str, str | None]) -> dict[str, str]:
    return {name: problem for name, problem in problems.items() if problem is not None}


def test_every_importer_has_a_file_here() -> None:
    assert set(IMPORTERS.built_in) == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_built_in_importers_keep_their_promises(name: str) -> None:
    importer = IMPORTERS.find(name)
    assert isinstance(importer, Importer)
    assert {} == broken(check_importer(importer, FIXTURES / FILES[name]))


def _lines(source: Source) -> Iterator[Found]:
    for number, line in enumerate(source.path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        question, _, answer = line.partition("\t")
        transcript = source.transcript(f"line {number}")
        transcript.add(ForeignStep(source="user", message=question))
        transcript.add(ForeignStep(source="agent", message=answer))
        case = source.case(f"line {number}", {"id": f"line-{number}", "task": question or "?"})
        yield Found(case=case, record=f"line {number}", run=FoundRun(steps=transcript.steps()))


def _raw(source: Source) -> Iterator[Found]:
    """Leaves credentials in, and raises what it should not for a file that is not text."""
    for number, line in enumerate(source.path.read_text(encoding="utf-8").splitlines(), 1):
        question, answer = line.split("\t")
        steps = (ForeignStep(source="user", message=question), ForeignStep(source="agent", message=answer))
        transcript = source.transcript(f"line {number}")
        for step in steps:
            transcript.add(step)
        case = source.case(f"line {number}", {"id": f"line-{time.time_ns()}", "task": question})
        yield Found(case=case, record=f"line {number}", run=FoundRun(steps=transcript.steps()))


def test_the_checks_of_importers_notice_what_breaks_a_promise(tmp_path: Path) -> None:
    file = tmp_path / "talk.tsv"
    file.write_text("What is the capital of France?\tIt is Paris.\n")
    assert {} == broken(check_importer(Importer(patterns=("*.tsv",), read=_lines), file))
    problems = broken(check_importer(Importer(patterns=("*.csv",), read=_raw), file))
    assert {"damaged_files_are_refused_or_read", "it_is_read_the_same_again", "the_file_is_found_in_a_folder"} <= set(
        problems
    )
