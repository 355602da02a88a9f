"""What LLMBar's recorded judges are worth must come out as published; skipped where the data is not there."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.real_data import real_data


@pytest.fixture(scope="module")
def llmbar(project: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("llmbar_eval", project / "qa" / "judge_eval" / "llmbar.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["llmbar_eval"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("prompt", "agreement", "kappa"),
    [("Vanilla_NoRules", 76.5, 0.530), ("Vanilla", 84.5, 0.690), ("Metrics_Reference", 87.2, 0.745)],
)
def test_agreement_and_kappa_of_gpt_4_come_out_as_published(
    llmbar: ModuleType, prompt: str, agreement: float, kappa: float
) -> None:
    found = llmbar.read(real_data("llmbar"), "GPT-4", prompt)
    assert len(found.pairs) == 838
    assert round(100 * found.agreement, 1) == agreement
    assert round(found.kappa, 3) == kappa


def test_verdicts_without_a_winner_stand_in_no_figure(llmbar: ModuleType) -> None:
    found = llmbar.read(real_data("llmbar"), "PaLM2", "Vanilla_NoRules")
    assert len(found.pairs) == 822
    assert round(100 * found.agreement, 1) == 65.7


@pytest.mark.parametrize("model", ["GPT-4", "PaLM2"])
def test_selection_takes_one_of_the_best_on_held_out_items(llmbar: ModuleType, model: str) -> None:
    recorded = {prompt: llmbar.read(real_data("llmbar"), model, prompt) for prompt in llmbar.PROMPTS}
    outcome = llmbar.selected(recorded)
    held_out = set(llmbar.split_of(recorded))
    on_held_out = {prompt: llmbar.agreement_on(one, held_out) for prompt, one in recorded.items()}
    assert outcome.prompt in sorted(on_held_out, key=lambda prompt: -on_held_out[prompt])[:3]
    assert outcome.held_out.after.agreement > outcome.held_out.before.agreement + 0.05
