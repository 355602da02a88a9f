"""A judge's prompt revised by GEPA's loop, from the questions that the judge answered wrongly."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.gepa_loop import FirstError, GepaLoop, Texts, VetoingSelector, batch_of, check_gepa
from harness.judge.lab.calibration.answer_cache import AnswerCache
from harness.judge.lab.calibration.figures import figures, is_false_pass, score
from harness.judge.lab.calibration.question import JudgeAnswer, Question
from harness.judge.lab.calibration.split import Split

_PROMPT = "prompt"
_SHOWN = 4_000
_REQUEST = """You improve the instructions of a judge: a language model that decides whether an agent's work meets one \
criterion. These are its instructions now:
```
<curr_param>
```

Below are items on which people decided too. Where the judge was wrong, find out which rule it lacks or misreads, and \
write instructions under which it would decide as people do, on these and on items you have not seen. Keep every rule \
that is right. State general rules; do not list the items. How the evidence is given and how the answer must look is \
told to the judge elsewhere.

<side_info>

Give the whole new instructions between ``` marks."""

IsUsable = Callable[[str], str | None]
"""Why a text cannot be the judge's prompt; None: it can."""


def any_text(text: str) -> None:
    """Accepts every text as a prompt."""
    del text


class _Adapter:
    """Scores a prompt by labels of people. An unusable prompt scores 0 on every question, without a request."""

    propose_new_texts = None

    def __init__(self, cache: AnswerCache, is_usable: IsUsable, guard: FirstError) -> None:
        self._cache = cache
        self._is_usable = is_usable
        self._guard = guard

    def evaluate(self, batch: list[Question], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        prompt = candidate[_PROMPT]
        problem = self._is_usable(prompt)
        unusable = JudgeAnswer(answer="judge_failed", rationale=problem or "")
        answers = [unusable] * len(batch)
        if problem is None:
            answers = self._guard.run(lambda: self._cache.answers(prompt, batch))
        answered = list(zip(batch, answers, strict=True))
        return batch_of(
            answers, [score(question, answer) for question, answer in answered], answered if capture_traces else None
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, str]]]:
        del candidate
        wrong_first = sorted(eval_batch.trajectories, key=lambda pair: score(*pair))
        return {component: [_feedback(*pair) for pair in wrong_first] for component in components_to_update}


def _feedback(question: Question, answer: JudgeAnswer) -> Mapping[str, str]:
    right = f"People decided: {question.right}."
    notes = "".join(f" {note}" for note in question.notes)
    if answer.answer == question.right:
        verdict = "The judge was right."
    else:
        lenient = " It let through what must fail." if is_false_pass(question, answer) else ""
        verdict = f"The judge was wrong: {answer.answer}.{lenient}"
    return {
        "Criterion": f"{question.criterion}: {question.statement}",
        "Evidence": answer.shown[:_SHOWN],
        "Judge": f"{answer.answer}: {answer.rationale}",
        "Feedback": f"{right}{notes} {verdict}",
    }


def _is_better(proposal: Any) -> bool:
    """First veto: on the questions just tried, more answers must be correct, and no more critical failures pass."""
    before, after = proposal.eval_before, proposal.eval_after
    if sum(after.scores) <= sum(before.scores):
        return False
    if not before.trajectories or not after.trajectories:
        return True  # the second veto, on validation, follows
    return _critical(after.trajectories) <= _critical(before.trajectories)


def _critical(answered: Sequence[tuple[Question, JudgeAnswer]]) -> int:
    return figures([one for one, _ in answered], [answer for _, answer in answered]).critical_false_passes


class Optimizer:
    """Proposes prompts: uses the training and validation parts, and never the held-out one."""

    def __init__(self, cache: AnswerCache, is_usable: IsUsable, seed: int = 0, minibatch: int = 8) -> None:
        self._cache = cache
        self._is_usable = is_usable
        self._seed = seed
        self._minibatch = minibatch

    def candidates(self, prompt: str, split: Split, reflector: Callable[[str], str], max_calls: int) -> list[str]:
        """Prompts with a better score on their sample, in the order of their proposal, without `prompt` itself.

        Ends after `max_calls` questions (including cached ones), or where no improvement is possible. Raises UsageError
        where gepa is not installed.
        """
        check_gepa()
        guard = FirstError()
        validation = list(split.validation)
        allowed = figures(validation, self._cache.answers(prompt, validation)).critical_false_passes

        def is_vetoed(texts: Texts) -> bool:
            if self._is_usable(texts[_PROMPT]) is not None:
                return True
            answers = self._cache.answers(texts[_PROMPT], validation)
            return figures(validation, answers).critical_false_passes > allowed

        loop = GepaLoop(
            start={_PROMPT: prompt},
            train=split.train,
            validation=validation,
            adapter=_Adapter(self._cache, self._is_usable, guard),
            guard=guard,
            accepts=_is_better,
            selects=VetoingSelector(is_vetoed, self._seed),
            max_evaluations=max_calls,
            minibatch=self._minibatch,
            seed=self._seed,
            reflection={
                "reflection_lm": lambda request: guard.run(lambda: self._cache.proposal(str(request), reflector)),
                "reflection_prompt_template": _REQUEST,
            },
        )
        return [one[_PROMPT] for one in loop.candidates()]
