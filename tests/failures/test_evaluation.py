"""The evaluation on real runs: says so where there are none, and holds its floors where there are."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real_data import real_data


def _run(project: Path, *arguments: str, data: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ) if data is None else {**os.environ, "HARNESS_REAL_DATA": str(data)}
    command = [sys.executable, str(project / "qa" / "scorer_eval" / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=project)


def test_without_data_it_says_so_and_exits_2(project: Path, tmp_path: Path) -> None:
    done = _run(project, data=tmp_path)
    assert (2, "") == (done.returncode, done.stdout)
    assert str(tmp_path) in done.stderr


def _printed(project: Path, *names: str) -> str:
    done = _run(project, "--only", *names, data=real_data("tau2").parent)
    assert 0 == done.returncode, done.stderr
    assert "" == done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tables(project: Path) -> str:
    return _printed(project, "perturbations", "needed-calls", "tool-hallucination", "loops")


def _row(tables: str, start: str) -> str:
    return next(line.strip() for line in tables.splitlines() if line.strip().startswith(start))


def test_every_call_to_a_missing_tool_is_found_and_no_other(tables: str) -> None:
    assert ["1719", "34", "24", "34", "0", "0"] == _row(tables, "1719").split()


def test_loops_are_found_as_by_the_cycle_rule_with_fewer_false_alarms(tables: str) -> None:
    ours, plain = (re.findall(r"\d+/\d+", _row(tables, start)) for start in ("ours  ", "cycle of period"))
    assert ["69/70", "1/270", "12/12", "0/73"] == ours
    assert ["69/70", "4/270", "12/12", "1/73"] == plain


@pytest.mark.parametrize(
    ("name", "runs", "least"), [("tau2", 159, 97), ("taubench", 172, 97), ("toolorchestra", 155, 96)]
)
def test_whether_the_goal_was_reached_is_predicted_without_a_false_pass(
    tables: str, name: str, runs: int, least: int
) -> None:
    """Two runs of taubench made every gold call and were cut off by the limit of steps: their reward is 0."""
    gold = next(
        line for line in tables.splitlines() if line.split()[:1] == [name] and "effect_match, finished, said" in line
    )
    shares = [float(one) for one in re.findall(r"\(([\d.]+) %\)", gold)]
    assert (f"/{runs} " in gold, True, "0") == (True, shares[-1] >= least, gold.split()[-1])


def test_the_table_of_perturbations_says_that_just_what_should_move_moves(tables: str) -> None:
    assert "NO" not in tables
    assert "just these metrics moved, each to the value that its formula gives: 20/20" in tables


@pytest.fixture(scope="module")
def injected(project: Path) -> str:
    """Of the module, as `tables`: a single test sees no HARNESS_REAL_DATA."""
    return _printed(project, "injected")


@pytest.mark.slow
def test_every_mode_is_found_in_two_hundred_runs_that_it_was_put_into(injected: str) -> None:
    modes = ("loop_trap", "goal_drift", "premature_commitment", "tool_hallucination", "cascading_error")
    development = injected[injected.index("Injected failures, development") :]
    for mode in modes:
        name, hosts, *rest = _row(development, mode).split()
        recall, _, alarms = re.findall(r"\(([\d.]+) %\)", " ".join(rest))
        assert (mode, True, True, True) == (name, int(hosts) >= 200, float(recall) >= 90, float(alarms) <= 1)


REACHED = {
    ("loop_trap", "mirage"): 0.95,
    ("loop_trap", "trail-gaia"): 0.80,
    ("tool_hallucination", "trail-gaia"): 0.80,
    ("tool_hallucination", "captain"): 0.50,
    ("goal_drift", "captain"): 0.75,
    ("premature_commitment", "trail-gaia"): 0.80,
    ("premature_commitment", "captain"): 0.65,
    ("cascading_error", "captain"): 0.50,
}
"""Mode and set -> the least F1, numbers counted without the set. An importer that reads less than before shows here."""


@pytest.mark.slow
def test_what_the_modes_reached_on_labelled_sets_still_holds(project: Path) -> None:
    printed = _printed(project, "protocol")
    rows = [line.split() for line in printed[printed.index("In short: F1 beside") :].splitlines()]
    left_out = {(row[0], row[1]): float(row[5]) for row in rows if tuple(row[:2]) in REACHED}
    assert {} == {which: left_out[which] for which, least in REACHED.items() if left_out[which] < least}


@pytest.mark.slow
def test_the_other_tables_are_printed_and_none_is_left_untested(project: Path) -> None:
    others = ("by-data-set", "confusion", "recovery", "readings", "recoveries")
    assert "the same answer to 'recovered within 3 calls'" in _printed(project, *others)
    offered = re.search(r"\{([a-z,-]+)\}", _run(project, "--help").stdout)
    assert offered is not None
    tested = {*others, "protocol", "perturbations", "needed-calls", "tool-hallucination", "loops", "injected"}
    assert {"learnt", "fit"} == set(offered[1].split(",")) - tested  # minutes, and `fit` writes


def test_the_split_is_by_the_hash_of_the_id_and_fixed(project: Path) -> None:
    spec = importlib.util.spec_from_file_location("corpus", project / "qa" / "scorer_eval" / "corpus.py")
    assert spec is not None
    assert spec.loader is not None
    corpus = importlib.util.module_from_spec(spec)
    sys.modules["corpus"] = corpus  # dataclasses look their module up
    try:
        spec.loader.exec_module(corpus)
        parts = [corpus.split_of(f"set/{n}") for n in range(1000)]
    finally:
        del sys.modules["corpus"]
    assert ("development", "held-out", "development") == tuple(parts[:3])
    assert 794 == parts.count("development")
