"""Public agents, unmodified, in the isolated container: recorded, replayed and live, each does the same.

Every agent has an image of its own and takes the same orders, scored by the ordinary scorer of the drive-thru. In
each case it makes at least four tool calls, two of them in one reply, meets an error of the service, and puts it right.
"""

import re
import time
from collections.abc import Callable

import pytest

from harness.suite.suites import Suite
from harness.traces.trial import Trial
from tests.suites.frameworks.conftest import AGENTS, ROOT, Proof

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1200)]

TOOLS = {"lookup_menu_item", "add_item_to_order", "get_order", "finalize_order"}
UNSTREAMED = {"mini-swe-agent"}
"""It asks for whole replies only."""
ORDERS = ("pancakes-and-juice", "family-breakfast")
ONE = ("--case", ORDERS[1])


def digests(trials: dict[str, Trial]) -> dict[str, str]:
    return {case: trial.trajectory.digest for case, trial in trials.items()}


def what_it_did(trial: Trial) -> dict[str, object]:
    steps = trial.trajectory.steps
    made = [(call.name, step) for step in steps for call in step.calls if call.name in TOOLS]
    errors = [seen.error.type for step in steps for seen in step.observations if seen.error is not None]
    return {
        "outcome": trial.outcome,
        "misses": trial.misses,
        "at least four tool calls": len(made) >= 4,
        "parallel calls": any(len(step.calls) > 1 for step in steps),
        "errors": errors,
        "answered": trial.trajectory.final_output,
    }


EXPECTED = {
    "outcome": "finished",
    "misses": (),
    "at least four tool calls": True,
    "parallel calls": True,
    "errors": ["tool_error"],
    "answered": "Thank you! Please drive up to the window.",
}


def version_of(suite: Suite, agent: str) -> str:
    requirements = ROOT / "images" / (suite.agents[agent].image or "") / "requirements.txt"
    if not requirements.exists():
        return "Debian's"
    found = re.search(rf"^{agent}(?:-slim)?(?:\[.*\])?==(\S+)", requirements.read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_does_the_same_recorded_replayed_and_live(
    agent: str, proof: Proof, suite: Suite, built: Callable[[str], None], table: list[str]
) -> None:
    def run(mode: str, *words: str) -> str:
        name = f"{agent}-{mode}"
        proof.harness("run", "frameworks", "--agent", agent, "--run-name", name, "--jobs", "2", *words)
        return name

    built(agent)
    began, streamed = time.monotonic(), proof.model.streamed
    orders = [word for case in ORDERS for word in ("--case", case)]
    recorded = run("record", "--live", "all,record", *orders)
    streamed, asked = proof.model.streamed - streamed, proof.model.requests
    replayed = run("replay", *orders)
    assert asked == proof.model.requests, "a replay asked the model"
    live = run("live", "--live", "all", *ONE)
    assert asked < proof.model.requests

    trials = proof.trials(recorded)
    table += [f"{agent} {version_of(suite, agent)}: {time.monotonic() - began:.0f} s for 5 trials, two at a time"]
    for case, trial in proof.trials(replayed).items():
        row = [each.get(case) for each in (trials, proof.trials(replayed), proof.trials(live))]
        shown = "  ".join("-" * 12 if one is None else one.trajectory.digest[:12] for one in row)
        table.append(
            f"  {case:20} {shown}  {trials[case].duration_s:5.1f} s recorded, {trial.duration_s:5.1f} s replayed"
        )

    assert dict.fromkeys(trials, EXPECTED) == {case: what_it_did(trial) for case, trial in trials.items()}
    assert digests(trials) == digests(proof.trials(replayed))
    assert {ORDERS[1]: digests(trials)[ORDERS[1]]} == digests(proof.trials(live))
    assert {True} == {card.success for name in (recorded, replayed, live) for card in proof.scorecards(name).values()}
    assert 1 == len({proof.manifest(name).agent_digest for name in (recorded, replayed, live)})
    assert (agent in UNSTREAMED) == (streamed == 0)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_recordings_that_lie_here_answer_a_fresh_clone(
    agent: str, clone: Proof, built: Callable[[str], None]
) -> None:
    built(agent)
    asked = clone.model.requests
    clone.harness("run", "frameworks", "--agent", agent, "--run-name", agent, *ONE)

    assert asked == clone.model.requests
    assert {ORDERS[1]: EXPECTED} == {case: what_it_did(trial) for case, trial in clone.trials(agent).items()}
    assert {True} == {card.success for card in clone.scorecards(agent).values()}
