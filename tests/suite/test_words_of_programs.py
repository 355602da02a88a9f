"""Files that programs write, and what agents send, are refused in the same words as documents that people write."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from harness.errors import ResultsError
from harness.runs.store.judgements import read_judgements
from harness.runs.store.storage import parsed

HARNESS = Path(__file__).resolve().parents[2] / "harness"
OWN_WORDS = re.compile(r"Input should|Field required|valid (string|integer|dictionary|list)")


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")

    number: int = 0


def damaged_judgement(folder: Path) -> None:
    (folder / "judgements").mkdir()
    (folder / "judgements" / "r.jsonl").write_text('{"judgement": 5}\n')
    list(read_judgements(folder, "r"))


def damaged_trial(folder: Path) -> None:
    parsed(folder / "trial.json", b'{"number": "x"}', Shape)


@pytest.mark.parametrize("damage", [damaged_judgement, damaged_trial])
def test_no_words_of_the_validator_are_shown(tmp_path: Path, damage) -> None:
    with pytest.raises(ResultsError) as refused:
        damage(tmp_path)
    assert not OWN_WORDS.search(str(refused.value)), refused.value


def test_the_field_and_the_value_are_named(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r'field .number.: .*"x"'):
        damaged_trial(tmp_path)


def test_a_field_that_is_not_known_is_called_so(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"trial\.json field 'nmber'"):
        parsed(tmp_path / "trial.json", b'{"nmber": 1}', Shape)


def test_only_the_room_of_documents_reads_a_validators_words() -> None:
    """`first_words` and `first_problem` give them to everybody else."""
    reading = [
        str(path.relative_to(HARNESS))
        for path in HARNESS.rglob("*.py")
        if path.name != "problems.py" and re.search(r"""\[['"]msg['"]\]""", path.read_text())
    ]
    assert [] == reading
