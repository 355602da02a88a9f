"""`harness doctor` names the suites whose agents may ask for any model."""

import json
from pathlib import Path

from tests.cli.starting import run_command


def write_suite(folder: Path, name: str, models: list[str] | None) -> None:
    suite = folder / "suites" / name
    suite.mkdir(parents=True)
    model = {"base_url": "http://127.0.0.1:9/v1", "double": True}
    told: dict[str, object] = {"agents": {"a": {"command": ["true"]}}, "cases": "cases.json"}
    if models is not None:
        told["model"] = model | ({"models": models} if models else {})
    (suite / "suite.yaml").write_text(json.dumps(told))
    (suite / "cases.json").write_text(json.dumps([{"id": "c", "task": "t"}]))


def test_doctor_names_the_suites_whose_list_of_models_is_open(tmp_path: Path) -> None:
    write_suite(tmp_path, "open", [])
    write_suite(tmp_path, "closed", ["m-1"])
    write_suite(tmp_path, "without", None)
    (tmp_path / "suites" / "broken").mkdir()
    (tmp_path / "suites" / "broken" / "suite.yaml").write_text("agents: 5\n")
    done = run_command("doctor", "--no-clean", "--json", folder=tmp_path)
    lines = [one for one in json.loads(done.stdout) if one["subject"] in {"models", "suite"}]
    assert ["broken", "open"] == sorted(one["text"].partition(":")[0] for one in lines)
    assert "model: {models: [...]}" in next(one["remedy"] for one in lines if one["subject"] == "models")
