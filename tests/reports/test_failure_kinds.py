"""Failure kinds of a later run: which appeared, in which order, and the tools, agents and prompts that they touch."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.reports.failure_kinds import FailureKind, failure_kinds
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Diagnosis, Scorecard, ToolUse
from harness.traces.trajectory import Step, ToolCall, Trajectory
from harness.traces.trial import Trial

Card = Callable[..., Scorecard]
SEARCH = "You search the catalogue, and name what you have found."
CART = "You change the cart, and say what is in it afterwards."


def steps() -> Iterator[Step]:
    """An orchestrator of two sub-agents: `search` calls find, `cart` calls add."""
    for index, (agent, prompt, tool) in enumerate((("search", SEARCH, "find"), ("cart", CART, "add"))):
        yield Step(index=2 * index, source="system", agent=agent, message=f"{prompt} Today is Monday.")
        yield Step(
            index=2 * index + 1,
            source="agent",
            agent=agent,
            calls=(ToolCall(id=f"c{index}", name=tool, arguments={}),),
        )


@pytest.fixture
def stored(tmp_path: Path, manifest: Callable[..., RunManifest]) -> Callable[[list[Scorecard]], RunFolder]:
    def store(cards: list[Scorecard], **trajectory: Any) -> RunFolder:
        with RunFolder.create(tmp_path, manifest(cards, "new")) as folder:
            for card in cards:
                seen = Trajectory(trace_id="0" * 32, agent="shop", steps=tuple(steps()), **trajectory)
                trial = Trial.model_validate(
                    {
                        "case_id": card.case_id,
                        "attempt": card.attempt,
                        "outcome": card.outcome,
                        "trajectory": seen.model_dump(),
                    }
                )
                folder.commit(trial, (), card)
        return RunFolder.open(folder.path)

    return store


def finding(kind: str, step: int) -> Diagnosis:
    return Diagnosis.model_validate(
        {
            "failure": "premature_commitment",
            "kind": kind,
            "origin_step": step,
            "evidence": "e",
            "confidence": 0.9,
            "version": "1",
        }
    )


def kinds_of(card: Card, store: Any, before: dict[str, Any], after: dict[str, Any], **seen: Any) -> list[FailureKind]:
    old, new = [card(str(n), **before) for n in range(3)], [card(str(n), **after) for n in range(3)]
    files = {"prompts/search.md": SEARCH + "\n", "prompts/cart.md": CART, "prompts/empty.md": ""}
    return list(failure_kinds(list(zip(old, new, strict=True)), store(new, **seen), files))


def test_arguments_come_first_and_each_kind_names_what_it_touches(card: Card, stored: Any) -> None:
    after = {
        "tool_use": (ToolUse(tool="add", calls=1, invalid={"wrong_type": 1}),),
        "diagnoses": (finding("wrong_write", 1),),
    }
    found = kinds_of(card, stored, {}, after)
    cart = ({"add": 3}, {"cart": 3}, {"prompts/cart.md": 3})
    search = ({"find": 3}, {"search": 3}, {"prompts/search.md": 3})
    assert [
        ("invalid_arguments", "wrong_type", *cart),
        ("failure_mode", "wrong_write", *search),
    ] == [(one.group, one.kind, one.tools, one.agents, one.prompts) for one in found]
    assert {True} == {one.appeared for one in found}


def test_of_one_group_the_kind_of_more_trials_stands_first(card: Card, stored: Any) -> None:
    rare, frequent = finding("missing_write", 1), finding("wrong_write", 1)
    new = [card(str(n), diagnoses=(frequent, rare) if n == 0 else (frequent,)) for n in range(3)]
    found = failure_kinds([(card(str(n)), new[n]) for n in range(3)], stored(new), {})
    assert [("wrong_write", 3), ("missing_write", 1)] == [(one.kind, one.trials_after) for one in found]


def test_a_kind_that_is_not_more_frequent_is_left_out(card: Card, stored: Any) -> None:
    same = {"diagnoses": (finding("wrong_write", 1),)}
    assert [] == kinds_of(card, stored, same, same)


def test_an_outcome_is_a_kind_and_unmeasured_trials_are_none(card: Card, stored: Any) -> None:
    found = kinds_of(card, stored, {}, {"outcome": "agent_failed", "success": False})
    assert [("outcome", "agent_failed", 0, 3)] == [
        (one.group, one.kind, one.trials_before, one.trials_after) for one in found
    ]
    assert ("0/1", "1/1", "2/1") == found[0].examples
    assert found[0].change.lower_is_better


def test_prompts_have_the_names_that_spans_give_them(card: Card, stored: Any) -> None:
    after = {"diagnoses": (finding("wrong_write", 1),), "prompt": "shop@3, search@1"}
    (found,) = kinds_of(card, stored, {}, after, prompts=("shop@3", "search@1"))
    assert {"search@1": 3, "shop@3": 3} == found.prompts
