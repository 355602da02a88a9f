"""Judge prompts beside experts, on LLMBar: 419 comparisons, recorded verdicts of two models, both orders.

    HARNESS_REAL_DATA=<folder> python qa/judge_eval/llmbar.py

Prints agreement and kappa of every recorded prompt, and what choosing among them on one part gives on a held-out one:
a selection, no calibration, and of comparisons, where this harness judges one criterion at a time.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness.judging.calibration import Outcome, decided
from harness.judging.calibration_questions import AnswerCache, JudgeAnswer, Question, Split, split_by_case
from harness.scoring.statistics.agreement import cohen_kappa

PROMPTS = ("Vanilla_NoRules", "Vanilla", "CoT", "Swap", "Metrics", "Reference", "Metrics_Reference")
_ORDERS = ("swap = False", "swap = True")


class Recorded(NamedTuple):
    """All verdicts of one prompt of one model: item -> winner in both orders, and the experts' answer."""

    verdicts: dict[str, tuple[str | None, str | None]]
    """None: the model named no winner; such a verdict stands in no figure."""
    gold: dict[str, str]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(self.gold[item], winner) for item, winners in self.verdicts.items() for winner in winners if winner]

    @property
    def agreement(self) -> float:
        return sum(right == said for right, said in self.pairs) / len(self.pairs)

    @property
    def kappa(self) -> float | None:
        return cohen_kappa(self.pairs)

    @property
    def consistency(self) -> float | None:
        decided = [both for both in self.verdicts.values() if None not in both]
        return sum(one == other for one, other in decided) / len(decided) if decided else None


def read(folder: Path, model: str, prompt: str) -> Recorded:
    """The verdict of a prompt that takes several steps is its last one."""
    verdicts, gold = {}, {}
    for path in sorted(folder.glob(f"**/evaluators/{model}/{prompt}/result.json")):
        part = path.relative_to(folder).parts[:-4]
        for number, item in enumerate(json.loads(path.read_text())):
            id = f"{'/'.join(part)}/{number}"
            last = item["results"][-1]
            verdicts[id] = (_winner(last, 0), _winner(last, 1))
            gold[id] = str(item["label"])
    return Recorded(verdicts, gold)


def _winner(verdict: dict[str, Any], order: int) -> str | None:
    winner = verdict[_ORDERS[order]]["winner"]
    return str(winner) if str(winner) in ("1", "2") else None


class Replay:
    """A judge whose prompts are the recorded ones, and whose answers are what was recorded."""

    def __init__(self, recorded: dict[str, Recorded]) -> None:
        self._recorded = recorded

    def answers(self, prompt: str, questions: Sequence[Question]) -> list[JudgeAnswer]:
        return [self._answer(prompt, *question.id.rsplit("#", 1)) for question in questions]

    def _answer(self, prompt: str, item: str, order: str) -> JudgeAnswer:
        winner = self._recorded[prompt].verdicts[item][int(order)]
        return JudgeAnswer(answer="judge_failed" if winner is None else "pass" if winner == "1" else "fail")


def questions(recorded: Recorded) -> list[Question]:
    """ "The first output is better", asked in both orders."""
    return [
        Question(
            id=f"{item}#{order}",
            case_id=item,
            criterion="first_is_better",
            statement="The first output is better.",
            right="pass" if label == "1" else "fail",
        )
        for item, label in recorded.gold.items()
        for order in range(len(_ORDERS))
    ]


def selected(recorded: dict[str, Recorded]) -> Outcome:
    """The plain prompt without rules is in use; which of the others should be?"""
    split = split_by_case(questions(recorded[PROMPTS[0]]))
    choosing = Split(train=(), validation=(*split.train, *split.validation), held_out=split.held_out)
    return decided(AnswerCache(Replay(recorded)), choosing, PROMPTS[0], PROMPTS[1:])


def split_of(recorded: dict[str, Recorded]) -> list[str]:
    """The held-out items of that selection."""
    return sorted({one.case_id for one in split_by_case(questions(recorded[PROMPTS[0]])).held_out})


def agreement_on(recorded: Recorded, items: Collection[str]) -> float:
    """With the experts, on these items; a verdict without a winner agrees with nothing."""
    said = [winner == recorded.gold[item] for item in items for winner in recorded.verdicts[item]]
    return sum(said) / len(said)


def main() -> None:
    data = os.environ.get("HARNESS_REAL_DATA")
    if data is None:
        sys.exit("HARNESS_REAL_DATA must name the folder that holds llmbar/")
    for model in ("GPT-4", "PaLM2"):
        recorded = {prompt: read(Path(data) / "llmbar", model, prompt) for prompt in PROMPTS}
        print(f"\n{model:20} items  verdicts  agreement  kappa  same winner in both orders")
        for prompt, one in recorded.items():
            counted = Counter(winner for _, winner in one.pairs)
            print(
                f"{prompt:20} {len(one.verdicts):5}  {counted.total():8}  {one.agreement:9.1%}  {one.kappa:5.3f}"
                f"  {one.consistency:.3f}"
            )
        _print_selection(recorded)


def _print_selection(recorded: dict[str, Recorded]) -> None:
    outcome = selected(recorded)
    before, after = outcome.held_out.before, outcome.held_out.after
    print(f"selection among these on {outcome.questions[1]} questions: {outcome.prompt}, {outcome.why}")
    if after is not None:
        print(
            f"held-out, {outcome.questions[2]} questions of {outcome.cases[2]} items: {before.agreement:.1%}"
            f" (kappa {before.kappa:.3f}) -> {after.agreement:.1%} (kappa {after.kappa:.3f}),"
            f" p {outcome.held_out.p:.2g}"
        )


if __name__ == "__main__":
    main()
