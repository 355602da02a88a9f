"""`make demo-simulate`: ten grocery scenarios, two versions of the shopper, and two kinds of user.

A user who is a model (a double that follows the plan) shops with both versions. Then what it said to the first is
played back to each, as long as the agent's turns are equal; from the first that is not, the model goes on.
Everything is replayed from the recordings of this repository, `--record` makes them anew. Figures of doubles say
nothing about quality.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.reports.simulated import messages_to_replay
from harness.runs.store.folder import RunFolder
from harness.scoring.scorecard import Scorecard
from harness.traces.trial import Trial
from qa.doubles.rule_user import RuleUser

ROOT = Path(__file__).parents[2]
CASES = (
    "mt-reorder",
    "recipe-risotto",
    "budget-risotto-60",
    "budget-too-tight",
    "diet-nut-allergy",
    "sub-refused",
    "rev-wine",
    "amb-milk",
    "store-named",
    "wavering-bananas",
)
AGENTS = ("shopper", "hasty")
MODEL_PORT, USER_PORT = 18241, 18242
LOG = "model-shopper"
_LEGEND = """
agents        shopper: the agent of the suite; hasty: the same program, whose prompt lacks four rules
success       of the conversations that their user did not make invalid
with invalid  of all conversations; those that their user made invalid count as failed
replayed      of the user's messages after the first, the share that the log gave; all after a divergence it did not"""
CASSETTES, SCENARIOS = Path("cassettes/grocery"), Path("suites/grocery/scenarios/shopping.evalset.json")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One run of the demonstration."""

    user: str
    agent: str
    trials: list[Trial]
    cards: list[Scorecard]

    @property
    def line(self) -> str:
        valid = [card for card in self.cards if card.outcome != "simulator_failed"]
        invalid = len(self.cards) - len(valid)
        counted = f"{_rate(valid):>10}{_rate(self.cards):>13}{invalid:>10}"
        logged = [one for trial in self.trials if (one := trial.user) is not None and one.replayed is not None]
        turns = sum(map(messages_to_replay, logged))
        replayed = f"{100 * sum(one.replayed or 0 for one in logged) / turns:.0f} %" if turns else "-"
        return f"{self.user:9}{self.agent:10}{counted}{replayed:>12}"


def main() -> int:
    """0: every run was measured."""
    parser = argparse.ArgumentParser(prog="demo_simulate")
    parser.add_argument("--record", action="store_true", help="make the recordings of the demonstration anew")
    record = parser.parse_args().record
    began = time.monotonic()
    with ExitStack() as stack:
        project = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="demo-simulate-")))
        _copied(project)
        if record:
            stack.enter_context(doubles())
        rows = list(_rows(project, record=record))
        if record:
            shutil.copytree(project / CASSETTES, ROOT / CASSETTES, dirs_exist_ok=True)
    print(f"\n{'user':9}{'agent':10}{'success':>10}{'with invalid':>13}{'invalid':>10}{'replayed':>12}")
    for row in rows:
        print(row.line)
    print(_LEGEND)
    print("\nwhere the agent's turn differed from the log, and why; from there on the model plays the user")
    for row in rows:
        for trial in row.trials:
            if row.user == "logged" and trial.user is not None and trial.user.divergence is not None:
                where = trial.user.divergence
                print(f"  {row.agent:8} {trial.case_id:20} turn {where.turn}: {where.reason}")
    print(f"\n{time.monotonic() - began:.0f} s")
    return 0 if all(card.outcome != "harness_failed" for row in rows for card in row.cards) else 1


def _rate(cards: list[Scorecard]) -> str:
    """Successes of all; a conversation that its user made invalid is none."""
    return f"{sum(card.success is True for card in cards)}/{len(cards)}"


def _rows(project: Path, *, record: bool) -> Iterator[Row]:
    for user in ("model", "logged"):
        for agent in AGENTS:
            name = f"{user}-{agent}"
            shutil.rmtree(project / "runs" / name, ignore_errors=True)
            played = f"logged:{LOG}" if user == "logged" else user
            words = ["run", "grocery", "--agent", agent, "--user", played, "--run-name", name]
            words += ["--live", "all,record"] * record
            words += ["--sandbox", "docker-warm"] * (not record)
            run_harness(project, *words)
            folder = RunFolder.open(project / "runs" / name)
            yield Row(
                user=user,
                agent=agent,
                trials=[stored.trial for stored in folder.trials()],
                cards=list(folder.scorecards()),
            )


@contextmanager
def doubles() -> Iterator[None]:
    """The model of rules that shops, and the one that plays the user."""
    model = subprocess.Popen([sys.executable, str(ROOT / "suites/grocery/model"), "--port", str(MODEL_PORT)])
    try:
        with RuleUser(port=USER_PORT):
            yield
    finally:
        model.terminate()
        model.wait()


def _copied(project: Path) -> None:
    for name in ("suites/grocery", "images/grocery", "snapshots/grocery"):
        shutil.copytree(ROOT / name, project / name)
    told = json.loads((ROOT / SCENARIOS).read_text(encoding="utf-8"))
    told["eval_cases"] = [one for one in told["eval_cases"] if one["evalId"] in CASES]
    (project / SCENARIOS).write_text(json.dumps(told), encoding="utf-8")
    (project / CASSETTES).mkdir(parents=True)
    for case in CASES:
        shutil.copyfile(ROOT / CASSETTES / f"{case}.yaml", project / CASSETTES / f"{case}.yaml")


def run_harness(project: Path, *arguments: str) -> None:
    """Runs the command; 1 is a verdict, more is an end of the demonstration unless it says that trials were invalid."""
    print(f"$ harness {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "harness", "--project", str(project), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not (project / "runs" / arguments[arguments.index("--run-name") + 1]).is_dir():
        raise SystemExit(f"harness {arguments[0]} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
